"""Answers `why`: runs queries/why/*.sql for sums, splits the difference exactly, finds its causes, and writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ...clickhouse.dialect import QUERY_CONNECTIONS
from ...clickhouse.engine import Engine, Parameter
from ...errors import NotStored
from ...format import iso_time, printable
from .. import kinds
from ..answers import from_row
from ..components import counters_by_component, sums
from ..names import shown
from ..queries import Row, run
from ..scope import Filters
from ..windows import Comparison, Window, between
from . import cause, chance, sentences
from .answer import Contribution, Example, Population, Sampled, Verdict, Why
from .arithmetic import Losers, Totals, calls_per_lost_lookup, contribution, contributions
from .chance import Block, Judged
from .dimensions import search, servers
from .dimensions.sentences import findings
from .process import MAX_LINES, process, sampled_line
from .reading import Reading
from .sample import ALL, Sample, exact_mean_ns, sample
from .sentences import Evidence
from .waits import waits

MAX_TARGETS = 1_000
MAX_STATEMENTS = 100
_DETAILS: Mapping[str, Mapping[str, int]] = {
    "targets": {"limit": MAX_TARGETS},
    "statements": {"limit": MAX_STATEMENTS},
    "sampled_lines": {"limit": MAX_LINES},
    "lost_lookups": {},
}
"""The queries that split the difference, with the number of their rows at most."""
SMALL = 0.05
"""A difference below this part of the usual time is called small: a machine drifts by so much without a cause."""

_LONGEST_NS = 2**63 - 1
_CONFIDENT = 1.96
"""Standard errors, of 95 %."""


def explain(engine: Engine, name: str, compared: Comparison, *, service: str = "") -> Why:
    """
    Compare the two populations of the kind `name` of `service`, which may be left out when only one has such a kind.

    Both names may be cut, copied from what was printed, or be the beginning of the right one: see names.find.

    Raises:
        NotStored: There is no such kind, several begin like this, or one of the populations is empty.
        BadParameter: Several services have a kind of this name.
        EngineUnavailable, QueryFailed: No answer.
    """
    name, service = _kind(engine, name, kinds.service(engine, service), compared)
    return explain_kind(engine, Filters(service=service, kind=name), compared)


def explain_kind(engine: Engine, filters: Filters, compared: Comparison, of: Sample | None = None) -> Why:
    """
    Compare the two populations of the kind whose service and name the filters have exactly.

    Args:
        of: What is compared; all transactions, or a sample of very many, when it is None.

    Raises:
        NotStored: One of the populations is empty.
        EngineUnavailable, QueryFailed: No answer.
    """
    of = of or sample(engine, filters, compared)
    params = _parameters(engine, filters, compared, of)
    sides = {bool(row["is_slow"]): row for row in run(engine, "why/populations", **params)}
    if len(sides) < 2:
        raise _missing(filters.kind, compared, has_slow=True in sides, has_usual=False in sides)
    usual, slow = _population(sides[False], compared.usual), _population(sides[True], compared.slow)
    numbers = {"usual_transactions": usual.transactions, "slow_transactions": slow.transactions}
    components = contributions(_totals(sides[False]), _totals(sides[True]))
    with ThreadPoolExecutor(QUERY_CONNECTIONS - 1, "why") as threads:
        asked = {
            name: threads.submit(run, engine, f"why/{name}", **params, **numbers, **limit)
            for name, limit in _DETAILS.items()
        }
        usual_examples = threads.submit(_examples, engine, params, compared, usual, is_slow=False)
        slow_examples = threads.submit(_examples, engine, params, compared, slow, is_slow=True)
        judged = _judged(engine, params, compared, usual, slow, components)
        verdict = _verdict(compared, usual, slow, judged)
        is_different = verdict in ("different", "small", "selected")
        reading = Reading(engine, params, compared, usual, slow, components, is_different=is_different)
        by_value = search.find(reading)
        how_busy = process(engine, params, compared, components) if verdict == "different" else None
        sampled = None if of is ALL else _sampled(engine, filters, compared, of, by_value.errors)
    rows = {name: each.result() for name, each in asked.items()}
    targets, statements = _drilled(rows["targets"], usual, slow), _drilled(rows["statements"], usual, slow)
    lost_lookups = calls_per_lost_lookup([*map(_losers, rows["lost_lookups"])])
    causes = cause.find(components, targets, statements, lost_lookups)
    by_dimension = findings(reading, by_value, servers.find(replace(reading, targets=targets)))
    times = judged.times if judged else None
    answer = Why(
        service=filters.service,
        name=filters.kind,
        verdict=verdict,
        headline="",
        sentences=(),
        slowest_percent=compared.slowest_percent,
        threshold_ns=params["threshold_ns"],
        usual=usual,
        slow=slow,
        difference_ns=slow.mean_ns - usual.mean_ns,
        p_value=times.p_value if times else None,
        calls_p_value=judged.calls.p_value if judged else None,
        drift_ns=times.drift_ns if times else None,
        low_ns=times.low_ns if times else None,
        high_ns=times.high_ns if times else None,
        components=components,
        targets=targets,
        statements=statements,
        usual_examples=usual_examples.result(),
        slow_examples=slow_examples.result(),
        statuses=by_value.statuses,
        mix=by_value.mix,
        dimensions=by_value.values,
        looked_at=by_value.looked_at,
        sampled=sampled,
        lines=tuple(sampled_line(row, usual.transactions, slow.transactions) for row in rows["sampled_lines"]),
        when=compared.when,
    )
    waiting = waits(engine, params, usual, slow, causes) if verdict in ("different", "selected") else ((), ())
    return sentences.write(answer, Evidence(judged, causes, how_busy, *waiting, tuple(by_dimension)))


def _parameters(engine: Engine, filters: Filters, compared: Comparison, of: Sample) -> dict[str, Any]:
    """Of all queries; `threshold_ns` is 0 unless the slowest are compared with the rest."""
    params = {**filters.parameters(), **compared.parameters(), "minutes": of.minutes, "when": compared.when}
    params["threshold_ns"] = 0
    if compared.slowest_percent is not None:
        level = 1 - compared.slowest_percent / 100
        window = {"start_ns": compared.slow.start_ns, "end_ns": compared.slow.end_ns, "level": level}
        (row,) = run(engine, "why/threshold", **filters.parameters(), **window, minutes=of.minutes)
        params["threshold_ns"] = int(row["threshold_ns"] or 0)
    return params


def _kind(engine: Engine, written: str, service: str, compared: Comparison) -> tuple[str, str]:
    """The name, and the one service that has this kind on both sides."""
    rows = kinds.kind(engine, written, service, compared.parameters())
    name = str(rows[0].get("name", written))
    on_both = [str(row["service"]) for row in rows if row["slow"] and row["usual"]]
    if on_both:
        return name, kinds.one_of_services(name, on_both)
    raise _missing(name, compared, has_slow=any(row["slow"] for row in rows), has_usual=False)


def _missing(name: str, compared: Comparison, *, has_slow: bool, has_usual: bool) -> NotStored:
    """One of the populations is empty."""
    if compared.slowest_percent is not None and (has_slow or has_usual):
        what = f"all transactions {_quoted(name)} took equally long"
        return NotStored("slowest", what, "compare two times with --during")
    if compared.when and (has_slow or has_usual):
        what = f"{'no' if has_usual else 'every'} transaction {_quoted(name)} matches '{printable(compared.when)}'"
        return NotStored("when", what, "write another condition, or choose another time")
    if compared.is_of_one_window:
        where, window = "since", compared.slow
    elif has_slow:
        where, window = "against", compared.usual
    else:
        where, window = "during", compared.slow
    what = f"no transaction {_quoted(name)} started {between(window)}"
    return NotStored(where, what, "choose another time: transactions count where they started")


def _population(row: Row, window: Window) -> Population:
    p50_ns, p95_ns, p99_ns = map(round, row["percentiles_ns"])
    return from_row(
        Population,
        row,
        since=iso_time(window.start_ns),
        until=iso_time(window.end_ns),
        mean_ns=int(row["total_ns"]) / int(row["transactions"]),
        p50_ns=p50_ns,
        p95_ns=p95_ns,
        p99_ns=p99_ns,
        cpu_ns=row["cpu_mean_ns"],
        queue_ns=row["queue_mean_ns"],
    )


def _totals(row: Row) -> Totals:
    components = {name: sums(counters) for name, counters in counters_by_component(row).items()}
    return Totals(int(row["transactions"]), int(row["total_ns"]), int(row["other_total_ns"]), components)


def _drilled(rows: Sequence[Row], usual: Population, slow: Population) -> tuple[Contribution, ...]:
    return tuple(
        contribution(
            sums(row, "usual_"),
            usual.transactions,
            sums(row, "slow_"),
            slow.transactions,
            component=row.get("component", ""),
            address=row.get("address", ""),
            statement=row.get("statement", ""),
        )
        for row in rows
    )


def _losers(row: Row) -> Losers:
    calls = {name: counters.get("calls", 0) for name, counters in counters_by_component(row).items()}
    return Losers(bool(row["is_slow"]), int(row["lost"]), int(row["transactions"]), calls)


def _judged(
    engine: Engine,
    params: Mapping[str, Parameter],
    compared: Comparison,
    usual: Population,
    slow: Population,
    components: Sequence[Contribution],
) -> Judged | None:
    """Whether chance explains the times, and the calls alone: what they would have taken at their usual speed."""
    if compared.slowest_percent is not None or min(usual.transactions, slow.transactions) < chance.FEWEST:
        return None
    block_size = chance.transactions_per_block(usual.transactions, slow.transactions)
    cut: dict[str, int] = {}
    for side, window, population in (("usual", compared.usual, usual), ("slow", compared.slow, slow)):
        blocks = max(population.transactions // block_size, 1)
        cut[f"{side}_block_ns"] = max((window.end_ns - window.start_ns) // blocks, 1)
        cut[f"{side}_every"] = math.ceil(blocks / chance.MOST_BLOCKS)
    rows = run(engine, "why/blocks", **params, **cut)
    if len({row["is_slow"] for row in rows}) < 2:  # a whole burst was between the blocks that were read
        rows = run(engine, "why/blocks", **params, **{**cut, "usual_every": 1, "slow_every": 1})
    per_call_ns = {each.component: each.usual.per_call_ns or each.slow.per_call_ns or 0.0 for each in components}
    times: tuple[list[Block], list[Block]] = ([], [])
    calls: tuple[list[Block], list[Block]] = ([], [])
    for row in rows:
        is_slow, transactions = bool(row["is_slow"]), int(row["transactions"])
        counters = counters_by_component(row)
        expected_ns = sum(each.get("calls", 0) * per_call_ns.get(name, 0.0) for name, each in counters.items())
        times[is_slow].append(Block(transactions, int(row["total_ns"])))
        calls[is_slow].append(Block(transactions, round(expected_ns)))
    return Judged(chance.judge(*times), chance.judge(*calls))


def _sampled(
    engine: Engine, filters: Filters, compared: Comparison, of: Sample, errors: Sequence[float | None]
) -> Sampled:
    usual_ns, slow_ns = (
        None if compared.is_of_one_window else exact_mean_ns(engine, filters, window)
        for window in (compared.usual, compared.slow)
    )
    usual_error, slow_error = (None if each is None else _CONFIDENT * each for each in errors)
    return Sampled(of.usual_of, of.slow_of, usual_ns, slow_ns, usual_error, slow_error)


def _verdict(compared: Comparison, usual: Population, slow: Population, judged: Judged | None) -> Verdict:
    if compared.slowest_percent is not None:
        return "selected"
    if judged is None:
        return "too_few"
    small_ns = SMALL * usual.mean_ns
    if judged.times.explains_it and not judged.calls_differ(small_ns):
        return "chance"
    return "small" if abs(slow.mean_ns - usual.mean_ns) < small_ns else "different"


def _examples(
    engine: Engine, params: Mapping[str, Any], compared: Comparison, population: Population, *, is_slow: bool
) -> tuple[Example, ...]:
    threshold_ns = params["threshold_ns"]
    window, least_ns, most_ns, when = compared.slow, threshold_ns, _LONGEST_NS, compared.when
    if not is_slow:
        window, least_ns, most_ns = compared.usual, 0, (threshold_ns or _LONGEST_NS) - 1
        when = f"not ({compared.when})" if compared.when else ""
    own = {"start_ns": window.start_ns, "end_ns": window.end_ns, "least_ns": least_ns, "most_ns": most_ns}
    rows = run(engine, "why/examples", **{**params, **own, "mean_ns": population.mean_ns, "when": when})
    return tuple(
        Example(row["trace"], iso_time(int(row["started_ns"])), int(row["duration_ns"]), row["kept"]) for row in rows
    )


def _quoted(text: str) -> str:
    return f"'{shown(text)}'"
