"""The typed answer of `why` about who sent and served the transactions: values that explain a part, and the mix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..statistics import SUPPORT

Weights: TypeAlias = dict[str, str | list[str] | list[float]]
"""The parameters of queries/why/_weight.sql."""


@dataclass(frozen=True)
class Stratum:
    """
    The transactions of both sides with one value of a dimension, or the rest of them.

    Over all strata `mix_ns` + `like_with_like_ns` is the whole difference.
    """

    value: str
    """Empty: the rest."""
    usual_transactions: int
    slow_transactions: int
    usual_share: float
    slow_share: float
    usual_mean_ns: float | None
    """None without such transactions."""
    slow_mean_ns: float | None
    mix_ns: float
    """
    (share − usual share) · (usual mean − usual mean of all).

    Of new ones (fewer usual ones than SUPPORT), their own mean is taken for the usual one.
    """
    like_with_like_ns: float
    """share · (mean − usual mean)."""


@dataclass(frozen=True)
class Mix:
    """How the shares of a dimension's values changed beyond chance, those of which usually take longer or less long."""

    dimension: str
    """One of DIMENSIONS; an annotation with its key: `annotation.tenant`."""
    strata: tuple[Stratum, ...]
    """Those with the largest part first; the rest is the last one."""
    mix_ns: float
    like_with_like_ns: float
    p_value: float
    """That one of these shares, or of these differences, is chance: the largest one, corrected as in Dimension."""
    rest_p_value: float = 0.0
    """That the difference like with like is chance."""
    part_ns: float = 0.0
    """What it adds to the components, which are like with like and without new strata."""

    def parameters(self) -> Weights:
        """
        Of queries/why/_weight.sql: the usual side gets the shares of the slow one.

        A usual transaction counts share ÷ usual share of its stratum; new strata do not count on either side.
        """
        *named, rest = self.strata
        known = [each if each.usual_transactions >= SUPPORT else None for each in (rest, *named)]
        return {
            "mix_field": self.dimension,
            "mix_values": [each.value for each in named],
            "mix_slow_weights": [float(each is not None) for each in known],
            "mix_usual_weights": [each.slow_share / each.usual_share if each else 0.0 for each in known],
        }


NO_MIX: Weights = {
    "mix_field": "",
    "mix_values": [],
    "mix_slow_weights": [],
    "mix_usual_weights": [],
}
"""Every transaction counts once."""

DIMENSIONS = (
    "version",
    "host",
    "environment",
    "user",
    "annotation",
    "status",
    "method",
    "error type",
    "instance",
)
"""In the order of preference when several values have the same transactions."""


@dataclass(frozen=True)
class Dimension:
    """
    A value (a host, a user) that explains a part of the difference, beyond chance and with enough transactions.

    `more_ns` + `slower_ns` is what it explains, per transaction of the slow side.
    """

    dimension: str
    """One of DIMENSIONS."""
    value: str
    """Of an annotation: `key=value`."""
    same: tuple[str, ...]
    """Other values that the same transactions have: `host web-2`."""
    values: int
    """How many values the dimension has, of those with enough transactions."""
    usual_transactions: int
    slow_transactions: int
    usual_share: float
    slow_share: float
    lift: float | None
    """Share of the slow ÷ share of the usual; None when no usual transaction has the value."""
    usual_mean_ns: float | None
    """None without such transactions, as the next three."""
    slow_mean_ns: float | None
    usual_rest_mean_ns: float | None
    """Of the transactions without the value."""
    slow_rest_mean_ns: float | None
    more_ns: float
    """Because there are more of them than usual; everything, of one that is new."""
    slower_ns: float
    """Because they became slower than the others did; of the slowest, because they are slow more often."""
    p_value: float
    """Corrected for the number of values that were looked at."""
