"""Since which version of a service a statement is sent, where enough is known to say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..queries import Row
from ..statistics import CHANCE, SUPPORT
from ..statistics.counts import more_often
from .answer import NewSince


def new_since(sent: Sequence[Row], whole: Sequence[Row], looked_at: int = 1) -> tuple[NewSince, ...]:
    """
    The version of each service that brought a statement.

    It is new when named versions that were seen earlier have had so many transactions of a kind that SUPPORT of them
    would have it, were it as frequent as in the new one; and when chance puts all that have it into the new one with a
    probability below CHANCE, corrected for all kinds and statements. Transactions with more statements than a bill
    has lines for leave the kind unknown.

    Args:
        sent: Rows of digest/versions.sql, of all kinds.
        whole: Rows of digest/kind_versions.sql, in their order.
        looked_at: So many statements are looked at.
    """
    found = []
    for service in dict.fromkeys(str(row["service"]) for row in sent):
        rows, of_service = ([row for row in each if row["service"] == service] for each in (sent, whole))
        found.append(_of_service(service, rows, of_service, looked_at))
    return tuple(filter(None, found))


def chance_of_none(sent: int, of: int, others: int) -> float:
    """
    The chance that all transactions with a statement are among these, and none among the others; 1 for few others.

    Args:
        sent: Transactions with it, of so many here.
        others: Transactions elsewhere, without it.
    """
    return more_often(sent, of, 0, others) if others * sent >= SUPPORT * of else 1.0


def _of_service(service: str, sent: Sequence[Row], whole: Sequence[Row], looked_at: int) -> NewSince | None:
    versions = list(dict.fromkeys(str(row["version"]) for row in whole))  # the first one that was seen is the first
    senders = {str(row["version"]) for row in sent}
    first = next((each for each in versions if each in senders), "")
    earlier = set(versions[: versions.index(first)]) - {""} if first else set()
    tests = len({row["name"] for row in sent}) * looked_at
    for row in sent if earlier else ():  # the most time first
        of_kind = [each for each in whole if each["name"] == row["name"]]
        before = [each for each in of_kind if each["version"] in earlier]
        number, others = int(row["transactions"]), _transactions(before)
        of = _transactions(each for each in of_kind if each["version"] == first)
        is_known = row["version"] == first and not any(each["others"] for each in before)
        if is_known and chance_of_none(number, of, others) * tests < CHANCE:
            return NewSince(service, first, str(row["name"]), number, of, others)
    return None


def _transactions(rows: Iterable[Row]) -> int:
    return sum(int(row["transactions"]) for row in rows)
