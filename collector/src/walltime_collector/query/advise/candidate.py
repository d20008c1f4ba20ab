"""What a finder returns: a change that may be worth its price, and what is read of the bills about it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from ...clickhouse.engine import Parameter
from ...format import count, plural
from .answer import LEAST_HELPED, LEAST_MEAN_NS, LEAST_SHARE, Category
from .observed import Key


@dataclass(frozen=True, kw_only=True)
class Removed:
    """What the change removes from a bill, and which bills have the fault; parameters of queries/advise/saved.sql."""

    of: Literal["statements", "targets", "overlap", "other", "queue", "locks"]
    texts: tuple[str, ...] = ()
    is_repeated: bool = False
    """All calls but one."""
    targets: tuple[str, ...] = ()
    """`component TAB address`."""
    beside: tuple[str, ...] = ()
    """Other targets whose users are looked at as well."""
    often: Literal[-1, 0, 1] = 0
    """1: at least 2 calls, and one for every 2 beside them; -1: not so."""
    usual_ns: float = 0.0
    """Of a call, which stays."""
    spans: Sequence[str] = ()
    """Of transactions that waited, `locked_ns` each."""
    locked_ns: Sequence[int] = ()
    least_calls: int = 1
    """A transaction has the fault from so many calls on,"""
    least_call_ns: float = 0.0
    """when they take so long each,"""
    least_part: float = 0.0
    """and together such a part of its time."""
    least_users: float = 0.0
    """A kind is worth it if such a part of the transactions that make such calls have the fault,"""
    least_helped: int = LEAST_HELPED
    """and so many: not single ones,"""
    least_mean_ns: int = LEAST_MEAN_NS
    """and if so much is saved of all transactions,"""
    least_share: float = LEAST_SHARE
    """and such a part of their time."""


@dataclass(frozen=True)
class Bills:
    """What was read of the transactions of one kind; `helped` are those with the fault, and medians are of these."""

    transactions: int
    users: int
    """Transactions that make such calls at all."""
    helped: int
    calls_of_helped: tuple[int, int, int]
    """The fewest, the median, the most."""
    call_ns: float
    part: float
    """Of their time, what is removed."""
    helped_base_ns: float
    """Their time, with the queue where that is removed."""
    cpu_ns: float | None
    helped_ns: float
    """What is saved."""
    mean_ns: float
    """What is saved, of all transactions; without what single ones have beside the others."""
    deviation_ns: float
    p50_ns: float
    """As `p95_ns`, what is saved of the percentile."""
    p95_ns: float
    traces: tuple[str, ...]
    """Typical ones of those with the fault."""

    @property
    def times(self) -> str:
        """`once`; `12 times`; `typically 12 times (6 to 501)`."""
        fewest, median, most = self.calls_of_helped
        if fewest == most == 1:
            return "once"
        return f"{count(median)} times" if fewest == most else f"typically {count(median)} times ({fewest} to {most})"

    @property
    def where(self) -> str:
        """`a transaction`, when it is so in all of them, or in how many."""
        is_all = self.helped == self.transactions
        return "a transaction" if is_all else f"in {count(self.helped)} of {plural(self.transactions, 'transaction')}"

    @property
    def of_users(self) -> str:
        """In how many of the transactions that make such calls."""
        return f"in {count(self.helped)} of {plural(self.users, 'transaction')}"


@dataclass(frozen=True)
class Candidate(Removed):
    """An advice without its price."""

    category: Category
    service: str
    subject: str
    """What is to be changed; with category and service it makes the id."""
    saved_ns: Mapping[Key, float]
    """By kind, over all transactions in the sums, the most it can be; of Observed.worth."""
    change: str
    finding: str | Callable[[str, Bills], str]
    """What was measured, of the kind that is helped most."""
    share: float | Mapping[Key, float] = 1.0
    """Of what is removed, so much is saved."""
    certainty: str = ""
    statement_id: str = ""
    component: str = ""
    address: str = ""
    evidence: tuple[str, ...] = ()
    """Trace ids besides those with the fault."""

    @property
    def id(self) -> str:
        """Stable."""
        text = "\0".join((self.category, self.service, self.subject))
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()

    @property
    def params(self) -> dict[str, Parameter]:
        """Of queries/advise/saved.sql."""
        removed = {each.name: getattr(self, each.name) for each in fields(Removed)}
        share = self.share
        shares = [share if isinstance(share, float) else share.get(key, 0.0) for key in self.saved_ns]
        return {**removed, "kinds": list(map("\t".join, self.saved_ns)), "shares": shares}
