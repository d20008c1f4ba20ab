"""The typed answer of `why`: what the API sends as JSON and the command reads back. Means are per transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["different", "small", "chance", "too_few", "selected"]
"""
different: beyond chance. small: beyond chance, but less than 5 % of the usual time. chance: not told from chance.
too_few: fewer transactions than chance can be judged from. selected: the slow ones were chosen for being slow.
"""


@dataclass(frozen=True)
class Population:
    """All transactions of one side, complete, not only those with detail. Percentiles are estimates (t-digest)."""

    since: str
    until: str
    transactions: int
    errors: int
    total_ns: int
    mean_ns: float
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int
    cpu_ns: float | None
    """User and system time of the thread; over the transactions that know it, None when none does."""
    other_on_cpu_least_ns: float | None
    """Where in a transaction its CPU time went is not known: at least so much of `other` was computing, … """
    other_on_cpu_most_ns: float | None
    """… and at most so much; the rest of `other` was waiting for something that nobody measured."""
    queue_ns: float | None
    """Before the transaction started: no part of its time."""


@dataclass(frozen=True)
class Cost:
    """What something cost one side: sums over all its transactions, and the means."""

    calls: int
    time_ns: int
    errors: int
    hits: int
    misses: int
    calls_per_transaction: float
    mean_ns: float
    per_call_ns: float | None
    """None without calls."""


@dataclass(frozen=True)
class Contribution:
    """
    A component's part of the difference: `more_ns` + `slower_ns` = `difference_ns`.

    Over all components, `other` and `overlap` (negative time: calls that ran at once) the differences add up to the
    whole difference. Targets and statements split their component once more by server and by statement.
    """

    component: str
    address: str
    """The server, when this is one component on one server."""
    statement: str
    """The statement's text, when this is one statement of all its components and servers."""
    difference_ns: float
    more_ns: float
    """(calls − usual calls) · usual time per call; calls nobody made before are all here."""
    slower_ns: float
    """calls · (time per call − usual time per call); `other` and `overlap`, which have no calls, are all here."""
    usual: Cost
    slow: Cost


@dataclass(frozen=True)
class StatusClass:
    """
    How some transactions of both sides were answered: `2xx` to `5xx`; `failed` or `no status` where HTTP has no part.

    Over all classes `mix_ns` + `like_with_like_ns` is the whole difference.
    """

    status: str
    usual_transactions: int
    slow_transactions: int
    usual_share: float
    slow_share: float
    usual_mean_ns: float | None
    """None where none was answered so."""
    slow_mean_ns: float | None
    mix_ns: float
    """What it makes that there are more, or fewer, of them than usual."""
    like_with_like_ns: float
    """What it makes that they take longer, or less long, than those of the same class usually do."""


@dataclass(frozen=True)
class Example:
    """One typical transaction: about as long as its population's mean, with its calls kept if there is such a one."""

    trace_id: str
    started_at: str
    duration_ns: int
    kept: str


@dataclass(frozen=True)
class Why:
    """What makes the slow transactions of a kind different from the usual ones."""

    service: str
    name: str
    verdict: Verdict
    headline: str
    """The difference, and what carries most of it."""
    sentences: tuple[str, ...]
    """The headline's and all that is worth saying beside it."""
    slowest_percent: float | None
    """None when two windows of time are compared."""
    threshold_ns: int
    """The shortest of the slow, when they were chosen for being slow."""
    usual: Population
    slow: Population
    difference_ns: float
    p_value: float | None
    """How often chance alone makes a difference like this, or larger; None when that is not the question."""
    calls_p_value: float | None
    """The same of the calls alone, each at its usual time: where times are noisy, their number may still be certain."""
    drift_ns: float | None
    """How far stretches of the usual time lie from each other by themselves: four times that is still called chance."""
    low_ns: float | None
    """Between this …"""
    high_ns: float | None
    """… and this is the difference in 95 of 100 such samples."""
    components: tuple[Contribution, ...]
    """Largest difference first."""
    targets: tuple[Contribution, ...]
    statements: tuple[Contribution, ...]
    """At most 100, those that differ most."""
    usual_examples: tuple[Example, ...]
    slow_examples: tuple[Example, ...]
    statuses: tuple[StatusClass, ...] = ()
    """How the transactions of both sides were answered, the usual answer first."""
    is_mix_changed: bool = False
    """The mix of statuses changed beyond chance, and that alone makes 5 % of the usual time or more."""
