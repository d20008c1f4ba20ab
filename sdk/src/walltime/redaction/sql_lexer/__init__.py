"""
The one SQL lexer of Walltime: what in a statement is a literal, a comment or a quoted name, to any server.

The SDK redacts with it before anything leaves the process; the collector reads the slow log and other SDKs' statements
with it, through a link: `collector/src/walltime_collector/statements/sql_lexer`. It imports the standard library alone.
Why it is shared: docs/decisions/035.
"""
