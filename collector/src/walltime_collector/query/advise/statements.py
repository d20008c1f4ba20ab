"""Statements that are sent again and again, and those that examine far more rows than they return."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ...format import count, duration, plural, printable
from ..digest.short import shortened
from ..kept.sample import kept_sample
from ..queries import Row
from .answer import LEAST_CALLS, LEAST_EXAMINED, LEAST_EXAMINED_PER_ROW
from .candidate import Candidate, Removed, helped_most, worth
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
_OF_LOGGED = "The price counts the time of the logged calls only, spread over all calls."
_INSTEAD = {
    "select": "one statement, with WHERE … IN (…) or a JOIN",
    "insert": "one INSERT with several rows",
    "replace": "one REPLACE with several rows",
}


def n_plus_one(observed: Observed) -> Iterator[Candidate]:
    """Statements of which a transaction sends at least LEAST_CALLS."""
    groups: dict[tuple[str, str], list[StatementSums]] = defaultdict(list)
    for each in observed.statements:
        if each.calls >= LEAST_CALLS * each.transactions and _REPEATED.match(each.text):
            groups[each.service, each.text].append(each)
    candidates = []
    for (service, text), senders in groups.items():
        outside = 1 - _server_share(observed, observed.fingerprints[text], least_logged=0.9)
        saved = {(s.service, s.name): s.time_ns * (1 - s.transactions / s.calls) * outside for s in senders}
        if kinds := worth(observed, saved):
            candidates.append((max(kinds.values()), service, text, outside, kinds))
    candidates.sort(reverse=True, key=lambda each: each[0])
    places = _places(observed, [text for _, _, text, _, _ in candidates[:_MOST_PLACED]])
    for _, service, text, outside, kinds in candidates:
        most = helped_most(kinds)
        sums = next(each for each in groups[service, text] if (each.service, each.name) == most)
        verb = text.split(None, 1)[0].lower()
        yield Candidate(
            "n_plus_one",
            service,
            observed.fingerprints[text],
            kinds,
            Removed("statements", (text,), is_repeated=True, share=outside),
            change=f"Replace the repeated `{_short(text)}`{places.get(text, '')} by"
            f" {_INSTEAD.get(verb, 'one statement for all rows')}.",
            finding=f"{duration(sums.time_ns / sums.calls)} each.",
            certainty="The price leaves the time that the server needs for the rows."
            if outside < 1
            else "The slow log does not have all of these calls, so the price is the most it can be: it includes the"
            " time that the server needs for the rows.",
            statement_id=observed.statement_id(text),
        )


def rows_examined(observed: Observed) -> Iterator[Candidate]:
    """Statements that examine far more rows than they return or change, according to the slow log."""
    senders: dict[str, list[StatementSums]] = defaultdict(list)
    for each in observed.statements:
        senders[observed.fingerprints[each.text]].append(each)
    for fingerprint, row in observed.logged.items():
        calls, examined = int(row["calls"]), int(row["rows_examined"])
        useful = int(row["rows_sent"]) + int(row["rows_affected"])
        if examined < LEAST_EXAMINED * calls or examined < LEAST_EXAMINED_PER_ROW * max(useful, 1):
            continue
        share = _server_share(observed, fingerprint) * (1 - useful / examined)
        saved: dict[Key, float] = defaultdict(float)
        for each in senders[fingerprint]:
            saved[each.service, each.name] += each.time_ns * share
        if not (kinds := worth(observed, saved)):
            continue
        sent = sum(each.calls for each in senders[fingerprint])
        logged = f"Of {plural(sent, 'call')} the slow log has {count(calls)}: " if calls < sent else ""
        is_aggregate = bool(_AGGREGATES.search(fingerprint.partition(" from ")[0] + fingerprint[-200:]))
        yield Candidate(
            "rows_examined",
            "",
            fingerprint,
            kinds,
            Removed("statements", tuple({each.text for each in senders[fingerprint]}), share=share),
            change=_index(fingerprint, is_aggregate=is_aggregate),
            finding=f"{logged}{'each of these' if logged else 'Each call'} examines"
            f" {plural(round(examined / calls), 'row')} and returns or changes"
            f" {count(round(useful / calls, 1))}{_full_scan(row)}.",
            certainty=" ".join([_OF_LOGGED] * bool(logged) + [_OF_AGGREGATE] * is_aggregate),
            statement_id=observed.statement_id(senders[fingerprint][0].text),
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


def _server_share(observed: Observed, fingerprint: str, least_logged: float = 0.0) -> float:
    """Which share of the client's time of a statement the slow log explains; 0 when it has too few of the calls."""
    row = observed.logged.get(fingerprint)
    mine = [each for each in observed.statements if observed.fingerprints[each.text] == fingerprint]
    calls, time_ns = sum(each.calls for each in mine), sum(each.time_ns for each in mine)
    if row is None or not time_ns or int(row["calls"]) < least_logged * calls:
        return 0.0
    return min(1.0, int(row["time_ns"]) / time_ns)


def _places(observed: Observed, texts: Sequence[str]) -> Mapping[str, str]:
    """Where in the application the statements are sent from most often: ` at shop/views.py:42`."""
    if not texts:
        return {}
    kept = kept_sample(observed.engine, observed.sampled, texts=texts)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in kept.calls:
        if each.call.source:
            counts[each.call.text][each.call.source.removeprefix("most likely ")] += 1
    return {text: f" at {printable(places.most_common(1)[0][0])}" for text, places in counts.items()}


def _short(text: str) -> str:
    words = shortened(printable(text))
    return words if len(words) <= _SHORT else f"{words[: _SHORT - 1]}…"
