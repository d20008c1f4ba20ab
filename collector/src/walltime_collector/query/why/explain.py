"""Answers `why`: runs queries/why/*.sql for sums, splits the difference exactly, finds its causes, and writes them."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from ...clickhouse.dialect import QUERY_CONNECTIONS
from ...clickhouse.engine import Engine
from ...errors import NotStored
from ...format import iso_time, printable
from .. import kinds
from ..names import shown
from ..queries import run
from ..scope import Filters
from ..statistics import SECOND_CHANCE
from ..statistics.blocks import Tested, compare
from ..statistics.tails import bound
from ..windows import Comparison, between
from . import durations, sentences, wording
from .answer import Example, Population, SampledLine, Verdict, Why
from .causes import cause
from .causes.process import MAX_LINES, sampled_lines
from .causes.singles import singles
from .dimensions import search, servers
from .dimensions import sentences as dimensions
from .durations import LONGEST_NS, Durations, Times
from .reading import Reading, read
from .sample import ALL, Sample, sample, sampled
from .sentences import Looked
from .values import NO_MIX

SMALL = 0.05
"""A difference below this part of the usual time is called small: a machine drifts by so much without a cause."""


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
    params |= {"when": compared.when, "threshold_ns": 0, "bound_ns": LONGEST_NS, **NO_MIX}
    took = durations.read(engine, params, compared)
    if isinstance(took, tuple):
        raise _missing(filters.kind, compared, has_usual=took[0], has_slow=took[1])
    params |= {"threshold_ns": took.threshold_ns, "bound_ns": took.bound_ns}
    reading = read(engine, params, compared, took)
    calls = _calls(reading, took)
    verdict = _verdict(compared, took, calls)
    reading = replace(reading, is_different=verdict not in ("chance", "too_few"))
    with ThreadPoolExecutor(QUERY_CONNECTIONS - 1, "why") as threads:
        drilling = threads.submit(reading.drilled)
        sampling = threads.submit(_lines, reading)
        examples = [threads.submit(_examples, reading, is_slow=is_slow) for is_slow in (False, True)]
        very_long = threads.submit(singles, reading, took)
        by_value = search.find(reading)
        of_sample = None if of is ALL else sampled(engine, filters, compared, of, by_value.errors)
    like = drilling.result()
    by_dimension = tuple(dimensions.findings(reading, by_value, servers.failing(like)))
    mix = by_value.mix
    if mix:
        weighted = {**params, **mix.parameters()}
        like = read(engine, weighted, compared, took, is_different=reading.is_different).drilled()
        mix = replace(mix, part_ns=reading.difference_ns - sum(each.difference_ns for each in like.components))
    usual, slow = _whole(reading.usual, took.usual), _whole(reading.slow, took.slow)
    difference_ns, tested = slow.mean_ns - usual.mean_ns, took.typical
    typical_ns = reading.difference_ns if took.bound_ns < LONGEST_NS else difference_ns
    sure = tested if tested and math.isfinite(tested.error) else None
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
        low_ns=typical_ns + sure.low - sure.difference if sure else None,
        high_ns=typical_ns + sure.high - sure.difference if sure else None,
        components=like.components,
        targets=like.targets,
        statements=like.statements,
        usual_examples=examples[0].result(),
        slow_examples=examples[1].result(),
        singles=very_long.result(),
        computed_at=iso_time(time.time_ns()),
        statuses=by_value.statuses,
        mix=mix,
        dimensions=by_value.values,
        looked_at=by_value.looked_at,
        sampled=of_sample,
        lines=sampling.result(),
        when=compared.when,
    )
    looked = Looked(like, took, calls, cause.find(like), by_dimension)
    written = sentences.write(answer, looked)
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


def _whole(side: Population, took: Times) -> Population:
    """The same with single transactions and without weights."""
    total_ns, mean_ns = int(took.durations_ns.sum()), float(took.durations_ns.mean())
    return replace(side, transactions=len(took.durations_ns), total_ns=total_ns, mean_ns=mean_ns)


def _lines(reading: Reading) -> tuple[SampledLine, ...]:
    sides = {f"{name}_transactions": getattr(reading, name).transactions for name in ("usual", "slow")}
    rows = run(reading.engine, "why/sampled_lines", **reading.params, **sides, limit=MAX_LINES)
    return sampled_lines(rows, *sides.values())


def _calls(reading: Reading, took: Durations) -> Tested | None:
    """Where times may be chance: whether the calls are, each at its usual time; None where that does not matter."""
    if took.typical is None or not took.typical.is_chance:
        return None
    per_call_ns = {
        each.component: each.usual.per_call_ns or each.slow.per_call_ns or 0.0 for each in reading.components
    }
    rows = run(
        reading.engine, "why/calls", **reading.params, components=[*per_call_ns], per_call_ns=[*per_call_ns.values()]
    )
    sides = {bool(row["is_slow"]): np.array(row["expected_ns"], np.float64) for row in rows}
    most_ns = max(map(bound, sides.values()))
    usual, slow = (np.minimum(sides[at], most_ns) for at in (False, True))
    return compare(*durations.in_blocks(usual, slow), took.apart, level=SECOND_CHANCE)


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
    if typical.is_chance:
        if calls is None or calls.is_chance or calls.difference * typical.difference <= 0:
            return "chance"
        if abs(calls.difference) < SMALL * usual_ns:
            return "chance"
    return "small" if is_small else "different"


def _examples(reading: Reading, *, is_slow: bool) -> tuple[Example, ...]:
    params, compared = reading.params, reading.compared
    side, window, when = reading.slow, compared.slow, compared.when
    least_ns, most_ns = params["threshold_ns"], params["bound_ns"]
    if not is_slow:
        side, window, when = reading.usual, compared.usual, f"not ({when})" if when else ""
        least_ns, most_ns = 0, min(least_ns - 1 if least_ns else most_ns, most_ns)
    own = {"start_ns": window.start_ns, "end_ns": window.end_ns, "least_ns": least_ns, "most_ns": most_ns}
    rows = run(reading.engine, "why/examples", **{**params, **own, "mean_ns": side.mean_ns, "when": when})
    return tuple(
        Example(row["trace"], iso_time(int(row["started_ns"])), int(row["duration_ns"]), row["kept"]) for row in rows
    )


def _quoted(text: str) -> str:
    return f"'{shown(text)}'"
