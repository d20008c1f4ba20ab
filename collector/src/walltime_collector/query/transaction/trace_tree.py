"""Puts the transactions of one trace into the order of their tree, and each kept span under its transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ..queries import Row


def owners(parents: Mapping[str, str], transactions: Iterable[str]) -> dict[str, str]:
    """
    For every span the transaction it belongs to: itself or its nearest ancestor, '' when there is none.

    A missing parent and a circle end the search: both occur in received data. Each span is visited once.
    """
    owner = {transaction: transaction for transaction in transactions}
    for span in parents:
        path = []
        here = span
        while here and here not in owner:
            owner[here] = ""  # a circle ends where it began
            path.append(here)
            here = parents.get(here, "")
        owner.update(dict.fromkeys(path, owner.get(here, "")))
    return owner


def in_order(transactions: Sequence[str], parent_of: Mapping[str, str]) -> list[tuple[str, int]]:
    """
    Every transaction once with its depth, callers before those they called, siblings in the given order.

    `parent_of` names the calling transaction; one without a known caller is a root, a circle is cut somewhere.
    """
    children: dict[str, list[str]] = defaultdict(list)
    for transaction in transactions:
        children[parent_of.get(transaction, "")].append(transaction)
    known = set(transactions)
    roots = [transaction for transaction in transactions if parent_of.get(transaction, "") not in known]
    depth_of: dict[str, int] = {}
    for root in [*roots, *transactions]:  # those that no root leads to are in circles
        waiting = [(root, 0)]
        while waiting:
            transaction, depth = waiting.pop()
            if transaction not in depth_of:
                depth_of[transaction] = depth
                waiting.extend((child, depth + 1) for child in reversed(children[transaction]))
    return list(depth_of.items())


def own_times(spans: Sequence[Row]) -> dict[str, int]:
    """Of each span its duration without the union of its children's, in ns; rows of show/calls.sql, oldest first."""
    counted_to = {row["span"]: row["started_ns"] for row in spans}
    ends = {row["span"]: row["started_ns"] + row["duration_ns"] for row in spans}
    own_ns = {row["span"]: row["duration_ns"] for row in spans}
    for row in spans:
        parent = row["parent"]
        if parent in own_ns and parent != row["span"]:
            start_ns = max(counted_to[parent], row["started_ns"])
            end_ns = min(ends[parent], ends[row["span"]])
            own_ns[parent] -= max(0, end_ns - start_ns)
            counted_to[parent] = max(counted_to[parent], end_ns)
    return own_ns
