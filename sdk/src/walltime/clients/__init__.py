"""
The measured clients, one module each: `REQUIRES` is the tested versions, `patches()` returns what it wraps.

`instrumentation/measure.py` has the wrapper, and how a client is added.
"""
