"""One statement in detail: over time, its senders, its time in the client and in the server, examples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...errors import NotStored
from ..answers import from_row
from ..kept.sample import KeptSample, Sample, kept_sample
from ..queries import run
from ..sampled import run_sums, sampled
from ..scope import Scope
from .answer import DigestedStatement
from .over_time import MAX_TEXTS, StatementOverTime, sent_of, statement_over_time
from .rank import digested, of_log

_MAX_SENDERS = 100
_MAX_PLACES = 50
_MAX_EXAMPLES = 10
_MAX_JOINED = 200
"""Transactions whose calls are compared with their entries in the slow log."""
_MANY_TRANSACTIONS = 100_000
_SAMPLED_MINUTES = 12
"""Of more than _MANY_TRANSACTIONS only those of so many minutes are looked at for kept calls."""
_SLOWEST_MINUTES = (100, 6)
"""So many minutes are searched for the slowest transactions, fewer of more than _MANY_TRANSACTIONS."""


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
        counting = threads.submit(run_sums, engine, "servers/totals", **scope.divided())
        sent = sent_of(engine, scope, number)
        texts = list(dict.fromkeys(str(row["text"]) for row in sent))[:MAX_TEXTS]
        kinds = list(dict.fromkeys(f"{row['service']}\t{row['name']}" for row in sent))
        is_large = int(counting.result()[0]["transactions"]) > _MANY_TRANSACTIONS
        over_time = threads.submit(statement_over_time, engine, charted or scope, number, None if charted else sent)
        sampling = threads.submit(_sample, engine, scope, texts, kinds, is_large=is_large)
        slowest = _slowest(engine, scope, texts, kinds, is_large=is_large)
        logged = logging.result()
        examples = _logged(engine, in_log) if logged else ()
        both = _both_ends(engine, scope, in_log, texts) if logged and texts else None
        sample = sampling.result()
        if not sent and not logged:
            raise NotStored(
                "statement",
                f"no statement with the id {number:016X} is stored of this time",
                "choose a longer time, or remove a filter; /statements lists those that are stored",
            )
        return StatementDetail(
            statement=digested(sent, logged, max_senders=_MAX_SENDERS)[0],
            texts=tuple(texts),
            over_time=over_time.result(),
            sample=sample.size,
            places=_places(sample),
            both_ends=both,
            slowest=slowest,
            logged=examples,
        )


def _logged(engine: Engine, in_log: Mapping[str, str | int | bool]) -> tuple[LoggedExample, ...]:
    return tuple(
        from_row(
            LoggedExample,
            row,
            trace_id=row["trace"],
            started_ns=row["started_us"] * 1_000,
            is_full_scan=bool(row["is_full_scan"]),
        )
        for row in run(engine, "digest/logged", **in_log, limit=_MAX_EXAMPLES)
    )


def _sample(engine: Engine, scope: Scope, texts: Sequence[str], kinds: Sequence[str], *, is_large: bool) -> KeptSample:
    if not texts:
        return KeptSample(0, True, ())
    minutes: list[int] = []
    if is_large and not scope.sample_level:
        scope = sampled(engine, scope, is_for_calls=True)
    if is_large and not scope.sample_level:
        rows = run(engine, "digest/minutes", **scope.divided(), texts=texts, limit=_SAMPLED_MINUTES)
        minutes = [row["minute_s"] for row in rows]
    return kept_sample(engine, scope, texts=texts, kinds=kinds, minutes=minutes)


def _slowest(
    engine: Engine, scope: Scope, texts: Sequence[str], kinds: Sequence[str], *, is_large: bool
) -> tuple[Example, ...]:
    if not texts:
        return ()
    params = {**scope.divided(), "most_minutes": _SLOWEST_MINUTES[is_large], "limit": _MAX_EXAMPLES}
    rows = run(engine, "digest/slowest", **params, texts=texts, kinds=kinds)
    return tuple(from_row(Example, row, trace_id=row["trace"]) for row in rows)


def _both_ends(
    engine: Engine, scope: Scope, in_log: Mapping[str, str | int | bool], texts: Sequence[str]
) -> BothEnds | None:
    (row,) = run(engine, "digest/both_ends", **{**scope.whole.parameters(), **in_log}, texts=texts, limit=_MAX_JOINED)
    return from_row(BothEnds, row) if row["calls"] else None


def _places(sample: KeptSample) -> tuple[Place, ...]:
    sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for each in sample.calls:
        cell = sums[each.service, each.name, each.call.source]
        cell[0] += each.weight
        cell[1] += each.weight * each.call.own_ns
    calls, time_ns = (sum(cell[at] for cell in sums.values()) or 1.0 for at in (0, 1))
    ranked = sorted(sums.items(), key=lambda item: (-item[1][1], item[0]))
    return tuple(
        Place(*place, calls_share=cell[0] / calls, share=cell[1] / time_ns, mean_ns=round(cell[1] / cell[0]))
        for place, cell in ranked[:_MAX_PLACES]
    )
