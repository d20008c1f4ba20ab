"""Combines what applications and slow log know of every statement, and ranks the statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ...clickhouse.engine import Engine
from ...format import iso_time
from ...statements.fingerprint import fingerprint_id, of_template
from ..answers import from_row
from ..queries import Row, run
from ..sampled import run_sums
from ..scope import Filters, Scope
from .answer import ClientView, Digest, DigestedStatement, Sender, ServerView
from .history import history
from .meant import meant

_MAX_ROWS = 20_000
_MAX_SENDERS = 10
_MAX_WHOLE = 3


def digest_of(
    engine: Engine, scope: Scope, *, by: str = "total", limit: int = 20, statement: str = "", containing: str = ""
) -> Digest:
    """
    Rank the statements of a Scope by one of DIGEST_RANKINGS.

    With another filter than the service, only those entries of the slow log count whose comment has a trace id.

    Args:
        statement: Only the statements that this means: an id or its beginning, a text or its beginning.
        containing: Only statements whose fingerprint or id has this text in it, in upper or lower case.

    Raises:
        NotStored: There are statements, but none like this one.
        EngineUnavailable: The engine cannot answer now.
    """
    with ThreadPoolExecutor(2, "digest") as threads:
        logging = threads.submit(run, engine, "digest/server", **of_log(scope), limit=_MAX_ROWS)
        reading_first = threads.submit(run, engine, "digest/first")
        sent = sent_in(engine, scope)
        logged, (first,) = logging.result(), reading_first.result()
    found = ranked(
        digested(sent, logged, first_us=first["first_us"]),
        since=iso_time(scope.window.start_ns),
        until=iso_time(scope.window.end_ns),
        by=by,
        limit=limit,
        service=scope.filters.service,
        statement=statement,
        containing=containing,
        client_ns=next(iter(sent.values()))[0]["all_time_ns"] if sent else 0,
        server_ns=logged[0]["all_time_ns"] if logged else 0,
        entries=logged[0]["all_entries"] if logged else 0,
    )
    if not statement or found.all_statements > _MAX_WHOLE:
        return found
    return replace(found, statements=tuple(_with_history(engine, each, sent) for each in found.statements))


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
) -> Digest:
    """
    The first statements by one of DIGEST_RANKINGS; see `digest_of`.

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
        statements=tuple(statements[:limit]),
        statement=statement,
        unsent_ns=unsent_ns,
    )


def _with_history(engine: Engine, statement: DigestedStatement, sent: Mapping[int, Sequence[Row]]) -> DigestedStatement:
    number = int(statement.fingerprint_id, 16)
    texts = list(dict.fromkeys(str(row["text"]) for row in sent.get(number, ())))
    return replace(statement, history=history(engine, number, texts))


def statements(engine: Engine, scope: Scope) -> tuple[DigestedStatement, ...]:
    """
    Statements as the applications measured them, the one with the most time first.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    found = digested(sent_in(engine, scope.aligned()), ())
    return tuple(sorted(found, key=lambda each: (-each.total_ns, each.fingerprint_id)))


def sent_in(engine: Engine, scope: Scope) -> dict[int, list[Row]]:
    """
    The rows of queries/digest/application.sql of a Scope, by the id of the fingerprint.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    return by_fingerprint(run_sums(engine, "digest/application", **scope.divided(), limit=_MAX_ROWS))


def by_fingerprint(sent: Iterable[Row]) -> dict[int, list[Row]]:
    """Rows with the texts of statements, by the id of the fingerprint."""
    found: dict[int, list[Row]] = {}
    for row in sent:
        found.setdefault(fingerprint_id(of_template(row["text"])), []).append(row)
    return found


def digested(
    sent: Mapping[int, Sequence[Row]], logged: Sequence[Row], *, first_us: int = 0, max_senders: int = _MAX_SENDERS
) -> list[DigestedStatement]:
    """Combine what `sent_in` returns with rows of queries/digest/server.sql, in no order."""
    entries, found = {row["fingerprint_id"]: row for row in logged}, []
    for number in dict.fromkeys([*sent, *entries]):
        rows, entry = sent.get(number, ()), entries.get(number)
        client, server = _client(rows), from_row(ServerView, entry) if entry else None
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


def _client(rows: Sequence[Row]) -> ClientView | None:
    calls, time_ns, errors = (sum(row[name] for row in rows) for name in ("calls", "time_ns", "errors"))
    return ClientView(calls, time_ns, round(time_ns / calls), errors) if calls else None


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
