"""Statements of the rows that applications and slow log have of them, and the first of these by a ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...conversion import from_row
from ...statements.fingerprint import of_template
from .answer import ClientView, Digest, DigestedStatement, Sender, ServerView
from .meant import meant

if TYPE_CHECKING:
    from ..queries import Row

_MAX_SENDERS = 10


def digested(
    sent: Mapping[int, Sequence[Row]], logged: Sequence[Row], *, first_us: int = 0, max_senders: int = _MAX_SENDERS
) -> list[DigestedStatement]:
    """Combine what `rank.sent_in` returns with rows of queries/digest/server.sql, in no order."""
    entries, found = {row["fingerprint_id"]: row for row in logged}, []
    for number in dict.fromkeys([*sent, *entries]):
        rows, entry = sent.get(number, ()), entries.get(number)
        client, server = _client(rows), _server(entry) if entry else None
        senders = _senders(rows, entry)
        found.append(
            DigestedStatement(
                fingerprint_id=f"{number:016X}",
                fingerprint=of_template(rows[0]["text"]) if rows else str(entry and entry["fingerprint_text"]),
                total_ns=max((view.time_ns for view in (client, server) if view), default=0),
                share=0.0,
                client=client,
                server=server,
                senders=tuple(senders[:max_senders]),
                all_senders=len(senders),
                is_before_applications=not senders and (entry["last_us"] if entry else 0) < first_us,
            )
        )
    whole_ns = max(sum(each.total_ns for each in found), 1)
    return [replace(each, share=each.total_ns / whole_ns) for each in found]


def ranked(
    statements: list[DigestedStatement],
    *,
    since: str,
    until: str,
    by: str,
    limit: int,
    service: str,
    statement: str,
    containing: str = "",
    client_ns: int = 0,
    server_ns: int = 0,
    entries: int = 0,
    sources: tuple[str, ...] = ("slow_log",),
) -> Digest:
    """
    The first statements by one of DIGEST_RANKINGS; see `rank.digest_of`.

    Raises:
        NotStored: There is none like `statement`.
    """
    total_ns = sum(each.total_ns for each in statements)
    unsent_ns = sum(each.server.time_ns for each in statements if each.server and each.is_unsent)
    if statement:
        statements = meant(statement, statements)
    if containing:
        wanted = " ".join(containing.lower().split())
        statements = [each for each in statements if wanted in f"{each.fingerprint} {each.fingerprint_id}".lower()]
    statements.sort(key=lambda each: (-_RANK[by](each), -each.total_ns, each.fingerprint_id))
    return Digest(
        since=since,
        until=until,
        by=by,
        service=service,
        all_statements=len(statements),
        total_ns=total_ns,
        client_ns=client_ns,
        server_ns=server_ns,
        entries=entries,
        sources=sources,
        statements=tuple(statements[:limit]),
        statement=statement,
        unsent_ns=unsent_ns,
    )


def _larger(counter: str) -> Callable[[DigestedStatement], float]:
    return lambda each: max((getattr(view, counter) for view in (each.client, each.server) if view), default=0)


_RANK: Mapping[str, Callable[[DigestedStatement], float]] = {
    "total": lambda each: each.total_ns,
    "client": lambda each: each.client.time_ns if each.client else 0,
    "server": lambda each: each.server.time_ns if each.server else 0,
    "calls": _larger("calls"),
    "mean": _larger("mean_ns"),
    "p95": lambda each: each.server.p95_ns if each.server else 0,
    "examined": lambda each: each.server.rows_examined if each.server else 0,
}


def _client(rows: Sequence[Row]) -> ClientView | None:
    calls, time_ns, errors = (sum(row[name] for row in rows) for name in ("calls", "time_ns", "errors"))
    return ClientView(calls, time_ns, round(time_ns / calls), errors) if calls else None


def _server(entry: Row) -> ServerView:
    return from_row(ServerView, entry, sources=tuple(entry["sources"]))


def _senders(rows: Sequence[Row], entry: Row | None) -> list[Sender]:
    """The most expensive first: the applications, or else those that the comments in the slow log name."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        calls, time_ns = sums.get((row["service"], row["name"]), (0, 0))
        sums[row["service"], row["name"]] = calls + row["calls"], time_ns + row["time_ns"]
    if entry and not rows:
        for name, calls, time_ns in zip(*entry["kinds"], strict=True):
            service, _, route = name.partition("\t")
            if service or route:
                sums[service, route] = calls, time_ns
    whole_ns = max(sum(time_ns for _, time_ns in sums.values()), 1)
    found = [Sender(*kind, calls, time_ns, time_ns / whole_ns) for kind, (calls, time_ns) in sums.items()]
    return sorted(found, key=lambda each: (-each.time_ns, each.service, each.name))
