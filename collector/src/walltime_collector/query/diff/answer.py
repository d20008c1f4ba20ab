"""The typed answer of `diff`: what the API sends as JSON and the command reads back. Means are per transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..why.answer import Contribution

Change = Literal["slower", "faster", "small", "chance", "too_few", "new", "gone"]
"""
slower, faster: beyond chance. small: beyond chance, but less than 5 % of the usual time. chance: chance explains it.
too_few: fewer transactions than chance can be judged from. new, gone: on one side only.
"""
Part = Literal["", "more", "fewer"]
"""A larger or smaller part of the transactions failed, or took far longer than the others, beyond chance."""


@dataclass(frozen=True)
class Side:
    """What one side is, and the transactions of all its kinds."""

    since: str
    until: str
    version: str
    where: str
    transactions: int
    errors: int
    total_ns: int
    one_in: int
    """One in so many transactions was read; then all numbers are estimates, but for this one."""


@dataclass(frozen=True)
class Numbers:
    """One kind on one side. Percentiles are estimates (t-digest)."""

    transactions: int
    errors: int
    timed: int
    """
    The times below are of so many: of all, or of those that did not fail where `failed` is not empty; and without
    single ones where `single_ns` is not 0.
    """
    singles: int
    """Far longer than the others: than 4 times what 95 of 100 do not exceed, on both sides."""
    total_ns: int
    mean_ns: float
    p50_ns: int
    p95_ns: int
    p99_ns: int


@dataclass(frozen=True)
class KindDifference:
    """One kind on both sides."""

    service: str
    name: str
    change: Change
    usual: Numbers | None
    """None for a new kind."""
    now: Numbers | None
    """None for a kind that is gone."""
    total_difference_ns: float
    """`difference_ns` times `timed` of now. Of a new kind, its time; of one that is gone, less its time."""
    p_value: float | None
    """
    Of the times; for a new kind or one that is gone, of all its transactions being on one side. None when not tested.

    It is corrected for the number of tests of the answer.
    """
    sql: tuple[str, ...]
    """Of kinds that changed: for each side, the usual one first, a statement for `walltime sql` with its numbers."""
    difference_ns: float = 0.0
    """Of the means; 0 for kinds on one side only."""
    relative: float = 0.0
    """`difference_ns` as a fraction of the usual mean."""
    single_ns: float = 0.0
    """What single transactions add to the difference of the means of all; 0 when they are not set apart."""
    failed: Part = ""
    failed_p_value: float | None = None
    singles: Part = ""
    singles_p_value: float | None = None
    low_ns: float | None = None
    """The difference is above this, and below `high_ns`, in 95 of 100 such samples; None where chance explains it."""
    high_ns: float | None = None
    components: tuple[Contribution, ...] = ()
    """Largest difference first; they add up to `difference_ns`."""


@dataclass(frozen=True)
class StatementDifference:
    """A statement that one side sends, and the other does not, beyond chance."""

    fingerprint_id: str
    """As in Digest."""
    fingerprint: str
    change: Literal["new", "gone"]
    service: str
    name: str
    """Of the kind that spends the most time on it."""
    sent: int
    """Transactions of the kind that sent it,"""
    of: int
    """of so many on that side;"""
    others: int
    """so many on the other side did not."""
    calls: int
    """Of all kinds, as `time_ns`."""
    time_ns: int
    p_value: float
    """Of all that sent it being on one side; corrected for the number of statements and kinds."""


@dataclass(frozen=True)
class Diff:
    """
    Two sides, and their kinds.

    Those that changed beyond chance come first, then those that are new or gone, each by the size of
    `total_difference_ns`.
    """

    usual: Side
    now: Side
    tested: int
    """Kinds with enough transactions on both sides."""
    left_out: int
    """Kinds that are not listed: those behind the limit, and those with the least time where there are very many."""
    kinds: tuple[KindDifference, ...]
    statements: tuple[StatementDifference, ...] = ()
    """Of two versions or two conditions, those with the most time first."""

    def slower_by(self, fraction: float) -> tuple[KindDifference, ...]:
        """Those that are slower beyond chance by this fraction of their usual time or more."""
        return tuple(
            each for each in self.kinds if each.change in ("slower", "small") and each.relative >= max(fraction, 1e-9)
        )
