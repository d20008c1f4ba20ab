"""The glue: lays what the database's own log says beside the statements and calls of a transaction, by fingerprint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..statements.fingerprint import of_template
from .answers import Call, Logged, ServerSide, Statement

Entry = Mapping[str, Any]

_FLAGS = {
    "is_full_scan": "full scan",
    "is_full_join": "full join",
    "is_tmp_table_on_disk": "temporary table on disk",
    "is_filesort_on_disk": "sorted on disk",
}
_CLOCKS_DIFFER_NS = 1_000_000
"""A server's time may be this much longer than the client's for the same statement; more, and they are not the same."""
_LOGGED_IN_SECONDS_NS = 1_500_000_000
"""Some servers say when a statement began in whole seconds; and the two clocks may differ a little."""
_SHORTEST_LOCK_WAIT_NS = 5_000_000
_LONGEST_PAGE_ACCESS_NS = 200_000


def beside_statements(
    statements: Sequence[Statement], entries: Sequence[Entry]
) -> tuple[tuple[Statement, ...], tuple[Logged, ...]]:
    """
    Give each statement what the log says about it; what the log alone knows (a COMMIT) comes back beside them.

    Statements of one fingerprint (`IN (%s)`, `IN (%s, %s)`) share one answer: the most expensive of them has it.
    """
    logged = _by_fingerprint(entries)
    same: dict[str, list[int]] = {}
    for at, statement in enumerate(statements):
        same.setdefault(of_template(statement.text), []).append(at)
    beside: dict[int, ServerSide] = {}
    for fingerprint, places in same.items():
        if found := logged.pop(fingerprint, None):
            first = max(places, key=lambda at: statements[at].time_ns)
            beside[first] = _server_side(
                found,
                calls=sum(statements[at].calls for at in places),
                client_ns=sum(statements[at].time_ns for at in places),
                statements=len(places),
            )
    return (
        tuple(replace(statement, server=beside.get(at)) for at, statement in enumerate(statements)),
        tuple(Logged(str(found[0]["sample"]), _server_side(found)) for found in logged.values()),
    )


def beside_calls(calls: Sequence[Call], entries: Sequence[Entry]) -> tuple[Call, ...]:
    """
    Give each kept call its entry where it is certain which one that is.

    The log has the entries of one connection in the order they were run. So when it has as many of a fingerprint as
    calls were kept, and none took longer there than here, they belong together one by one.
    """
    logged = _by_fingerprint(entries)
    same: dict[str, list[int]] = {}
    for at, call in enumerate(calls):
        if call.component == "mysql.query" and call.text:
            same.setdefault(of_template(call.text), []).append(at)
    beside: dict[int, ServerSide] = {}
    for fingerprint, places in same.items():
        found = logged.get(fingerprint, [])
        places.sort(key=lambda at: calls[at].offset_ns)
        if _fit(found, [calls[at] for at in places]):
            for at, entry in zip(places, found, strict=True):
                beside[at] = _server_side([entry], calls=1, client_ns=calls[at].duration_ns)
    return tuple(replace(call, server=beside.get(at)) for at, call in enumerate(calls))


def of_connections(calls: Sequence[Call], entries: Sequence[Entry], started_ns: int) -> tuple[Call, ...]:
    """
    Give each kept call that has no entry yet the one that was logged without its comment, where that is certain.

    A connection runs one statement after another. So when its log has as many entries of a fingerprint, at about the
    time of the calls, as calls were kept, and none took longer there than here, they belong together one by one.

    Args:
        entries: those of these connections that name no transaction, with `started_ns` and `connection_id`.
        started_ns: of the transaction; the calls say when they were made from there.
    """
    same: dict[tuple[int, str], list[int]] = {}
    for at, call in enumerate(calls):
        if call.connection_id and call.server is None and call.component == "mysql.query" and call.text:
            same.setdefault((call.connection_id, of_template(call.text)), []).append(at)
    beside: dict[int, ServerSide] = {}
    for (connection_id, fingerprint), places in same.items():
        places.sort(key=lambda at: calls[at].offset_ns)
        first_ns = started_ns + calls[places[0]].offset_ns - _LOGGED_IN_SECONDS_NS
        last_ns = started_ns + calls[places[-1]].offset_ns + calls[places[-1]].duration_ns + _LOGGED_IN_SECONDS_NS
        found = [
            entry
            for entry in entries
            if entry["fingerprint"] == fingerprint
            and int(entry["connection_id"]) == connection_id
            and first_ns <= int(entry["started_ns"]) <= last_ns
        ]
        if len({entry["server"] for entry in found}) == 1 and _fit(found, [calls[at] for at in places]):
            for at, entry in zip(places, found, strict=True):
                beside[at] = _server_side([entry], calls=1, client_ns=calls[at].duration_ns)
    return tuple(replace(call, server=beside.get(at, call.server)) for at, call in enumerate(calls))


def _fit(entries: Sequence[Entry], calls: Sequence[Call]) -> bool:
    return len(entries) == len(calls) and all(
        int(entry["query_ns"]) <= call.duration_ns + _CLOCKS_DIFFER_NS
        for entry, call in zip(entries, calls, strict=True)
    )


def _by_fingerprint(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(str(entry["fingerprint"]), []).append(entry)
    return found


def _server_side(entries: Sequence[Entry], *, calls: int = 0, client_ns: int = 0, statements: int = 1) -> ServerSide:
    def total(column: str) -> int:
        return sum(int(entry[column]) for entry in entries)

    query_ns = total("query_ns")
    return ServerSide(
        server=str(entries[0]["server"]),
        entries=len(entries),
        calls=calls,
        statements=statements,
        query_ns=query_ns,
        lock_ns=total("lock_ns"),
        row_lock_ns=total("row_lock_ns"),
        likely_row_lock_ns=sum(map(_likely_row_lock_ns, entries)),
        io_wait_ns=total("io_wait_ns"),
        network_ns=client_ns - query_ns if len(entries) == calls else None,
        rows_sent=total("rows_sent"),
        rows_examined=total("rows_examined"),
        rows_affected=total("rows_affected"),
        errors=sum(int(entry["errno"]) > 0 for entry in entries),
        notes=tuple(words for flag, words in _FLAGS.items() if any(entry[flag] for entry in entries)),
    )


def _likely_row_lock_ns(entry: Entry) -> int:
    """
    MariaDB never says that a statement waited for a row, only how long it was in the storage engine.

    Time there that neither reading from disk nor the pages looked at can explain was waiting, and what a statement
    waits for there is a lock.
    """
    if entry["row_lock_ns"]:
        return 0
    in_engine_ns = min(int(entry["engine_ns"]), int(entry["query_ns"]))
    waited_ns = in_engine_ns - int(entry["io_wait_ns"]) - int(entry["pages_accessed"]) * _LONGEST_PAGE_ACCESS_NS
    return waited_ns if waited_ns >= _SHORTEST_LOCK_WAIT_NS else 0
