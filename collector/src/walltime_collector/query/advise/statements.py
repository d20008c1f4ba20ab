"""Statements that are sent again and again, and those that examine far more rows than they return."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from ...format import count, duration, plural, printable
from ..digest.short import shortened
from ..kept.sample import estimates, kept_sample
from ..queries import Row
from .answer import LEAST_CALLS, LEAST_EXAMINED, LEAST_EXAMINED_PER_ROW, LEAST_HELPED, MOST
from .candidate import Candidate
from .observed import Observed, grouped

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
_NOT_LOGGED: Row = Counter()


def n_plus_one(observed: Observed) -> Iterator[Candidate]:
    """Statements of which some transactions send at least LEAST_CALLS."""
    sent = (each for each in observed.statements if each.calls > each.transactions and _REPEATED.match(each.text))
    found = []
    for senders in grouped(sent, lambda each: (each.service, each.fingerprint)).values():
        outside = 1 - _server_share(observed, senders[0].fingerprint)
        saved = [(each.kind, each.time_ns * (1 - each.transactions / each.calls) * outside) for each in senders]
        if kinds := observed.worth(saved):
            found.append((senders, outside, kinds))
    places = _places(observed, [senders[0].text for senders, _, _ in found[:_MOST_PLACED]])
    for senders, outside, kinds in found:
        text = senders[0].text
        verb = text.split(None, 1)[0].lower()
        yield Candidate(
            "n_plus_one",
            senders[0].service,
            senders[0].fingerprint,
            kinds,
            of="statements",
            texts=tuple({each.text for each in senders}),
            is_repeated=True,
            least_calls=LEAST_CALLS,
            share=outside,
            change=f"Replace the repeated `{short(text)}`{places.get(text, '')} by"
            f" {_INSTEAD.get(verb, 'one statement for all rows')}.",
            finding=lambda kind, bills: f"{kind} sends it {bills.times} {bills.where}, {duration(bills.call_ns)} each.",
            certainty="The price leaves the time that the server needs for the rows."
            if outside < 1
            else "The slow log does not have all of these calls, so the price is the most it can be: it includes the"
            " time that the server needs for the rows.",
            statement_id=senders[0].id,
        )


def rows_examined(observed: Observed) -> Iterator[Candidate]:
    """Statements that examine far more rows than they return or change, according to the slow log."""
    for fingerprint, senders in grouped(observed.statements, lambda each: each.fingerprint).items():
        row = observed.logged.get(fingerprint, _NOT_LOGGED)
        examined, used = row["rows_examined"], row["rows_used"]
        if row["entries"] < LEAST_HELPED or examined < max(LEAST_EXAMINED, LEAST_EXAMINED_PER_ROW * used):
            continue
        # of those that are not all logged, only those count that took as long as the ones that are
        is_part = not (share := _server_share(observed, fingerprint))
        share = (share or 1.0) * (1 - used / examined)
        if not (kinds := observed.worth((each.kind, share * min(each.time_ns, row["time_ns"])) for each in senders)):
            continue
        sent = plural(sum(each.calls for each in senders), "call")
        call = (
            f"Of {sent} the slow log has {count(row['calls'])}: a typical one of these" if is_part else "A typical call"
        )
        full_scan = ", a full scan" if 2 * row["full_scans"] >= row["calls"] else ""
        is_aggregate = bool(_AGGREGATES.search(fingerprint.partition(" from ")[0] + fingerprint[-200:]))
        yield Candidate(
            "rows_examined",
            "",
            fingerprint,
            kinds,
            of="statements",
            texts=tuple({each.text for each in senders}),
            least_call_ns=float(row["least_ns"]) if is_part else 0.0,
            share=share,
            change=_index(fingerprint, is_aggregate=is_aggregate),
            finding=f"{call} examines {plural(examined, 'row')} and returns or changes {count(used)}{full_scan}.",
            certainty=" ".join([_OF_LOGGED] * is_part + [_OF_AGGREGATE] * is_aggregate),
            statement_id=senders[0].id,
        )


def tables_of(fingerprint: str) -> list[str]:
    """The tables that a statement names, without their database, in their order."""
    return _names(_TABLES, fingerprint, {"select", "dual", "set"})


def _index(fingerprint: str, *, is_aggregate: bool) -> str:
    compared = " ".join(match[1] for match in _CONDITIONS.finditer(fingerprint))
    columns = [name for name in _names(_COMPARED, compared, _WORDS) if not name.isdigit()][:4]
    table = (tables_of(fingerprint) or ["its table"])[0]
    what = f"Add an index on {table} ({', '.join(columns)})" if columns else f"Read fewer rows of {table}"
    instead = ", or keep its result in a cache or a table of sums" if is_aggregate else ""
    return f"{what} for `{short(fingerprint)}`{instead}."


def _names(of: re.Pattern[str], text: str, but: Collection[str]) -> list[str]:
    """What a pattern finds, without the names before the last dot, each once."""
    names = [match[1].replace("`", "").rpartition(".")[2] for match in of.finditer(text)]
    return list(dict.fromkeys(name for name in names if name and name.lower() not in but))


def _server_share(observed: Observed, fingerprint: str) -> float:
    """Which share of the client's time of a statement is the server's; 0 when the slow log lacks many of the calls."""
    if (row := observed.logged.get(fingerprint)) is None:
        return 0.0
    sent = [(each.calls, each.time_ns) for each in observed.statements if each.fingerprint == fingerprint]
    calls, time_ns = map(sum, zip(*sent, strict=True))
    return min(1.0, row["time_ns"] / time_ns) if time_ns and row["calls"] >= _NEARLY_ALL * calls else 0.0


def _places(observed: Observed, texts: Sequence[str]) -> Mapping[str, str]:
    """Where in the application most of the calls are sent from: ` at shop/views.py:42`."""
    _, calls = kept_sample(observed.engine, observed.sampled, texts=texts) if texts else (None, ())
    places = {}
    for text, mine in grouped(calls, lambda each: each.call.text).items():
        found = estimates(mine, lambda each: each.call.source.removeprefix("most likely "))
        place, most = max(found, key=lambda each: each[1].calls)
        if place and most.calls_share >= MOST:
            places[text] = f" at {printable(place)}"
    return places


def short(text: str) -> str:
    """A statement within a sentence."""
    words = shortened(printable(text))
    return words if len(words) <= _SHORT else f"{words[: _SHORT - 1]}…"
