"""
Samples of what the transactions do outside of measured calls: a thread looks at the threads that serve them.

    request's thread ─► serving (who serves what) ◄── sampler ─► Transaction.samples ─► table (exported)

docs/decisions/040-sampler.md says how often, why in this process, and how wrong it can be.
"""
