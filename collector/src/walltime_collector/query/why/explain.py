"""Answers `why`: runs queries/why/*.sql for sums, splits the difference exactly, finds its causes, and writes them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

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
from ..statistics.blocks import Tested, compare
from ..statistics.longest import bound
from ..windows import Comparison, Window, between
from . import cause, dimensions, durations, sentences, statuses, wording
from .answer import Contribution, Example, Population, Sampled, Verdict, Why
from .arithmetic import Losers, Totals, calls_per_lost_lookup, contribution, contributions
from .durations import LONGEST_NS, Durations, Times
from .process import MAX_LINES, process, sampled_line
from .reading import Reading
from .sample import ALL, Sample, exact_mean_ns, sample
from .sentences import Judged, Looked
from .singles import singles
from .waits import waits

MAX_TARGETS = 1_000
MAX_STATEMENTS = 100
_DETAILS: Mapping[str, Mapping[str, int]] = {
    "targets": {"limit": MAX_TARGETS},
    "statements": {"limit": MAX_STATEMENTS},
    "sampled_lines": {"limit": MAX_LINES},
    "lost_lookups": {},
    "statuses": {},
}
"""The queries that split the difference, with the number of their rows at most."""
SMALL = 0.05
"""A difference below this part of the usual time is called small: a machine drifts by so much without a cause."""
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
    return explain_kind(engine, find_kind(engine, name, compared, service=service), compared)


def find_kind(engine: Engine, name: str, compared: Comparison, *, service: str = "") -> Filters:
    """The one kind of this name that is on both sides; raises what `explain` does."""
    rows = kinds.kind(engine, name, kinds.service(engine, service), compared.parameters())
    name = str(rows[0].get("name", name))
    on_both = [str(row["service"]) for row in rows if row["slow"] and row["usual"]]
    if not on_both:
        raise _missing(name, compared, has_slow=any(row["slow"] for row in rows), has_usual=False)
    return Filters(service=kinds.one_of_services(name, on_both), kind=name)


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
    params: dict[str, Any] = {**filters.parameters(), **compared.parameters(), "minutes": of.minutes}
    params |= {"when": compared.when, "threshold_ns": 0, "bound_ns": LONGEST_NS}
    took = durations.read(engine, params, compared)
    if isinstance(took, tuple):
        raise _missing(filters.kind, compared, has_usual=took[0], has_slow=took[1])
    params |= {"threshold_ns": took.threshold_ns, "bound_ns": took.bound_ns}
    rows = {bool(row["is_slow"]): row for row in run(engine, "why/populations", **params)}
    usual, slow = (_population(rows[at], side, window) for at, side, window in _sides(compared, took))
    components = contributions(_totals(rows[False]), _totals(rows[True]))
    calls = _calls(engine, params, took, components)
    judged = Judged(took.typical, calls, took.singles)
    verdict = _verdict(compared, took, calls)
    reading = Reading(
        engine,
        params,
        compared,
        _typical(rows[False], usual),
        _typical(rows[True], slow),
        components,
        is_different=verdict not in ("chance", "too_few"),
    )
    with ThreadPoolExecutor(QUERY_CONNECTIONS - 1, "why") as threads:
        numbers = {f"{name}_transactions": getattr(reading, name).transactions for name in ("usual", "slow")}
        asked = {
            name: threads.submit(run, engine, f"why/{name}", **params, **numbers, **limit)
            for name, limit in _DETAILS.items()
        }
        examples = [
            threads.submit(_examples, engine, params, compared, side, is_slow=is_slow)
            for is_slow, side in ((False, reading.usual), (True, reading.slow))
        ]
        very_long = threads.submit(singles, engine, params, took)
        by_value = dimensions.find(
            engine, params, compared, reading.usual, reading.slow, is_different=reading.is_different
        )
        how_busy = process(engine, params, compared, components) if verdict == "different" else None
        sampled = None if of is ALL else _sampled(engine, filters, params, compared, of)
    read = {name: each.result() for name, each in asked.items()}
    targets, statements = (_drilled(read[name], reading) for name in ("targets", "statements"))
    reading = replace(reading, targets=targets, statements=statements)
    lost_lookups = calls_per_lost_lookup([*map(_losers, read["lost_lookups"])])
    causes = cause.find(components, targets, statements, lost_lookups)
    by_status = statuses.by_status(read["statuses"])
    lines = tuple(sampled_line(row, *numbers.values()) for row in read["sampled_lines"])
    difference_ns = slow.mean_ns - usual.mean_ns
    typical_ns = reading.difference_ns if took.bound_ns < LONGEST_NS else difference_ns
    tested = took.typical
    answer = Why(
        service=filters.service,
        name=filters.kind,
        verdict=verdict,
        headline="",
        sentences=(),
        slowest_percent=compared.slowest_percent,
        threshold_ns=took.threshold_ns,
        usual=usual,
        slow=slow,
        difference_ns=difference_ns,
        typical_ns=typical_ns,
        p_value=tested.p_value if tested else None,
        calls_p_value=calls.p_value if calls else None,
        drift_ns=tested.drift if tested else None,
        low_ns=typical_ns + tested.low - tested.difference if tested else None,
        high_ns=typical_ns + tested.high - tested.difference if tested else None,
        components=components,
        targets=targets,
        statements=statements,
        usual_examples=examples[0].result(),
        slow_examples=examples[1].result(),
        singles=very_long.result(),
        computed_at=iso_time(time.time_ns()),
        statuses=by_status,
        is_mix_changed=statuses.is_notable(by_status, usual.mean_ns),
        dimensions=dimensions.without_effects(by_value.values, causes),
        looked_at=by_value.looked_at,
        sampled=sampled,
        lines=lines,
        when=compared.when,
    )
    is_explained = verdict in ("different", "selected")
    waiting = waits(engine, params, reading.usual, reading.slow, causes) if is_explained else ((), ())
    written = sentences.write(answer, Looked(reading, took, judged, causes, how_busy, *waiting))
    return replace(written, shown=wording.shown(written))


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


def _sides(compared: Comparison, took: Durations) -> Sequence[tuple[bool, Times, Window]]:
    return (False, took.usual, compared.usual), (True, took.slow, compared.slow)


def _population(row: Row, side: Times, window: Window) -> Population:
    p50_ns, p95_ns, p99_ns = map(round, np.quantile(side.durations_ns, [0.5, 0.95, 0.99]))
    return from_row(
        Population,
        row,
        since=iso_time(window.start_ns),
        until=iso_time(window.end_ns),
        transactions=len(side.durations_ns),
        errors=int(side.failed.sum()),
        total_ns=int(side.durations_ns.sum()),
        mean_ns=float(side.durations_ns.mean()),
        p50_ns=p50_ns,
        p95_ns=p95_ns,
        p99_ns=p99_ns,
        max_ns=int(side.durations_ns.max()),
        cpu_ns=row["cpu_mean_ns"],
        queue_ns=row["queue_mean_ns"],
    )


def _typical(row: Row, side: Population) -> Population:
    """The same without single transactions."""
    transactions, total_ns = int(row["transactions"]), int(row["total_ns"])
    return replace(side, transactions=transactions, total_ns=total_ns, mean_ns=total_ns / transactions)


def _totals(row: Row) -> Totals:
    components = {name: sums(counters) for name, counters in counters_by_component(row).items()}
    return Totals(int(row["transactions"]), int(row["total_ns"]), int(row["other_total_ns"]), components)


def _drilled(rows: Sequence[Row], reading: Reading) -> tuple[Contribution, ...]:
    return tuple(
        contribution(
            sums(row, "usual_"),
            reading.usual.transactions,
            sums(row, "slow_"),
            reading.slow.transactions,
            component=row.get("component", ""),
            address=row.get("address", ""),
            statement=row.get("statement", ""),
        )
        for row in rows
    )


def _losers(row: Row) -> Losers:
    calls = {name: counters.get("calls", 0) for name, counters in counters_by_component(row).items()}
    return Losers(bool(row["is_slow"]), int(row["lost"]), int(row["transactions"]), calls)


def _calls(
    engine: Engine, params: Mapping[str, Parameter], took: Durations, components: Sequence[Contribution]
) -> Tested | None:
    """Where times may be chance: whether the calls are, each at its usual time; None where that does not matter."""
    if took.typical is None or not took.typical.is_chance:
        return None
    per_call_ns = {each.component: each.usual.per_call_ns or each.slow.per_call_ns or 0.0 for each in components}
    rows = run(engine, "why/calls", **params, components=[*per_call_ns], per_call_ns=[*per_call_ns.values()])
    sides = {bool(row["is_slow"]): np.array(row["expected_ns"], np.float64) for row in rows}
    most_ns = max(map(bound, sides.values()))
    usual, slow = (np.minimum(sides[at], most_ns) for at in (False, True))
    return compare(*durations.in_blocks(usual, slow), took.apart)


def _sampled(
    engine: Engine, filters: Filters, params: Mapping[str, Parameter], compared: Comparison, of: Sample
) -> Sampled:
    usual_ns, slow_ns = (
        None if compared.is_of_one_window else exact_mean_ns(engine, filters, window)
        for window in (compared.usual, compared.slow)
    )
    errors = dimensions.relative_errors(engine, params, compared)
    usual_error, slow_error = (None if each is None else _CONFIDENT * each for each in errors)
    return Sampled(of.usual_of, of.slow_of, usual_ns, slow_ns, usual_error, slow_error)


def _verdict(compared: Comparison, took: Durations, calls: Tested | None) -> Verdict:
    if compared.slowest_percent is not None:
        return "selected"
    if took.typical is None or took.singles is None:
        return "too_few"
    typical, usual_ns = took.typical, float(took.usual.typical_ns.mean())
    more_single_ns = took.slow.single_ns - took.usual.single_ns
    if not took.singles.is_chance and abs(more_single_ns) >= SMALL * usual_ns:
        return "different"
    is_small = abs(typical.difference) < SMALL * usual_ns
    if not typical.is_chance:
        return "small" if is_small else "different"
    if calls is None or calls.is_chance or calls.difference * typical.difference <= 0:
        return "chance"
    if abs(calls.difference) < SMALL * usual_ns:
        return "chance"
    return "small" if is_small else "different"


def _examples(
    engine: Engine, params: Mapping[str, Any], compared: Comparison, population: Population, *, is_slow: bool
) -> tuple[Example, ...]:
    threshold_ns, bound_ns = params["threshold_ns"], params["bound_ns"]
    window, least_ns, most_ns, when = compared.slow, threshold_ns, bound_ns, compared.when
    if not is_slow:
        window, least_ns, most_ns = compared.usual, 0, min(threshold_ns - 1 if threshold_ns else bound_ns, bound_ns)
        when = f"not ({compared.when})" if compared.when else ""
    own = {"start_ns": window.start_ns, "end_ns": window.end_ns, "least_ns": least_ns, "most_ns": most_ns}
    rows = run(engine, "why/examples", **{**params, **own, "mean_ns": population.mean_ns, "when": when})
    return tuple(
        Example(row["trace"], iso_time(int(row["started_ns"])), int(row["duration_ns"]), row["kept"]) for row in rows
    )


def _quoted(text: str) -> str:
    return f"'{shown(text)}'"
