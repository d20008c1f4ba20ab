"""Answers `why`: asks queries/why_*.sql for sums, splits the difference exactly, finds what carries it, and says so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...clickhouse.engine import Engine
from ...errors import BadParameter, NotStored
from ...format import printable
from .. import kinds as known
from ..components import counters_by_component
from ..names import shown
from ..questions import iso, run
from . import cause, chance, sentences, statuses
from .answer import Contribution, Example, Population, StatusClass, Verdict, Why
from .arithmetic import Losers, Sums, Totals, calls_per_lost_lookup, contribution, contributions
from .chance import Block, Judged
from .windows import Comparison, Window

MOST_TARGETS = 1_000
MOST_STATEMENTS = 100
SMALL = 0.05
"""A difference below this part of the usual time is called small: so much a machine drifts by itself."""

_LONGEST_NS = 2**63 - 1
Row = Mapping[str, Any]


def explain(engine: Engine, name: str, compared: Comparison, *, service: str = "") -> Why:
    """
    Compare the two populations of the kind `name` of `service`, which may be left out when only one has such a kind.

    Both names may be cut, copied from what was printed, or just begin like the one that is meant: see naming.find.

    Raises:
        NotStored: There is no such kind, several begin like this, or one of the populations is empty.
        BadParameter: Several services have a kind of this name.
        EngineUnavailable, QueryFailed: No answer.
    """
    windows = _windows(compared)
    name, service = _kind(engine, name, known.service(engine, service), compared, windows)
    kind = {"service": service, "name": name}
    threshold_ns = 0
    if compared.slowest_percent is not None:
        level = 1 - compared.slowest_percent / 100
        start_ns, end_ns = compared.slow.start_ns, compared.slow.end_ns
        (row,) = run(engine, "why_threshold", **kind, start_ns=start_ns, end_ns=end_ns, level=level)
        threshold_ns = int(row["threshold_ns"])
    asked: dict[str, str | int] = {**kind, **windows, "threshold_ns": threshold_ns}

    sides = {bool(row["is_slow"]): row for row in run(engine, "why_populations", **asked)}
    if len(sides) < 2:
        raise NotStored(
            "slowest",
            f"all transactions {_quoted(name)} took equally long",
            "compare two times with --during",
        )
    usual, slow = _population(sides[False], compared.usual), _population(sides[True], compared.slow)
    numbers = {"usual_transactions": usual.transactions, "slow_transactions": slow.transactions}
    components = contributions(_totals(sides[False]), _totals(sides[True]))
    targets = _drilled(run(engine, "why_targets", **asked, **numbers, limit=MOST_TARGETS), usual, slow)
    statements = _drilled(run(engine, "why_statements", **asked, **numbers, limit=MOST_STATEMENTS), usual, slow)
    losers = [_losers(row) for row in run(engine, "why_lost_lookups", **asked)]
    causes = cause.find(components, targets, statements, calls_per_lost_lookup(losers))

    judged = _judged(engine, asked, compared, usual, slow, components)
    verdict = _verdict(compared, usual, slow, judged)
    classes = statuses.by_status(run(engine, "why_statuses", **asked))
    is_mix_changed = statuses.is_worth_saying(classes, usual.mean_ns)
    said = _said(name, verdict, judged, usual, slow, components, causes, targets, classes if is_mix_changed else ())
    return Why(
        service=service,
        name=name,
        verdict=verdict,
        headline=" ".join(said[:2]),
        sentences=said,
        slowest_percent=compared.slowest_percent,
        threshold_ns=threshold_ns,
        usual=usual,
        slow=slow,
        difference_ns=slow.mean_ns - usual.mean_ns,
        p_value=judged.times.p_value if judged else None,
        calls_p_value=judged.calls.p_value if judged else None,
        drift_ns=judged.times.drift_ns if judged else None,
        low_ns=judged.times.low_ns if judged else None,
        high_ns=judged.times.high_ns if judged else None,
        components=components,
        targets=targets,
        statements=statements,
        usual_examples=_examples(engine, kind, compared.usual, usual, 0, (threshold_ns or _LONGEST_NS) - 1),
        slow_examples=_examples(engine, kind, compared.slow, slow, threshold_ns, _LONGEST_NS),
        statuses=classes,
        is_mix_changed=is_mix_changed,
    )


def _windows(compared: Comparison) -> dict[str, int]:
    return {
        "slow_start_ns": compared.slow.start_ns,
        "slow_end_ns": compared.slow.end_ns,
        "usual_start_ns": compared.usual.start_ns,
        "usual_end_ns": compared.usual.end_ns,
    }


def _kind(
    engine: Engine, written: str, service: str, compared: Comparison, windows: Mapping[str, int]
) -> tuple[str, str]:
    """The name, and the one service that has this kind on both sides."""
    rows = known.kind(engine, written, service, windows)
    name = str(rows[0].get("name", written))
    on_both = [row for row in rows if row["slow"] and row["usual"]]
    if len(on_both) > 1:
        services = ", ".join(printable(str(row["service"])) for row in on_both)
        raise BadParameter("service", f"{_quoted(name)} is a kind of several services: {services}", "say --service")
    if on_both:
        return name, str(on_both[0]["service"])
    if compared.slowest_percent is not None or not any(row["slow"] for row in rows):
        window, where = compared.slow, "since" if compared.slowest_percent is not None else "during"
    else:
        window, where = compared.usual, "against"
    raise NotStored(
        where,
        f"no transaction {_quoted(name)} started between {iso(window.start_ns)} and {iso(window.end_ns)}",
        "choose another time: transactions count where they started",
    )


def _population(row: Row, window: Window) -> Population:
    p50, p95, p99 = (round(value) for value in row["percentiles_ns"])
    return Population(
        since=iso(window.start_ns),
        until=iso(window.end_ns),
        transactions=int(row["transactions"]),
        errors=int(row["errors"]),
        total_ns=int(row["total_ns"]),
        mean_ns=int(row["total_ns"]) / int(row["transactions"]),
        p50_ns=p50,
        p95_ns=p95,
        p99_ns=p99,
        max_ns=int(row["max_ns"]),
        cpu_ns=row["cpu_mean_ns"],
        other_on_cpu_least_ns=row["other_on_cpu_least_ns"],
        other_on_cpu_most_ns=row["other_on_cpu_most_ns"],
        queue_ns=row["queue_mean_ns"],
    )


_SUMMED = ("calls", "time_ns", "errors", "hits", "misses")


def _totals(row: Row) -> Totals:
    components = {
        name: Sums(**{counter: counters.get(counter, 0) for counter in _SUMMED})
        for name, counters in counters_by_component(row).items()
    }
    return Totals(int(row["transactions"]), int(row["total_ns"]), int(row["other_total_ns"]), components)


def _drilled(rows: Sequence[Row], usual: Population, slow: Population) -> tuple[Contribution, ...]:
    def sums(row: Row, side: str) -> Sums:
        return Sums(**{counter: int(row.get(f"{side}_{counter}", 0)) for counter in _SUMMED})

    return tuple(
        contribution(
            sums(row, "usual"),
            usual.transactions,
            sums(row, "slow"),
            slow.transactions,
            component=row.get("component", ""),
            address=row.get("address", ""),
            statement=row.get("statement", ""),
        )
        for row in rows
    )


def _judged(
    engine: Engine,
    asked: Mapping[str, str | int],
    compared: Comparison,
    usual: Population,
    slow: Population,
    components: Sequence[Contribution],
) -> Judged | None:
    """What chance says of the times, and of the calls alone: what they would have taken at their usual speed."""
    if compared.slowest_percent is not None or min(usual.transactions, slow.transactions) < chance.FEWEST:
        return None
    held = chance.transactions_per_block(usual.transactions, slow.transactions)
    cut: dict[str, int] = {}
    for side, window, population in (("usual", compared.usual, usual), ("slow", compared.slow, slow)):
        blocks = max(population.transactions // held, 1)
        cut[f"{side}_block_ns"] = max((window.end_ns - window.start_ns) // blocks, 1)
        cut[f"{side}_every"] = math.ceil(blocks / chance.MOST_BLOCKS)
    rows = run(engine, "why_blocks", **asked, **cut)
    if len({row["is_slow"] for row in rows}) < 2:  # all of a burst fell between the stretches that were looked at
        rows = run(engine, "why_blocks", **asked, **{**cut, "usual_every": 1, "slow_every": 1})
    per_call_ns = {each.component: each.usual.per_call_ns or each.slow.per_call_ns or 0.0 for each in components}
    times: tuple[list[Block], list[Block]] = ([], [])
    calls: tuple[list[Block], list[Block]] = ([], [])
    for row in rows:
        counted = counters_by_component(row)
        expected_ns = sum(each.get("calls", 0) * per_call_ns.get(name, 0.0) for name, each in counted.items())
        times[bool(row["is_slow"])].append(Block(int(row["transactions"]), int(row["total_ns"])))
        calls[bool(row["is_slow"])].append(Block(int(row["transactions"]), round(expected_ns)))
    return Judged(chance.judge(*times), chance.judge(*calls))


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
    engine: Engine, kind: Mapping[str, str], window: Window, population: Population, least_ns: int, most_ns: int
) -> tuple[Example, ...]:
    asked = {"start_ns": window.start_ns, "end_ns": window.end_ns, "least_ns": least_ns, "most_ns": most_ns}
    return tuple(
        Example(row["trace"], iso(int(row["started_ns"])), int(row["duration_ns"]), row["kept"])
        for row in run(engine, "why_examples", **kind, **asked, mean_ns=population.mean_ns)
    )


def _said(
    name: str,
    verdict: Verdict,
    judged: Judged | None,
    usual: Population,
    slow: Population,
    components: Sequence[Contribution],
    causes: Sequence[cause.Cause],
    targets: Sequence[Contribution],
    mixed: Sequence[StatusClass],
) -> tuple[str, ...]:
    """The sentences; `mixed` are the classes of statuses when their mix changed."""
    said = [sentences.headline(shown(name), verdict, judged.times if judged else None, usual, slow)]
    if mixed:
        said.append(sentences.of_statuses(mixed, slow.mean_ns - usual.mean_ns))
    if verdict != "chance" and not (mixed and statuses.is_all_of_it(mixed, slow.mean_ns - usual.mean_ns)):
        if factor := cause.everything_is_slower(components):
            said.append(sentences.of_everything(factor))
        else:
            said += sentences.of_causes(causes, usual, slow)
    carried = {each.part.component for each in causes} if verdict != "chance" else set()
    said += [sentences.of_failing(each) for each in cause.failing(targets)[:3] if each.component not in carried]
    if judged and verdict == "different" and judged.times.explains_it:
        said.append(sentences.of_calls_alone(judged.times, judged.calls))
    return tuple(each for each in [*said, sentences.of_queue(usual, slow)] if each)


def _losers(row: Row) -> Losers:
    calls = {name: counters.get("calls", 0) for name, counters in counters_by_component(row).items()}
    return Losers(bool(row["is_slow"]), int(row["lost"]), int(row["transactions"]), calls)


def _quoted(text: str) -> str:
    return f"'{shown(text)}'"
