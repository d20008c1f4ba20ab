"""
Derives transactions from the spans of other SDKs: engine → engine, in SQL.

Roots (SERVER and CONSUMER spans) form windows by the time they were stored. Some time after a window has ended it is
assembled: one INSERT … SELECT joins its roots with the spans below them and computes their bills.
docs/decisions/021 has the reasons. Tables, counters and the value of `kept` are named `foreign`.
"""
