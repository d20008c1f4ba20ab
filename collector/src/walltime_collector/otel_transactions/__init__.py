"""
Makes transactions of spans that are not Walltime's: engine → engine, in SQL.

Roots (SERVER and CONSUMER spans) are gathered in windows by the time they were stored. A window that has been closed
for a while is assembled: one INSERT … SELECT joins its roots with the spans below them and computes their bills.
docs/decisions/021 has the reasons.
"""
