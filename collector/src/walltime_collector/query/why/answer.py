"""The typed answer of `why`: what the API sends as JSON and the command reads back. Means are per transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..components import Sums
from .finding import Evidence, Finding
from .rows import Shown
from .values import Dimension, Mix, Stratum

Verdict = Literal["different", "small", "chance", "too_few", "selected"]
"""
different: beyond chance. small: beyond chance, but less than 5 % of the usual time. chance: chance explains it.
too_few: fewer transactions than chance can be judged from. selected: the slow ones were chosen for being slow.
"""


@dataclass(frozen=True)
class Population:
    """
    All transactions of one side, complete, not only those with detail.

    From `cpu_ns` on without single transactions (see Singles).
    """

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
    """User and system time of the thread, over the transactions with a known one; None when there is none."""
    other_on_cpu_least_ns: float | None
    """The least part of `other` that was computing: where in a transaction its CPU time was spent is not known."""
    other_on_cpu_most_ns: float | None
    """The largest part of `other` that was computing; the rest was waiting that is not measured."""
    queue_ns: float | None
    """Before the transactions started; no part of their time."""
    cpu_wait_ns: float | None = None
    """Their threads could run and had no CPU; None when unknown."""
    cpu_throttled_ns: float = 0
    """The part of it for which the CPU quota of their container was used up, at most."""
    loop_run_ns: float | None = None
    """In the steps of their tasks; None without asyncio."""
    loop_wait_ns: float | None = None
    """A step was ready, and the event loop was busy; an estimate."""


@dataclass(frozen=True, kw_only=True)
class Cost(Sums):
    """What something cost one side: sums over all its transactions, and the means."""

    calls_per_transaction: float
    mean_ns: float
    per_call_ns: float | None
    """None without calls."""

    @property
    def hit_ratio(self) -> float:
        """0 without lookups."""
        return self.hits / (self.hits + self.misses) if self.hits + self.misses else 0.0


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
    """(calls − usual calls) · usual time per call; new calls are all here."""
    slower_ns: float
    """calls · (time per call − usual time per call); `other` and `overlap`, which have no calls, are all here."""
    usual: Cost
    slow: Cost

    @property
    def more_calls(self) -> float:
        """Per transaction, than usual."""
        return self.slow.calls_per_transaction - self.usual.calls_per_transaction

    @property
    def pace(self) -> float | None:
        """Time per call as a multiple of the usual one; None without calls on both sides."""
        usual_ns, slow_ns = self.usual.per_call_ns, self.slow.per_call_ns
        return slow_ns / usual_ns if usual_ns and slow_ns is not None else None


@dataclass(frozen=True)
class SampledLine:
    """A line of the application that was sampled while no measured call was in progress. Times are estimates."""

    component: str
    """The framework component in progress, or `other`."""
    line: str
    function: str
    state: str
    """`computing`, or what it waited for."""
    usual_samples: int
    slow_samples: int
    usual_ns: float
    """Per transaction, as the next two."""
    slow_ns: float
    difference_ns: float
    error_ns: float
    """The standard error of the difference."""
    p_value: float = 1.0
    """Corrected for the number of lines that were sampled."""
    is_function: bool = False
    """These are all lines of a function; `line` is its file."""


@dataclass(frozen=True)
class Sampled:
    """Of very many transactions those of some minutes are compared, chosen by chance; all numbers are of these."""

    usual_of: int
    """One in so many of the usual transactions."""
    slow_of: int
    usual_mean_ns: float | None
    """Of all usual transactions, exactly; None where the sums per minute do not have it."""
    slow_mean_ns: float | None
    usual_error: float | None
    """The mean of the sample is known to so much of itself, in 95 of 100 such samples; None when it is unknown."""
    slow_error: float | None


@dataclass(frozen=True)
class Singles:
    """Transactions much longer than nearly all of their side; in means, percentiles and here, in no other number."""

    bound_ns: int
    """They are longer than this."""
    usual: int
    slow: int
    usual_ns: float
    """What they add to the mean of their side."""
    slow_ns: float
    part_ns: float
    """Of the difference of the means."""
    p_value: float | None
    """Of the difference of their shares; None when it was not tested."""
    is_chance: bool
    """Their share may be as usual."""
    component: str
    """Most of their time was spent in it; empty when there is no such."""
    address: str
    statement: str
    usual_traces: tuple[str, ...]
    """The longest."""
    slow_traces: tuple[str, ...]

    @property
    def is_about_slow(self) -> bool:
        """The slow side has those that add more."""
        return abs(self.slow_ns) >= abs(self.usual_ns)


@dataclass(frozen=True)
class Example:
    """A typical transaction: about as long as its population's mean, preferably with kept calls."""

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
    """All sentences, those of the headline first."""
    slowest_percent: float | None
    """None when two windows of time are compared."""
    threshold_ns: int
    """The shortest of the slow, when they were chosen for being slow."""
    usual: Population
    slow: Population
    difference_ns: float
    """Of the means: that of `components`, and of `singles`."""
    typical_ns: float
    """Of the means without single transactions; the tests and the interval are of it."""
    p_value: float | None
    """How often chance alone makes a difference like this, or larger; None when this was not tested."""
    calls_p_value: float | None
    """The same for the calls alone, each at its usual time: where times are noisy, the calls may still be certain."""
    drift_ns: float | None
    """How much the usual time goes up and down by itself; a difference up to this is called chance."""
    low_ns: float | None
    """`typical_ns` is above this, and below `high_ns`, in 95 of 100 such samples."""
    high_ns: float | None
    components: tuple[Contribution, ...]
    """Largest difference first."""
    targets: tuple[Contribution, ...]
    statements: tuple[Contribution, ...]
    """Those that differ most, at most 100."""
    usual_examples: tuple[Example, ...]
    slow_examples: tuple[Example, ...]
    findings: tuple[Finding, ...] = ()
    """That of the whole difference, then the most telling first; the sentences are theirs."""
    singles: Singles | None = None
    computed_at: str = ""
    statuses: tuple[Stratum, ...] = ()
    """By class of status, `2xx` to `5xx`, `failed` without HTTP; the most usual first, the rest has none."""
    mix: Mix | None = None
    """None when no mix changed that explains a part of the difference."""
    dimensions: tuple[Dimension, ...] = ()
    """The values that explain a part of the difference, those of who sent or served them first."""
    looked_at: int = 0
    """Values that have enough transactions, slow or not; `dimensions` is corrected for so many."""
    sampled: Sampled | None = None
    """None when all transactions are compared."""
    lines: tuple[SampledLine, ...] = ()
    """Those that differ most, at most 200."""
    when: str = ""
    """The condition; those that match are the slow side, the rest of their time is the usual one."""
    shown: Shown = field(default_factory=Shown)

    def evidence(self, sentence: str) -> Evidence | None:
        """How everybody can check one of the sentences."""
        return next((each.evidence for each in self.findings if each.sentence == sentence), None)
