"""
Conditions that people write, as `mysql.query.calls > 50 and status = 5xx`: parse() makes its SQL (tree.Condition).

A field comes from one table (fields.py), a value is always a bound parameter: nothing of the text is in the SQL.
"""
