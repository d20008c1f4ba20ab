"""One statement in detail: over time, its senders, its time in the client and in the server, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...errors import NotStored
from ..kept.sample import Sample, SampledCall, estimates, kept_sample
from ..queries import run
from ..sampled import MOST_READ, sampled, transactions_about
from ..scope import Scope
from .answer import DigestedStatement
from .combined import digested
from .history import history
from .over_time import MAX_TEXTS, StatementOverTime, statement_over_time
from .rank import of_log, sent_in

_MAX_SENDERS = 100
_MAX_PLACES = 50
_MAX_EXAMPLES = 10
_MAX_JOINED = 200
"""Transactions whose calls are compared with their entries in the slow log."""
_SLOWEST_MINUTES = (100, 6)
"""So many minutes are searched for the slowest transactions, fewer of more than MOST_READ."""


@dataclass(frozen=True)
class Place:
    """Where in an application a statement is sent, estimated from kept calls."""

    service: str
    name: str
    source: str
    """`shop/views.py:42 product`; empty when it is not known."""
    calls_share: float
    share: float
    """Of the time of the kept calls."""
    mean_ns: int


@dataclass(frozen=True)
class BothEnds:
    """The same calls as the application and the database measured them: the rest is network and driver."""

    transactions: int
    calls: int
    client_ns: int
    server_ns: int


@dataclass(frozen=True)
class Example:
    """A transaction in which the statement took much time."""

    trace_id: str
    started_ns: int
    service: str
    name: str
    duration_ns: int
    kept: str
    calls: int
    """Of the statement."""
    time_ns: int
    """Of these calls."""


@dataclass(frozen=True)
class LoggedExample:
    """One of the slowest entries of the slow log."""

    trace_id: str
    """Empty when the entry has no comment."""
    started_ns: int
    server: str
    query_ns: int
    locked_ns: int
    io_wait_ns: int
    rows_sent: int
    rows_examined: int
    rows_affected: int
    errno: int
    is_full_scan: bool
    sample: str
    """The statement without its literals."""


@dataclass(frozen=True)
class StatementDetail:
    """One statement of a Scope."""

    statement: DigestedStatement
    texts: tuple[str, ...]
    """As the applications wrote it, the most expensive first."""
    over_time: StatementOverTime
    sample: Sample
    places: tuple[Place, ...]
    both_ends: BothEnds | None
    """None where no transaction has all its calls in the slow log."""
    slowest: tuple[Example, ...]
    logged: tuple[LoggedExample, ...]


def statement(engine: Engine, scope: Scope, number: int, charted: Scope | None = None) -> StatementDetail:
    """
    The statement whose fingerprint has this id.

    Args:
        charted: Whose window `over_time` shows, if it is another one.

    Raises:
        NotStored: It was neither sent nor logged in this Scope.
        EngineUnavailable: The engine cannot answer now.
    """
    in_log = of_log(scope, number)
    with ThreadPoolExecutor(2, "statement") as threads:
        logging = threads.submit(run, engine, "digest/server", **in_log, limit=1)
        sent = sent_in(engine, scope).get(number, ())
        texts = list(dict.fromkeys(str(row["text"]) for row in sent))[:MAX_TEXTS]
        kinds = list(dict.fromkeys(f"{row['service']}\t{row['name']}" for row in sent))
        over_time = threads.submit(statement_over_time, engine, charted or scope, number, None if charted else sent)
        sampling = threads.submit(_sample, engine, scope, texts, kinds)
        remembering = threads.submit(history, engine, number, texts)
        slowest = _slowest(engine, scope, texts, kinds)
        logged = logging.result()
        entries = run(engine, "digest/logged", **in_log, limit=_MAX_EXAMPLES) if logged else ()
        both = _both_ends(engine, scope, in_log, texts) if logged and texts else None
        sample, calls = sampling.result()
        if not sent and not logged:
            raise NotStored(
                "statement",
                f"no statement with the id {number:016X} is stored of this time",
                "choose a longer time, or remove a filter; /statements lists those that are stored",
            )
        return StatementDetail(
            statement=replace(
                digested({number: sent}, logged, max_senders=_MAX_SENDERS)[0], history=remembering.result()
            ),
            texts=tuple(texts),
            over_time=over_time.result(),
            sample=sample,
            places=_places(calls),
            both_ends=both,
            slowest=slowest,
            logged=tuple(from_row(LoggedExample, row, trace_id=row["trace"]) for row in entries),
        )


def _sample(
    engine: Engine, scope: Scope, texts: Sequence[str], kinds: Sequence[str]
) -> tuple[Sample, Sequence[SampledCall]]:
    if not texts:
        return Sample(0, 0, True), ()
    return kept_sample(engine, sampled(engine, scope, is_for_calls=True), texts=texts, kinds=kinds)


def _slowest(engine: Engine, scope: Scope, texts: Sequence[str], kinds: Sequence[str]) -> tuple[Example, ...]:
    if not texts:
        return ()
    is_large = transactions_about(engine, scope) > MOST_READ
    params = {**scope.divided(), "most_minutes": _SLOWEST_MINUTES[is_large], "limit": _MAX_EXAMPLES}
    rows = run(engine, "digest/slowest", **params, texts=texts, kinds=kinds)
    return tuple(from_row(Example, row, trace_id=row["trace"]) for row in rows)


def _both_ends(
    engine: Engine, scope: Scope, in_log: Mapping[str, str | int | bool], texts: Sequence[str]
) -> BothEnds | None:
    (row,) = run(engine, "digest/both_ends", **{**scope.whole.parameters(), **in_log}, texts=texts, limit=_MAX_JOINED)
    return from_row(BothEnds, row) if row["calls"] else None


def _places(calls: Sequence[SampledCall]) -> tuple[Place, ...]:
    found = estimates(calls, lambda each: (*each.kind, each.call.source))
    return tuple(Place(*key, each.calls_share, each.share, each.mean_ns) for key, each in found[:_MAX_PLACES])
