"""
The SQL lexer of Walltime: finds literals, comments and quoted names of a statement in all supported dialects.

The SDK redacts with it before anything leaves the process; the collector reads the slow log and other SDKs' statements
with it, through a link: `collector/src/walltime_collector/statements/sql_lexer`. It imports only the standard library.
Why it is shared: docs/decisions/035.
"""
