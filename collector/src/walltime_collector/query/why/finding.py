"""One thing that `why` found: its sentence, its size, and how everybody can check it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

About = Literal[
    "whole",
    "mix",
    "value",
    "single",
    "wait",
    "process",
    "component",
    "machine",
    "other_side",
    "servers",
    "calls",
    "queue",
    "circumstance",
]
"""
whole: the difference itself. mix: other transactions than usual. value: a host, a user, a version. single: a few
transactions carry much. wait: for a CPU or the event loop. process: garbage collector, interpreter. machine: everything
is slower by one factor. other_side: what the database or the cache itself says. servers: calls fail. circumstance:
changed at the same time, which proves nothing.
"""

BECAUSE = "That is because "
"""A sentence of the other side begins with it when it is the reason for the one before it."""


@dataclass(frozen=True)
class Evidence:
    """A statement for `walltime sql` that yields the numbers, and transactions to look at."""

    sql: str
    """One SELECT over Walltime's own tables, with all values in it."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What the sentence says, by column: `usual_x` and `slow_x` are column `x` of the rows whose `side` is that."""
    traces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A sentence that is true of the transactions it speaks of."""

    about: About
    sentence: str
    part_ns: float | None = None
    """Of the difference, nanoseconds per transaction; None when it is no part of it."""
    low_ns: float | None = None
    """The part is above this, and below `high_ns`, in 95 of 100 such samples; None when it is exact or unknown."""
    high_ns: float | None = None
    p_value: float | None = None
    """Corrected for how many were looked at; None when it needs no test."""
    subject: str = ""
    """What it is about, for programs: `mysql.query`, `host web-2`, `memcache.get 10.0.0.11:11211`."""
    evidence: Evidence | None = None
