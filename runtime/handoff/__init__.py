"""Running an ABL project: who is spoken to, what a handoff copies, what travels and what comes back (H1 to H15)."""
