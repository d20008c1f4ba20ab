"""Splits a difference by the values of a dimension: the part of another mix, and the part within each value."""

from __future__ import annotations

from collections.abc import Sequence

from ...condition.fields import ANNOTATION
from ...queries import Row
from ...statistics import CHANCE, SUPPORT
from ..answer import Population
from ..values import Mix, Stratum

_LITTLE, _HALF = 0.2, 0.5
Group = tuple[str, Sequence[float]]
"""A value, its usual transactions and their time, its slow ones and their time."""


def field_of(row: Row) -> str:
    """The field of conditions, and of Mix, of a row of queries/why/dimensions/values.sql."""
    if row["dimension"] == "annotation":
        return f"{ANNOTATION}.{str(row['value']).partition('=')[0]}"
    return str(row["dimension"]).replace(" ", ".")


def group_of(row: Row) -> Group:
    value = str(row["value"])
    sums = [float(row[f"{side}_{name}"]) for side in ("usual", "slow") for name in ("transactions", "ns")]
    return value.partition("=")[2] if row["dimension"] == "annotation" else value, sums


def split(dimension: str, groups: Sequence[Group], usual: Population, slow: Population, p_value: float = 0.0) -> Mix:
    """The values and the rest of all; mix and like with like add up to the difference of the means."""
    wholes = (usual.transactions, usual.total_ns, slow.transactions, slow.total_ns)
    rest = [whole - sum(sums[at] for _, sums in groups) for at, whole in enumerate(wholes)]
    *named, others = (_stratum(value, sums, usual, slow) for value, sums in (*groups, ("", rest)))
    strata = (*sorted(named, key=lambda each: (-abs(each.mix_ns), each.value)), others)
    parts = (sum(each.mix_ns for each in strata), sum(each.like_with_like_ns for each in strata))
    return Mix(dimension, strata, *parts, p_value)


def is_most_of(mix: Mix, difference_ns: float) -> bool:
    """It explains nearly the whole difference, or most of it and the rest is chance: then nothing else is blamed."""
    rest = abs(mix.like_with_like_ns) / (abs(difference_ns) or 1.0)
    return rest <= _LITTLE or (rest <= _HALF and mix.rest_p_value >= CHANCE)


def _stratum(value: str, sums: Sequence[float], usual: Population, slow: Population) -> Stratum:
    before, before_ns, now, now_ns = sums
    usual_share, slow_share = before / usual.transactions, now / slow.transactions
    usual_mean_ns = before_ns / before if before else None
    slow_mean_ns = now_ns / now if now else None
    is_new = slow_mean_ns is not None and before < SUPPORT
    own_ns = (slow_mean_ns if is_new else usual_mean_ns) or 0.0
    return Stratum(
        value,
        round(before),
        round(now),
        usual_share,
        slow_share,
        usual_mean_ns,
        slow_mean_ns,
        mix_ns=slow_share * (own_ns - usual.mean_ns) - usual_share * ((usual_mean_ns or 0.0) - usual.mean_ns),
        like_with_like_ns=slow_share * ((slow_mean_ns or 0.0) - own_ns),
    )
