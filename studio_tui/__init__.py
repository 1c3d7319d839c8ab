"""A Studio in the terminal that explains an agent's context."""
