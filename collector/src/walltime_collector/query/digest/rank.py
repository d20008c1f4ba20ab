"""Combines what applications and slow log know of every statement, and ranks the statements."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ...clickhouse.engine import Engine
from ...format import iso_time
from ...statements.fingerprint import fingerprint_id, of_template
from ..answers import from_row
from ..queries import Row, run
from ..sampled import run_sums
from ..scope import Filters, Scope
from ..windows import Window
from .answer import ClientView, Digest, DigestedStatement, Sender, ServerView
from .meant import meant

MAX_ROWS = 20_000
_MAX_SENDERS = 10


@dataclass
class _Sum:
    calls: int = 0
    time_ns: int = 0


@dataclass
class _Statement:
    """One fingerprint while its two views are gathered."""

    text: str
    client: _Sum = field(default_factory=_Sum)
    errors: int = 0
    senders: dict[tuple[str, str], _Sum] = field(default_factory=dict)
    server: ServerView | None = None
    named: dict[tuple[str, str], _Sum] = field(default_factory=dict)
    """The senders that the comments in the slow log name."""
    last_us: int = 0
    """Start of its last entry in the slow log, Unix microseconds."""

    @property
    def total_ns(self) -> int:
        return max(self.client.time_ns, self.server.time_ns if self.server else 0)


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
        since_s: None for everything that is stored, also a log of years ago.
        statement: Only the statements that this means: an id or its beginning, a text or its beginning.

    Raises:
        NotStored: There are statements, but none like this one.
        EngineUnavailable: The engine cannot answer now.
    """
    until_ns = time.time_ns()
    since_ns = 0 if since_s is None else until_ns - since_s * 1_000_000_000
    scope = Scope(Window(since_ns, until_ns), Filters(service=service))
    return digest_of(engine, scope, by=by, limit=limit, statement=statement)


def digest_of(
    engine: Engine, scope: Scope, *, by: str = "total", limit: int = 20, statement: str = "", containing: str = ""
) -> Digest:
    """
    Rank the statements of a Scope; see `digest`.

    With another filter than the service, only those entries of the slow log count whose comment has a trace id.

    Args:
        containing: Only statements whose fingerprint or id has this text in it, in upper or lower case.
    """
    with ThreadPoolExecutor(2, "digest") as threads:
        logging = threads.submit(run, engine, "digest/server", **of_log(scope), limit=MAX_ROWS)
        reading_first = threads.submit(run, engine, "digest/first")
        sent = run_sums(engine, "digest/application", **scope.divided(), limit=MAX_ROWS)
        logged, (first,) = logging.result(), reading_first.result()
    statements = digested(sent, logged, first_us=first["first_us"])
    total_ns = sum(each.total_ns for each in statements)
    unsent_ns = sum(each.server.time_ns for each in statements if each.server and each.is_unsent)
    if statement:
        statements = meant(statement, statements)
    if containing:
        wanted = " ".join(containing.lower().split())
        statements = [each for each in statements if wanted in f"{each.fingerprint} {each.fingerprint_id}".lower()]
    statements.sort(key=lambda each: (-_RANK[by](each), -each.total_ns, each.fingerprint_id))
    return Digest(
        since=iso_time(scope.window.start_ns),
        until=iso_time(scope.window.end_ns),
        by=by,
        service=scope.filters.service,
        all_statements=len(statements),
        total_ns=total_ns,
        client_ns=int(sent[0]["all_time_ns"]) if sent else 0,
        server_ns=int(logged[0]["all_time_ns"]) if logged else 0,
        entries=int(logged[0]["all_entries"]) if logged else 0,
        statements=tuple(statements[:limit]),
        statement=statement,
        unsent_ns=unsent_ns,
    )


def digested(
    sent: Sequence[Row], logged: Sequence[Row], *, first_us: int = 0, max_senders: int = _MAX_SENDERS
) -> list[DigestedStatement]:
    """Combine rows of queries/digest/application.sql and server.sql, in no order."""
    gathered: dict[int, _Statement] = {}
    _add_applications(gathered, sent)
    _add_server(gathered, logged)
    total_ns = sum(each.total_ns for each in gathered.values())
    return [_answer(number, each, total_ns, first_us, max_senders) for number, each in gathered.items()]


def of_log(scope: Scope, fingerprint_id: int = 0) -> Mapping[str, str | int | bool]:
    """The parameters of queries/_log_scope.sql; an id of 0 is any statement."""
    only_service = scope.filters == Filters(service=scope.filters.service)
    return {**scope.whole.parameters(), "is_by_transaction": not only_service, "fingerprint_id": fingerprint_id}


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


def _add_applications(gathered: dict[int, _Statement], rows: Sequence[Row]) -> None:
    for row in rows:
        text = of_template(row["text"])
        statement = gathered.setdefault(fingerprint_id(text), _Statement(text))
        for sums in (statement.client, statement.senders.setdefault((row["service"], row["name"]), _Sum())):
            sums.calls += row["calls"]
            sums.time_ns += row["time_ns"]
        statement.errors += row["errors"]


def _add_server(gathered: dict[int, _Statement], rows: Sequence[Row]) -> None:
    for row in rows:
        statement = gathered.setdefault(row["fingerprint_id"], _Statement(row["fingerprint_text"]))
        statement.last_us = row["last_us"]
        calls, time_ns = row["calls"], row["time_ns"]
        locked_ns = max(row["lock_ns"], row["row_lock_ns"])
        useful_rows = row["rows_sent"] + row["rows_affected"]
        statement.server = from_row(
            ServerView,
            row,
            mean_ns=round(time_ns / calls),
            p95_ns=round(row["p95_ns"]),
            lock_share=min(locked_ns / max(time_ns, 1), 1.0),
            examined_per_row=row["rows_examined"] / max(useful_rows, 1),
            full_scan_share=row["full_scans"] / calls,
        )
        for name, of_calls, of_time_ns in zip(*row["kinds"], strict=True):
            service, _, route = name.partition("\t")
            if service or route:
                statement.named[service, route] = _Sum(int(of_calls), int(of_time_ns))


def _answer(number: int, each: _Statement, whole_ns: int, first_us: int, max_senders: int) -> DigestedStatement:
    senders = each.senders or each.named
    sent_ns = sum(sender.time_ns for sender in senders.values())
    ranked = sorted(senders.items(), key=lambda item: (-item[1].time_ns, item[0]))
    client = each.client
    view = ClientView(client.calls, client.time_ns, round(client.time_ns / max(client.calls, 1)), each.errors)
    return DigestedStatement(
        fingerprint_id=f"{number:016X}",
        fingerprint=each.text,
        total_ns=each.total_ns,
        share=each.total_ns / max(whole_ns, 1),
        client=view if client.calls else None,
        server=each.server,
        senders=tuple(
            Sender(service, name, sums.calls, sums.time_ns, sums.time_ns / max(sent_ns, 1))
            for (service, name), sums in ranked[:max_senders]
        ),
        all_senders=len(senders),
        is_before_applications=not senders and each.last_us < first_us,
    )
