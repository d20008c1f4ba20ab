"""Which kinds take the time: what `top` says is what was sent."""

from __future__ import annotations

import io
import re
import time
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.color import Color, ColorSystem
from rich.console import Console
from walltime_collector.cli.drawing.bars import COLOURS, LETTERS
from walltime_collector.cli.top import render
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.format import iso_time
from walltime_collector.query.answers import RANKINGS, Kind, Ranking, Top
from walltime_collector.query.components import FAMILIES
from walltime_collector.query.top import top
from walltime_collector.query.transaction.show import show

from tests.collector.conftest import MINUTE_NS, Store, Stored
from tests.collector.traffic import MS, Sent, SentCall

HOUR_S = 3_600


def said(top: Top, width: int = 120) -> str:
    console = Console(width=width, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(render(top, console))
    return capture.get()


def test_every_kind_has_the_counts_and_times_that_were_sent(shop: Stored) -> None:
    expected: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0, 0]))
    durations: dict[tuple[str, str], list[int]] = defaultdict(list)
    for sent in shop.sent:
        durations[sent.service, sent.name].append(sent.duration_ns)
        for call in sent.calls:
            result = call.attributes.get("walltime.memcache.result")
            counted = (1, call.duration_ns, int(result == "hit"), int(result == "miss"))
            cell = expected[sent.service, sent.name][call.component]
            cell[:] = [a + b for a, b in zip(cell, counted, strict=True)]

    answer = top(shop.engine, since_s=HOUR_S)

    assert {(kind.service, kind.name) for kind in answer.kinds} == set(durations)
    for kind in answer.kinds:
        mine = durations[kind.service, kind.name]
        assert (kind.transactions, kind.total_ns, kind.max_ns) == (len(mine), sum(mine), max(mine))
        assert {each.name: [each.calls, each.time_ns, each.hits, each.misses] for each in kind.components} == expected[
            kind.service, kind.name
        ]
        for component in kind.components:
            assert component.calls_per_transaction == component.calls / len(mine)
            assert component.mean_ns == round(component.time_ns / len(mine))
    assert answer.transactions == len(shop.sent)
    assert answer.errors == sum(sent.is_error for sent in shop.sent)
    assert answer.total_ns == sum(map(sum, durations.values()))


def test_the_parts_of_every_kind_add_up_to_its_time_and_the_kinds_to_the_whole(shop: Stored) -> None:
    answer = top(shop.engine, since_s=HOUR_S)

    for kind in answer.kinds:
        assert sum(each.time_ns for each in kind.components) + kind.other_ns - kind.overlap_ns == kind.total_ns
        assert kind.overlap_ns == 0
    assert sum(kind.share for kind in answer.kinds) == pytest.approx(1)


def test_percentiles_are_those_of_the_durations_sent(shop: Stored) -> None:
    kind = top(shop.engine, since_s=HOUR_S, by="transactions").kinds[0]
    durations = sorted(sent.duration_ns for sent in shop.sent if (sent.service, sent.name) == (kind.service, kind.name))

    for part, estimate in ((0.50, kind.p50_ns), (0.95, kind.p95_ns), (0.99, kind.p99_ns)):
        below = sum(duration <= estimate for duration in durations) / len(durations)
        assert below == pytest.approx(part, abs=0.01)


@pytest.mark.parametrize("by", RANKINGS)
def test_the_ranking_is_by_the_requested_column(shop: Stored, by: Ranking) -> None:
    column = by if by in ("transactions", "errors") else f"{by}_ns"
    values = [getattr(kind, column) for kind in top(shop.engine, since_s=HOUR_S, by=by).kinds]

    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 1


def test_a_limit_leaves_the_totals_and_the_number_of_all_kinds(shop: Stored) -> None:
    whole = top(shop.engine, since_s=HOUR_S)
    first = top(shop.engine, since_s=HOUR_S, limit=2)

    assert [kind.name for kind in first.kinds] == [kind.name for kind in whole.kinds[:2]]
    assert (first.all_kinds, first.transactions, first.total_ns) == (6, whole.transactions, whole.total_ns)
    assert first.kinds[0].share == whole.kinds[0].share
    assert "4 more kinds" in said(first)


def test_one_service_is_selected_by_name_whatever_is_in_the_name(shop: Stored) -> None:
    assert {kind.service for kind in top(shop.engine, since_s=HOUR_S, service="ranker").kinds} == {"ranker"}
    assert top(shop.engine, since_s=HOUR_S, service="x' OR 1=1 --\\\n").kinds == ()


def test_only_what_started_since_then_counts(shop: Stored) -> None:
    answer = top(shop.engine, since_s=5 * 60)

    assert answer.transactions == sum(iso_time(sent.started_ns) >= answer.since for sent in shop.sent)
    assert 0 < answer.transactions < len(shop.sent)


def test_rates_are_per_minute_of_the_time_in_which_data_was_stored(shop: Stored) -> None:
    answer = top(shop.engine, since_s=24 * HOUR_S)
    stored_minutes = (time.time_ns() - min(sent.started_ns for sent in shop.sent)) / MINUTE_NS

    assert answer.window_s / 60 == pytest.approx(stored_minutes, rel=0.01)
    assert sum(kind.per_minute for kind in answer.kinds) == pytest.approx(len(shop.sent) / stored_minutes, rel=0.01)


def test_a_time_without_transactions_has_an_answer_without_kinds(shop: Stored) -> None:
    answer = top(shop.engine, since_s=HOUR_S, service="nobody")

    assert (answer.kinds, answer.transactions, answer.all_kinds) == ((), 0, 0)
    assert "Nothing is stored" in said(answer)


def test_the_picture_shows_every_kind_with_times_beside_calls_and_fits_every_width(shop: Stored) -> None:
    answer = top(shop.engine, since_s=HOUR_S)
    for width in (40, 60, 80, 111, 112, 120, 200):
        shown = said(answer, width)
        assert all(kind.name in shown for kind in answer.kinds)
        assert max(len(line.rstrip()) for line in shown.splitlines()) <= width
        assert "\x1b" not in shown
    assert re.search(r"mysql\.query [\d.]+ ms ×[\d.]+", said(answer))
    assert re.search(r"memcache\.get [\d.]+ (ms|µs) ×[\d.]+, \d+ % hit", said(answer))


def test_a_bar_is_split_like_the_time(shop: Stored) -> None:
    kind = next(kind for kind in top(shop.engine, since_s=HOUR_S).kinds if kind.name == "GET /rank")
    line = next(line for line in said(top(shop.engine, since_s=HOUR_S), 200).splitlines() if "GET /rank" in line)
    bar = line.split()[-1]

    sql = sum(each.time_ns for each in kind.components if each.name.startswith("mysql.")) / kind.total_ns
    assert set(bar) == {"m", "a", "."}
    assert bar.count("m") / len(bar) == pytest.approx(sql, abs=1.5 / len(bar))


@pytest.mark.parametrize("system", [ColorSystem.STANDARD, ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR])
def test_families_have_different_colours_with_16_256_and_all_colours(system: ColorSystem) -> None:
    assert set(COLOURS) == set(LETTERS) == set(FAMILIES)
    assert len({Color.parse(colour).downgrade(system) for colour in COLOURS.values()}) == len(FAMILIES)
    assert len(set(LETTERS.values())) == len(FAMILIES)


calls = st.lists(
    st.tuples(
        st.sampled_from(["mysql.query", "mysql.connect", "memcache.get", "http.request", "render", "(other)"]),
        st.integers(min_value=0, max_value=200 * MS),
    ),
    max_size=12,
)


@settings(max_examples=6, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bills=st.lists(st.tuples(st.integers(min_value=0, max_value=500 * MS), calls), min_size=1, max_size=8))
def test_any_bills_add_up_also_when_calls_overlap(
    engine: Engine, store: Store, bills: list[tuple[int, list[tuple[str, int]]]]
) -> None:
    name = f"GET /{time.time_ns()}"
    sent = [
        Sent(
            f"{time.time_ns():032x}",
            f"{at + 1:016x}",
            name,
            time.time_ns(),
            duration_ns,
            service="bills",
            calls=[SentCall(component, 0, took_ns) for component, took_ns in each],
        )
        for at, (duration_ns, each) in enumerate(bills)
    ]
    store(sent)

    kind: Kind = next(kind for kind in top(engine, since_s=HOUR_S, limit=1000).kinds if kind.name == name)
    components_ns = sum(component.time_ns for component in kind.components)
    assert components_ns == sum(took_ns for _, each in bills for _, took_ns in each)
    assert components_ns + kind.other_ns - kind.overlap_ns == kind.total_ns == sum(ns for ns, _ in bills)
    assert kind.other_ns >= 0

    for transaction in sent:
        trace = show(engine, transaction.trace_id)
        assert trace is not None
        bill = next(bill for bill in trace.transactions if bill.span_id == transaction.span_id)
        parts_ns = sum(component.time_ns for component in bill.components)
        assert parts_ns + bill.other_ns - bill.overlap_ns == bill.duration_ns == transaction.duration_ns
        assert bill.overlap_ns == max(parts_ns - transaction.duration_ns, 0)
