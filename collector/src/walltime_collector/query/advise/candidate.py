"""What a finder returns: a change that may be worth its price, and how the price is read from the bills."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .answer import LEAST_MEAN_NS, LEAST_SHARE, LEAST_TRANSACTIONS, Category
from .observed import Key, Observed


@dataclass(frozen=True)
class Removed:
    """What the change removes from a bill; the parameters of queries/advise/saved.sql."""

    of: Literal["statements", "targets", "overlap", "other", "queue", "locks"]
    texts: tuple[str, ...] = ()
    is_repeated: bool = False
    """All calls but one."""
    targets: tuple[str, ...] = ()
    """`component TAB address`."""
    usual_ns: float = 0.0
    """Of a call, which stays."""
    share: float = 1.0
    """Of all that, so much."""
    spans: tuple[str, ...] = ()
    """Of transactions that waited, `locked_ns` each."""
    locked_ns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """An advice without its price."""

    category: Category
    service: str
    subject: str
    """What is to be changed; with category and service it makes the id."""
    saved_ns: Mapping[Key, float]
    """By kind, over all transactions in the sums; those worth it only, see `worth`."""
    removed: Removed
    change: str
    finding: str
    """Of a repeated statement, its end: how often it is repeated follows from the bills that are read."""
    certainty: str = ""
    statement_id: str = ""
    component: str = ""
    address: str = ""
    least_p50_ns: float = -math.inf
    """Where a few slow transactions, as on a machine that is busy for a moment, are no reason."""
    evidence: tuple[str, ...] = ()
    """Trace ids besides those with the fault."""

    @property
    def id(self) -> str:
        """Stable."""
        text = "\0".join((self.category, self.service, self.subject))
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()

    @property
    def most(self) -> Key:
        """The kind that it helps most."""
        return helped_most(self.saved_ns)


def helped_most(saved_ns: Mapping[Key, float]) -> Key:
    """The kind of which a change saves most."""
    return max(saved_ns, key=lambda key: (saved_ns[key], key))


def worth(observed: Observed, saved_ns: Mapping[Key, float]) -> dict[Key, float]:
    """The kinds of which the change saves enough: THRESHOLDS["all"]."""
    return {
        key: saved
        for key, saved in saved_ns.items()
        if (kind := observed.kinds.get(key)) is not None
        and kind.transactions >= LEAST_TRANSACTIONS
        and saved >= LEAST_SHARE * kind.duration_ns
        and saved >= LEAST_MEAN_NS * kind.transactions
    }
