"""
Samples what transactions do outside measured calls: a sampler thread reads the stacks of their threads.

    request's thread ─► serving (who serves what) ◄── sampler ─► Transaction.samples ─► table (exported)

docs/decisions/040-sampler.md says how often, why in this process, and how wrong it can be.
"""
