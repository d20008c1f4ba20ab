"""
The table of wrapped clients.

Each module here has the same shape: `REQUIRES`, the versions it is tested with, and `patches()`, the methods it
replaces. A wrapper is one plain function with the host's signature: no transaction, straight through; otherwise clock,
call, clock, record. It never changes the call's result or exception.
"""
