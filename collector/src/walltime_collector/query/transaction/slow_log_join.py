"""Joins statements and calls of a transaction with the entries of the database's slow log, by fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeVar

from ...statements.fingerprint import of_template
from ..answers import Call, Logged, Statement
from ..queries import Row
from ..server_side import Part, ServerSide

_NOTES = {
    "is_full_scan": "full scan",
    "is_full_join": "full join",
    "is_tmp_table_on_disk": "temporary table on disk",
    "is_filesort_on_disk": "sorted on disk",
}
_SUMMED = (
    *("query_ns", "lock_ns", "row_lock_ns", "likely_row_lock_ns", "locked_ns", "disk_ns", "computing_ns", "rest_ns"),
    *("rows_sent", "rows_examined", "rows_affected"),
)
_MEASURED: Mapping[Part, str] = {"computing": "is_cpu_known", "disk": "is_disk_known"}
_CLOCKS_DIFFER_NS = 1_000_000
"""An entry that took longer on the server than on the client by more than this belongs to another call."""
_LOGGED_IN_SECONDS_NS = 1_500_000_000
"""Some servers log the start of a statement in whole seconds; and the two clocks may differ a little."""

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def join_statements(
    statements: Sequence[Statement], entries: Sequence[Row]
) -> tuple[tuple[Statement, ...], tuple[Logged, ...]]:
    """
    Return the statements with their log entries, and the entries without a statement (a COMMIT).

    Statements of one fingerprint (`IN (%s)`, `IN (%s, %s)`) share their entries: the most expensive of them has them.
    """
    logged = _logged(entries, {of_template(each.text) for each in statements})
    joined = list(statements)
    for fingerprint, places in _grouped(range(len(joined)), lambda at: of_template(statements[at].text)).items():
        if matches := logged.pop(fingerprint, None):
            same = [statements[at] for at in places]
            first = max(places, key=lambda at: statements[at].time_ns)
            calls, client_ns = sum(each.calls for each in same), sum(each.time_ns for each in same)
            server = _server_side(_read_once(matches, calls), calls=calls, client_ns=client_ns, statements=len(same))
            joined[first] = replace(statements[first], server=server)
    alone = [_read_once(rest, 0) for rest in logged.values()]
    return tuple(joined), tuple(Logged(str(rest[0]["sample"]), _server_side(rest)) for rest in alone)


def join_calls(
    calls: Sequence[Call], entries: Sequence[Row], untagged: Sequence[Row], started_ns: int
) -> tuple[Call, ...]:
    """
    Return the kept calls, each with its log entry where that is certain.

    The log has the entries of one connection in the order they were run. So when it has as many of a fingerprint as
    calls were kept, and none took longer there than here, they belong together one by one. A call without such an entry
    gets the one that was logged without its comment, by the same rule for each connection.

    Args:
        untagged: Entries of these connections without a trace id, with `started_ns` and `connection_id`.
        started_ns: Of the transaction; the offsets of the calls begin there.
    """
    logged = _logged(entries, {of_template(each.text) for each in calls if each.text})
    on_connections = _grouped(untagged, lambda entry: int(entry["connection_id"]))

    def with_comment(key: str, same: Sequence[Call]) -> Sequence[Row]:
        return _read_once(logged.get(key, []), len(same))

    def at_their_time(key: tuple[int, str], same: Sequence[Call]) -> Sequence[Row]:
        connection_id, fingerprint = key
        first_ns = started_ns + same[0].offset_ns - _LOGGED_IN_SECONDS_NS
        last_ns = started_ns + same[-1].offset_ns + same[-1].duration_ns + _LOGGED_IN_SECONDS_NS
        matches = [
            entry
            for entry in on_connections.get(connection_id, ())
            if first_ns <= entry["started_ns"] <= last_ns and _may_be_of(entry, fingerprint)
        ]
        return matches if len({entry["server"] for entry in matches}) == 1 else []

    joined = _join_one_by_one(calls, lambda call: of_template(call.text), with_comment)
    return _join_one_by_one(
        joined,
        lambda call: (call.connection_id, of_template(call.text)) if call.connection_id else None,
        at_their_time,
    )


def _join_one_by_one(
    calls: Sequence[Call],
    key_of: Callable[[Call], Key | None],
    entries_of: Callable[[Key, Sequence[Call]], Sequence[Row]],
) -> tuple[Call, ...]:
    def key_at(at: int) -> Key | None:
        call = calls[at]
        return key_of(call) if call.component == "mysql.query" and call.text and call.server is None else None

    joined = list(calls)
    for key, places in _grouped(range(len(calls)), key_at).items():
        places.sort(key=lambda at: calls[at].offset_ns)
        same = [calls[at] for at in places]
        entries = entries_of(key, same)
        if len(entries) == len(same) and all(
            entry["query_ns"] <= call.duration_ns + _CLOCKS_DIFFER_NS for entry, call in zip(entries, same, strict=True)
        ):
            for at, call, entry in zip(places, same, entries, strict=True):
                joined[at] = replace(call, server=_server_side([entry], calls=1, client_ns=call.duration_ns))
    return tuple(joined)


def _grouped(items: Iterable[Item], key_of: Callable[[Item], Key | None]) -> dict[Key, list[Item]]:
    """The items with each key; those without a key are left out."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        if (key := key_of(item)) is not None:
            groups.setdefault(key, []).append(item)
    return groups


def _logged(entries: Sequence[Row], sent: Set[str]) -> dict[str, list[Row]]:
    """By fingerprint; those whose end is missing, by the only one of `sent` that begins like them."""
    logged = _grouped(entries, _fingerprint)
    for fingerprint in [each for each, (first, *_) in logged.items() if first["is_cut"] and each not in sent]:
        may_be = [each for each in sent if each.startswith(fingerprint)]
        if len(may_be) == 1:
            logged.setdefault(may_be[0], []).extend(logged.pop(fingerprint))
    return logged


def _fingerprint(entry: Row) -> str:
    return str(entry["fingerprint"])


def _may_be_of(entry: Row, fingerprint: str) -> bool:
    """Whether it is an entry of these statements; of one that is cut, only their beginning is there."""
    logged = _fingerprint(entry)
    return fingerprint.startswith(logged) if entry["is_cut"] else fingerprint == logged


def _read_once(entries: Sequence[Row], calls: int) -> Sequence[Row]:
    """Without those of a server's second name: with more entries than calls, its slow log and itself are both read."""
    if len(entries) <= calls:
        return entries
    return max(_grouped(entries, lambda entry: str(entry["server"])).values(), key=len)


def _server_side(entries: Sequence[Row], *, calls: int = 0, client_ns: int = 0, statements: int = 1) -> ServerSide:
    sums = {column: sum(entry[column] for entry in entries) for column in _SUMMED}
    return ServerSide(
        **sums,
        server=str(entries[0]["server"]),
        entries=len(entries),
        calls=calls,
        statements=statements,
        is_disk_divided=any(entry["is_disk_divided"] for entry in entries),
        rest_may_be=tuple(part for part, flag in _MEASURED.items() if not all(entry[flag] for entry in entries)),
        network_ns=client_ns - sums["query_ns"] if len(entries) == calls else None,
        errors=sum(entry["errno"] > 0 for entry in entries),
        notes=tuple(note for flag, note in _NOTES.items() if any(entry[flag] for entry in entries)),
    )
