"""Statements that are sent again and again, and those that examine far more rows than they return."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ...format import count, duration, plural, printable
from ..digest.short import shortened
from ..kept.sample import kept_sample
from ..queries import Row
from .answer import LEAST_CALLS, LEAST_EXAMINED, LEAST_EXAMINED_PER_ROW, LEAST_HELPED, MOST
from .candidate import Bills, Candidate, Removed, worth
from .observed import Key, Observed, StatementSums

_MOST_PLACED = 100
"""Of so many statements that are sent repeatedly it is looked up where."""
_SHORT = 160
_REPEATED = re.compile(r"\s*(select|insert|replace|update|delete)\b", re.IGNORECASE)
_TABLES = re.compile(r"\b(?:from|into|update|join)\s+([\w.$`]+)", re.IGNORECASE)
_CONDITIONS = re.compile(
    r"\b(?:where|on)\b(.*?)(?:\bgroup by\b|\border by\b|\blimit\b|\bfor update\b|$)", re.DOTALL | re.I
)
_COMPARED = re.compile(r"(?<![\w.$`])([\w.$`]+)\s*(?:=|<|>|!=|\b(?:in|like|between|is|not)\b)", re.IGNORECASE)
_WORDS = {"and", "or", "not", "null", "is", "in"}
_AGGREGATES = re.compile(r"\b(count|sum|avg|min|max)\s*\(|\bgroup by\b|\bdistinct\b", re.IGNORECASE)
_OF_AGGREGATE = "It computes something from many rows: an index helps only if few of them match."
_OF_LOGGED = "The price counts only transactions in which it took at least as long as in the fastest logged call."
_NEARLY_ALL = 0.9
"""Of the calls, in the slow log."""
_INSTEAD = {
    "select": "one statement, with WHERE … IN (…) or a JOIN",
    "insert": "one INSERT with several rows",
    "replace": "one REPLACE with several rows",
}


def n_plus_one(observed: Observed) -> Iterator[Candidate]:
    """Statements of which some transactions send at least LEAST_CALLS."""
    groups: dict[tuple[str, str], list[StatementSums]] = defaultdict(list)
    for each in observed.statements:
        if each.calls > each.transactions and _REPEATED.match(each.text):
            groups[each.service, observed.fingerprints[each.text]].append(each)
    candidates = []
    for (service, fingerprint), senders in groups.items():
        outside = 1 - _server_share(observed, fingerprint)
        saved: dict[Key, float] = defaultdict(float)
        for each in senders:
            saved[each.service, each.name] += each.time_ns * (1 - each.transactions / each.calls) * outside
        if kinds := worth(observed, saved):
            text = max(senders, key=lambda each: each.time_ns).text
            candidates.append((max(kinds.values()), service, text, senders, outside, kinds))
    candidates.sort(reverse=True, key=lambda each: each[0])
    places = _places(observed, [each[2] for each in candidates[:_MOST_PLACED]])
    for _, service, text, senders, outside, kinds in candidates:
        verb = text.split(None, 1)[0].lower()
        yield Candidate(
            "n_plus_one",
            service,
            observed.fingerprints[text],
            kinds,
            Removed("statements", tuple({each.text for each in senders}), is_repeated=True, least_calls=LEAST_CALLS),
            share=outside,
            change=f"Replace the repeated `{_short(text)}`{places.get(text, '')} by"
            f" {_INSTEAD.get(verb, 'one statement for all rows')}.",
            finding=_repeated,
            certainty="The price leaves the time that the server needs for the rows."
            if outside < 1
            else "The slow log does not have all of these calls, so the price is the most it can be: it includes the"
            " time that the server needs for the rows.",
            statement_id=observed.statement_id(text),
        )


def _repeated(kind: str, bills: Bills) -> str:
    return f"{kind} sends it {bills.times} {bills.where}, {duration(bills.call_ns)} each."


def rows_examined(observed: Observed) -> Iterator[Candidate]:
    """Statements that examine far more rows than they return or change, according to the slow log."""
    senders: dict[str, list[StatementSums]] = defaultdict(list)
    for each in observed.statements:
        senders[observed.fingerprints[each.text]].append(each)
    for fingerprint, row in observed.logged.items():
        mine = senders[fingerprint]
        examined, used, entries = int(row["rows_examined"]), int(row["rows_used"]), int(row["entries"])
        if not mine or entries < LEAST_HELPED or examined < max(LEAST_EXAMINED, LEAST_EXAMINED_PER_ROW * used):
            continue
        # of those that are not all logged, only those count that took as long as the ones that are
        is_part = not (share := _server_share(observed, fingerprint))
        share = (share or 1.0) * (1 - used / examined)
        saved: dict[Key, float] = defaultdict(float)
        for each in mine:
            saved[each.service, each.name] += share * min(each.time_ns, int(row["time_ns"]))
        if not (kinds := worth(observed, saved)):
            continue
        sent = sum(each.calls for each in mine)
        logged = f"Of {plural(sent, 'call')} the slow log has {count(int(row['calls']))}: " if is_part else ""
        is_aggregate = bool(_AGGREGATES.search(fingerprint.partition(" from ")[0] + fingerprint[-200:]))
        yield Candidate(
            "rows_examined",
            "",
            fingerprint,
            kinds,
            Removed(
                "statements",
                tuple({each.text for each in mine}),
                least_call_ns=float(row["least_ns"]) if is_part else 0.0,
            ),
            share=share,
            change=_index(fingerprint, is_aggregate=is_aggregate),
            finding=f"{logged}{'a typical one of these' if is_part else 'A typical call'} examines"
            f" {plural(examined, 'row')} and returns or changes {count(used)}{_full_scan(row)}.",
            certainty=" ".join([_OF_LOGGED] * is_part + [_OF_AGGREGATE] * is_aggregate),
            statement_id=observed.statement_id(mine[0].text),
        )


def tables_of(fingerprint: str) -> list[str]:
    """The tables that a statement names, without their database, in their order."""
    names = [match[1].replace("`", "").rpartition(".")[2] for match in _TABLES.finditer(fingerprint)]
    return list(dict.fromkeys(name for name in names if name and name.lower() not in ("select", "dual", "set")))


def _index(fingerprint: str, *, is_aggregate: bool) -> str:
    compared = " ".join(match[1] for match in _CONDITIONS.finditer(fingerprint))
    names = [match[1].replace("`", "").rpartition(".")[2] for match in _COMPARED.finditer(compared)]
    columns = list(dict.fromkeys(name for name in names if not name.isdigit() and name.lower() not in _WORDS))[:4]
    table = (tables_of(fingerprint) or ["its table"])[0]
    what = f"Add an index on {table} ({', '.join(columns)})" if columns else f"Read fewer rows of {table}"
    instead = ", or keep its result in a cache or a table of sums" if is_aggregate else ""
    return f"{what} for `{_short(fingerprint)}`{instead}."


def _full_scan(row: Row) -> str:
    return ", a full scan" if 2 * int(row["full_scans"]) >= int(row["calls"]) else ""


def _server_share(observed: Observed, fingerprint: str) -> float:
    """Which share of the client's time of a statement is the server's; 0 when the slow log lacks many of the calls."""
    row = observed.logged.get(fingerprint)
    mine = [each for each in observed.statements if observed.fingerprints[each.text] == fingerprint]
    calls, time_ns = sum(each.calls for each in mine), sum(each.time_ns for each in mine)
    if row is None or not time_ns or int(row["calls"]) < _NEARLY_ALL * calls:
        return 0.0
    return min(1.0, int(row["time_ns"]) / time_ns)


def _places(observed: Observed, texts: Sequence[str]) -> Mapping[str, str]:
    """Where in the application most of the calls are sent from: ` at shop/views.py:42`."""
    if not texts:
        return {}
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for each in kept_sample(observed.engine, observed.sampled, texts=texts).calls:
        sums[each.call.text][each.call.source.removeprefix("most likely ")] += each.weight
    most = {text: max(places, key=lambda place: places[place]) for text, places in sums.items()}
    return {
        text: f" at {printable(place)}"
        for text, place in most.items()
        if place and sums[text][place] >= MOST * sum(sums[text].values())
    }


def _short(text: str) -> str:
    words = shortened(printable(text))
    return words if len(words) <= _SHORT else f"{words[: _SHORT - 1]}…"
