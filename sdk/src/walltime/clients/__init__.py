"""
The measured clients, one module each: `REQUIRES`, the versions it is tested with, and `patches()`, what it wraps.

`instrumentation/measure.py` has the wrapper, and how a client is added.
"""
