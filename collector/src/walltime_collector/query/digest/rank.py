"""Reads what applications and slow log have stored of every statement, and ranks the statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ...clickhouse.engine import Engine
from ...format import iso_time
from ...statements.fingerprint import fingerprint_id, of_template
from ..queries import Row, run
from ..sampled import run_sums
from ..scope import Filters, Scope
from .answer import Digest, DigestedStatement
from .combined import digested, ranked
from .history import history

_MAX_ROWS = 20_000
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
        sources=tuple(logged[0]["all_sources"]) if logged else (),
    )
    if not statement or found.all_statements > _MAX_WHOLE:
        return found
    return replace(found, statements=tuple(_with_history(engine, each, sent) for each in found.statements))


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


def of_log(scope: Scope, fingerprint_id: int = 0) -> Mapping[str, str | int | bool]:
    """The parameters of queries/_log_scope.sql; an id of 0 is any statement."""
    only_service = scope.filters == Filters(service=scope.filters.service)
    return {**scope.whole.parameters(), "is_by_transaction": not only_service, "fingerprint_id": fingerprint_id}
