"""Lays the two views of every statement side by side and ranks them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..questions import iso, run
from .answer import ClientView, Digest, DigestedStatement, Sender, ServerView
from .meant import meant

_MOST_ROWS = 20_000
_MOST_SENDERS = 10


@dataclass
class _Sum:
    calls: int = 0
    time_ns: int = 0


@dataclass
class _Statement:
    """One fingerprint while its views are gathered."""

    text: str
    client: _Sum = field(default_factory=_Sum)
    errors: int = 0
    senders: dict[tuple[str, str], _Sum] = field(default_factory=dict)
    server: ServerView | None = None
    named: dict[tuple[str, str], _Sum] = field(default_factory=dict)
    last_us: int = 0
    """Its last entry in the slow log."""


def digest(
    engine: Engine,
    *,
    since_s: int | None,
    service: str = "",
    by: str = "total",
    limit: int = 20,
    statement: str = "",
) -> Digest:
    """
    Rank the statements of the last `since_s` seconds by one of DIGEST_RANKINGS.

    Args:
        since_s: None is all there is, also a log of years ago.
        statement: Only those that are meant by this: an id or its beginning, a text or its beginning.

    Raises:
        NotStored: There are statements, but none like this one.
        EngineUnavailable: The engine cannot answer now.
    """
    until_ns = time.time_ns()
    since_ns = 0 if since_s is None else until_ns - since_s * 1_000_000_000
    found: dict[int, _Statement] = {}
    client_ns = _add_applications(found, run(
        engine, "digest_application", since_ns=since_ns, service=service, limit=_MOST_ROWS
    ))  # fmt: skip
    logged = run(engine, "digest_server", since_us=since_ns // 1_000, service=service, limit=_MOST_ROWS)
    _add_server(found, logged)
    total_ns = sum(max(each.client.time_ns, each.server.time_ns if each.server else 0) for each in found.values())
    (first,) = run(engine, "digest_first")
    statements = [_answer(number, each, total_ns, int(first["first_us"])) for number, each in found.items()]
    unsent_ns = sum(each.server.time_ns for each in statements if each.server and each.is_unsent)
    if statement:
        statements = meant(statement, statements)
    statements.sort(key=lambda each: (-_RANK[by](each), -each.total_ns, each.fingerprint_id))
    return Digest(
        since=iso(since_ns),
        until=iso(until_ns),
        by=by,
        service=service,
        all_statements=len(statements),
        total_ns=total_ns,
        client_ns=client_ns,
        server_ns=int(logged[0]["all_time_ns"]) if logged else 0,
        entries=int(logged[0]["all_entries"]) if logged else 0,
        statements=tuple(statements[:limit]),
        statement=statement,
        unsent_ns=unsent_ns,
    )


_RANK: Mapping[str, Callable[[DigestedStatement], float]] = {
    "total": lambda each: each.total_ns,
    "client": lambda each: each.client.time_ns if each.client else 0,
    "server": lambda each: each.server.time_ns if each.server else 0,
    "calls": lambda each: max(each.client.calls if each.client else 0, each.server.calls if each.server else 0),
    "mean": lambda each: max(each.client.mean_ns if each.client else 0, each.server.mean_ns if each.server else 0),
    "p95": lambda each: each.server.p95_ns if each.server else 0,
    "examined": lambda each: each.server.rows_examined if each.server else 0,
}


def _add_applications(found: dict[int, _Statement], rows: Any) -> int:
    for row in rows:
        text = of_template(row["text"])
        statement = found.setdefault(fingerprint_id(text), _Statement(text))
        sent = statement.senders.setdefault((row["service"], row["name"]), _Sum())
        for each in (statement.client, sent):
            each.calls += int(row["calls"])
            each.time_ns += int(row["time_ns"])
        statement.errors += int(row["errors"])
    return int(rows[0]["all_time_ns"]) if rows else 0


def _add_server(found: dict[int, _Statement], rows: Any) -> None:
    for row in rows:
        statement = found.setdefault(int(row["fingerprint_id"]), _Statement(row["fingerprint_text"]))
        statement.last_us = int(row["last_us"])
        calls, time_ns = int(row["calls"]), int(row["time_ns"])
        lock_ns, row_lock_ns = int(row["lock_ns"]), int(row["row_lock_ns"])
        useful = int(row["rows_sent"]) + int(row["rows_affected"])
        statement.server = ServerView(
            entries=int(row["entries"]),
            joined=int(row["joined"]),
            calls=calls,
            time_ns=time_ns,
            mean_ns=round(time_ns / calls),
            p95_ns=round(row["p95_ns"]),
            max_ns=int(row["max_ns"]),
            lock_ns=lock_ns,
            row_lock_ns=row_lock_ns,
            io_wait_ns=int(row["io_wait_ns"]),
            lock_share=min(max(lock_ns, row_lock_ns) / max(time_ns, 1), 1.0),
            rows_sent=int(row["rows_sent"]),
            rows_examined=int(row["rows_examined"]),
            rows_affected=int(row["rows_affected"]),
            examined_per_row=int(row["rows_examined"]) / max(useful, 1),
            full_scan_share=int(row["full_scans"]) / calls,
            errors=int(row["errors"]),
        )
        for name, of_calls, of_time_ns in zip(*row["kinds"], strict=True):
            service, _, route = name.partition("\t")
            if service or route:
                statement.named[service, route] = _Sum(int(of_calls), int(of_time_ns))


def _answer(number: int, each: _Statement, whole_ns: int, first_us: int) -> DigestedStatement:
    server_ns = each.server.time_ns if each.server else 0
    total_ns = max(each.client.time_ns, server_ns)
    senders = each.senders or each.named
    sent_ns = sum(sender.time_ns for sender in senders.values())
    ranked = sorted(senders.items(), key=lambda item: (-item[1].time_ns, item[0]))
    client = each.client
    return DigestedStatement(
        fingerprint_id=f"{number:016X}",
        fingerprint=each.text,
        total_ns=total_ns,
        share=total_ns / max(whole_ns, 1),
        client=ClientView(client.calls, client.time_ns, round(client.time_ns / client.calls), each.errors)
        if client.calls
        else None,
        server=each.server,
        senders=tuple(
            Sender(service, name, sums.calls, sums.time_ns, sums.time_ns / max(sent_ns, 1))
            for (service, name), sums in ranked[:_MOST_SENDERS]
        ),
        is_before_applications=not senders and each.last_us < first_us,
    )
