"""
The one place that decides what is chance: for `why`, incidents, `diff` and `advise`.

No SQL and no words here; numbers in, numbers out. Each module names the source of its method.
"""

from __future__ import annotations

CHANCE = 0.003
"""A p-value from here on is chance; p-values are corrected for how many were looked at (multiple.py) before."""
SECOND_CHANCE = CHANCE / 6
"""The same of a second and third test of one answer, which are rarely needed and must not cost the first one."""
SUPPORT = 20
"""Transactions that a group must have to be spoken of."""
