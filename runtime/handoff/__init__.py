"""Running a project of agents written in ABL: who is spoken to, what a handoff copies, what comes back (H).

    runtime = Runtime(store, tools=[order_lookup])
    session = await Session.open(runtime, "seeds/retail")                  # agent= names another first one
    said = await session.say("Where is my order ORD-48213?")                # Said: replies, turns, events
    async for news in session.stream("It came broken."): ...                # TurnEvents, SessionEvents, last the Said
    session = await Session.reopen(runtime, session.id)                     # from the store alone

    session.events      # SessionEvent values so far, in order (runtime.handoff.events)
    session.threads     # SessionThread values, callers before those they handed to
    session.mask        # Mask: puts `[sensitive: NAME]` in the place of sensitive values (Q3)
    evidence = await session.evidence(event)                                # what a HandoffEvent chose from
    what_if(evidence, "last_6")                                             # WhatIf: how it reads, what it would copy
    await cost_of(session)                                                  # Cost of saying everything again
    other = await replay(session, route=event.route, history="none")        # Replayed: the same, on a fresh session
    record = await session.probe(event.thread, "What did I say earlier?")   # a run on a view; nothing is stored

Import from the modules: `session`, `events`, `evidence`, `replay`, `masking`, `log`.
"""
