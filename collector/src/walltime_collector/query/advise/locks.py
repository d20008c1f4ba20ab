"""Transactions that wait for row locks, and which ones most likely hold them."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...format import duration, percent, plural
from ..digest.rank import of_log
from ..names import shown
from ..queries import Row, run
from ..scope import Filters
from .answer import LEAST_LOCKED_NS, LEAST_UNKNOWN_LOCKED_NS, LEAST_WAITS
from .candidate import Candidate, Removed, helped_most, worth
from .observed import Key, Observed
from .statements import tables_of

_MOST_WAITS = 2_000
_MOST_COMPARED = 40
_MOST_HOLDERS = 4
_LOCKING = re.compile(r"^(update|delete|insert|replace)|for update|for share|lock in share mode")
_MINUTE_S = 60
_LONGEST_HOLDER_MINUTES = 2
_POSSIBLE, _BEYOND_CHANCE, _BY_CHANCE = 0.5, 0.4, 0.15
"""Shares of the waits."""


def row_locks(observed: Observed) -> Iterator[Candidate]:
    """Statements with at least LEAST_WAITS waits of LEAST_LOCKED_NS in the slow log."""
    if not any(_LOCKING.search(fingerprint) for fingerprint in observed.logged):
        return
    rows = run(
        observed.engine,
        "advise/waits",
        **of_log(observed.scope),
        least_ns=LEAST_LOCKED_NS,
        limit=_MOST_WAITS,
        most=_MOST_COMPARED,
    )
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["fingerprint_id"]].append(row)
    spans = [span for row in rows for span, _ in row["spans"]]
    for fingerprint_id, waiting in groups.items():
        saved: dict[Key, float] = {(row["service"], row["name"]): float(row["locked_ns"]) for row in waiting}
        waits = sum(int(row["waits"]) for row in waiting)
        fingerprint = str(waiting[0]["fingerprint_text"])
        tables = tables_of(fingerprint)
        by_span = Counter[str]()
        for row in waiting:
            for span, waited_ns in row["spans"]:
                by_span[span] += int(waited_ns)
        if waits < LEAST_WAITS or not tables or not (kinds := worth(observed, saved)):
            continue
        most = helped_most(kinds)
        longest = sorted((tuple(map(int, each)) for row in waiting for each in row["longest"]), reverse=True)
        holders = _holders(observed, tables[0], [(start, end) for _, start, end in longest[:_MOST_COMPARED]], spans)
        compared = min(len(longest), _MOST_COMPARED)
        holder, certainty = _most_likely(holders, compared, tables[0])
        mean_ns = sum(saved.values()) / waits
        if not holder and mean_ns < LEAST_UNKNOWN_LOCKED_NS:
            continue
        yield Candidate(
            "row_locks",
            "",
            fingerprint,
            kinds,
            Removed("locks", spans=tuple(by_span), locked_ns=tuple(by_span.values())),
            change=f"Commit earlier in {holder or 'the transaction that holds the rows'}: it keeps rows of {tables[0]}"
            f" locked that `{fingerprint[:120]}` of {shown(most[1])} waits for.",
            finding=f"{plural(waits, 'wait')} for row locks in the slow log, {duration(mean_ns)} each.",
            certainty=certainty,
            statement_id=f"{int(fingerprint_id):016X}",
            evidence=tuple(row["holder"] for row in holders[:1]) if holder else (),
        )


def _holders(observed: Observed, table: str, waits: Sequence[tuple[int, int]], spans: Sequence[str]) -> Sequence[Row]:
    """The kinds that ran at the time of the waits and wrote to the table, but did not wait themselves."""
    chance = random.Random(len(waits))  # the same moments each time
    first_ns, last_ns = min(start for start, _ in waits), max(end for _, end in waits)
    moments = []
    for start, end in waits:
        at = chance.randint(first_ns, max(first_ns, last_ns - (end - start)))
        moments.append((at, at + end - start))
    both = [*waits, *moments]
    minutes = {
        start // 10**9 // _MINUTE_S * _MINUTE_S - before * _MINUTE_S
        for start, _ in both
        for before in range(_LONGEST_HOLDER_MINUTES)
    }
    scope = replace(observed.scope, filters=Filters())
    return run(
        observed.engine,
        "advise/holders",
        **{**scope.parameters(), "start_ns": scope.window.start_ns - _LONGEST_HOLDER_MINUTES * _MINUTE_S * 10**9},
        minutes=sorted(minutes),
        table=rf"(?i)\b{re.escape(table)}\b",
        starts=[start for start, _ in both],
        ends=[end for _, end in both],
        waits=len(waits),
        spans=spans,
        limit=_MOST_HOLDERS,
    )


def _most_likely(holders: Sequence[Row], waits: int, table: str) -> tuple[str, str]:
    """The name of the kind that holds the locks, empty when none is likely, and how certain that is."""
    likely = [row for row in holders if int(row["together"]) >= _POSSIBLE * waits]
    if not likely:
        return "", (
            f"Who holds them is not known: no known kind that writes to {table} ran during most of the"
            f" {plural(waits, 'longest wait')}. A transaction of another program does not show here."
        )
    first, *others = sorted(likely, key=lambda row: int(row["by_chance"]) - int(row["together"]))
    together, by_chance = (int(first[name]) / waits for name in ("together", "by_chance"))
    explained = [int(row["together"]) - int(row["by_chance"]) <= _BY_CHANCE * waits for row in others]
    is_likely = not others or (together - by_chance >= _BEYOND_CHANCE and all(explained))
    also = f"; so did {', '.join(shown(row['name']) for row in others)}" if others else ""
    return shown(first["name"]), (
        f"{'Likely' if is_likely else 'Possible'}: {shown(first['name'])} wrote to {table} during"
        f" {percent(together)} of the {plural(waits, 'longest wait')}, and during {percent(by_chance)} of moments"
        f" chosen by chance{also}. Transactions that waited themselves are left out, and so are other programs."
    )
