"""Transactions that wait for row locks, and which ones most likely hold them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from statistics import median_high

from ...format import duration, percent, plural
from ..digest.rank import of_log
from ..names import shown
from ..queries import Row, run
from ..scope import Filters
from ..statistics import CHANCE
from ..statistics.counts import more_often
from ..statistics.multiple import holm
from .answer import LEAST_HELPED, LEAST_LOCKED_NS, LEAST_UNKNOWN_LOCKED_NS, MOST
from .candidate import Candidate
from .holders import held, of_holders
from .observed import Observed
from .statements import tables_of

_MOST_WAITS = 2_000
_MOST_COMPARED = 40
_MOMENTS = 120
"""Chosen by chance: how often a kind runs anyway."""
_LOCKING = re.compile(r"^(update|delete|insert|replace)|for update|for share|lock in share mode")
_MINUTE_NS = 60 * 10**9
_LONGEST_HOLDER_MINUTES = 2


def row_locks(observed: Observed) -> Iterator[Candidate]:
    """
    Kinds that were seen holding locks; and statements that waited according to the slow log, whose holders were not.

    In each, at least LEAST_HELPED transactions waited LEAST_LOCKED_NS.
    """
    seen = held(observed)
    yield from of_holders(observed, seen)
    known = {each for row in seen for each in row["waiting_ids"]}
    if not any(_LOCKING.search(fingerprint) for fingerprint in observed.logged):
        return
    statements = run(
        observed.engine,
        "advise/waits",
        **of_log(observed.scope),
        least_ns=LEAST_LOCKED_NS,
        limit=_MOST_WAITS,
        most=_MOST_COMPARED,
    )
    all_spans = [span for row in statements for span in row["spans"][0]]
    for row in statements:
        kinds = observed.worth(((service, name), locked_ns) for service, name, locked_ns in row["locked"])
        spans, locked_ns = row["spans"]
        fingerprint = str(row["fingerprint_text"])
        tables = tables_of(fingerprint)
        if len(spans) < LEAST_HELPED or not tables or not kinds or row["fingerprint_id"] in known:
            continue
        apart = _apart([(start, end) for _, start, end in row["longest"]])
        typical_ns = median_high(locked_ns)
        holders = _holders(observed, tables[0], apart, all_spans)
        holder, certainty = _most_likely(holders, len(apart), tables[0])
        if not holder and typical_ns < LEAST_UNKNOWN_LOCKED_NS:
            continue
        keeps = f"Commit earlier in {shown(holder['name'])}" if holder else "Commit earlier in what holds the rows"
        yield Candidate(
            "row_locks",
            "",
            fingerprint,
            kinds,
            of="locks",
            spans=spans,
            locked_ns=locked_ns,
            change=f"{keeps}: it keeps rows of {tables[0]} locked that `{fingerprint[:120]}` waits for.",
            finding=f"{plural(row['waits'], 'wait')} for row locks in the slow log, half of them"
            f" {duration(typical_ns)} or longer.",
            certainty=certainty,
            statement_id=f"{int(row['fingerprint_id']):016X}",
            evidence=(holder["holder"],) if holder else (),
        )


def _apart(waits: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Waits at the same time, for one holder perhaps, count as one."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(waits):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def _holders(observed: Observed, table: str, waits: Sequence[tuple[int, int]], spans: Sequence[str]) -> Sequence[Row]:
    """The kinds that ran at the time of the waits and wrote to the table, but did not wait themselves."""
    chance = random.Random(len(waits))  # the same moments each time
    first_ns, last_ns = min(start for start, _ in waits), max(end for _, end in waits)
    lengths = islice(cycle(end - start for start, end in waits), _MOMENTS)
    moments = [(start := chance.randint(first_ns, last_ns - length), start + length) for length in lengths]
    starts, ends = zip(*waits, *moments, strict=True)
    minutes = {(start // _MINUTE_NS - before) * 60 for start in starts for before in range(_LONGEST_HOLDER_MINUTES)}
    scope = replace(observed.scope, filters=Filters())
    params = {**scope.parameters(), "start_ns": scope.window.start_ns - _LONGEST_HOLDER_MINUTES * _MINUTE_NS}
    return run(
        observed.engine,
        "advise/holders",
        **params,
        minutes=sorted(minutes),
        table=rf"(?i)\b{re.escape(table)}\b",
        starts=starts,
        ends=ends,
        waits=len(waits),
        spans=spans,
    )


def _most_likely(holders: Sequence[Row], waits: int, table: str) -> tuple[Row | None, str]:
    """The kind that ran during most of the waits, beyond chance, and how certain that is."""
    p_values = holm([more_often(row["together"], waits, row["by_chance"], _MOMENTS) for row in holders])
    likely = [
        row
        for row, p_value in zip(holders, p_values, strict=True)
        if p_value < CHANCE and row["together"] >= MOST * waits
    ]
    of = plural(waits, "longest wait")
    if not likely:
        return None, (
            f"Who holds them is not known: no known kind that writes to {table} ran during most of the {of} more often"
            " than chance explains. A transaction of another program does not show here."
        )
    first, *others = sorted(likely, key=lambda row: row["by_chance"] / _MOMENTS - row["together"] / waits)
    during, anyway = percent(first["together"] / waits), percent(first["by_chance"] / _MOMENTS)
    also = f"; so did {', '.join(shown(row['name']) for row in others)}" if others else ""
    return first, (
        f"{'Possible' if others else 'Likely'}: {shown(first['name'])} wrote to {table} during {during} of the {of},"
        f" and during {anyway} of moments chosen by chance{also}. Transactions that waited themselves are left out, and"
        " so are other programs."
    )
