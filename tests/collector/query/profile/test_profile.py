"""`walltime profile`: the kind's bill, split by the stacks that were sampled, and the files of other programs."""

from __future__ import annotations

import gzip
import io
import json
import math
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from walltime.core import components
from walltime_collector.cli.profile.pprof import PprofProfile, pprof_file
from walltime_collector.cli.profile.speedscope import speedscope_file
from walltime_collector.cli.profile.text import render
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import BadParameter, NotStored
from walltime_collector.query.components import CONTAINERS
from walltime_collector.query.profile import profile as profiling
from walltime_collector.query.profile.answer import Part, Profile
from walltime_collector.query.profile.profile import coverage, profile
from walltime_collector.query.profile.tree import Node, paths, tree
from walltime_collector.query.sampling import by_line, sampled, share_interval
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.query.showing import make
from tests.collector.traffic import MS, SAMPLE_NS, Sent, SentCall, SentSample, Value

JSON = SentSample(
    "shop/serializers.py:88",
    "to_json",
    4,
    "view",
    "json.encoder.iterencode",
    "computing",
    "page (shop/views.py:12);to_json (shop/serializers.py:88);iterencode (json/encoder.py:257)",
)
LOCK = SentSample(
    "shop/locks.py:7",
    "wait",
    2,
    "other",
    "_thread.lock.acquire",
    "lock",
    "page (shop/views.py:12);wait (shop/locks.py:7)",
)
NO_LINE = SentSample("", "", 1, "other", "", "gil", "")
UNBILLED = SentSample("shop/tasks.py:3", "run", 1, "auth", "", "computing", "run (shop/tasks.py:3)")


def page(started_ns: int, samples: list[SentSample], name: str = "GET /page", **fields: Any) -> Sent:
    """100 ms: 20 in MySQL, 50 in the view, 30 in `other`."""
    target: dict[str, Value] = {"server.address": "db", "server.port": 3306}
    calls = [
        SentCall("mysql.query", MS, 20 * MS, {**target, "db.query.text": "SELECT 1"}),
        SentCall("view", 22 * MS, 50 * MS),
    ]
    sent = make(name, duration_ns=100 * MS, started_ns=started_ns, calls=calls, samples=samples)
    return replace(sent, **fields)


@pytest.fixture(scope="module")
def scope(store: Store) -> Scope:
    """Three minutes, the first and the last in part, of one kind of two services and another kind."""
    start_ns = (time.time_ns() // MINUTE_NS - 5) * MINUTE_NS + MINUTE_NS // 2
    samples = [[replace(JSON, count=2), NO_LINE, UNBILLED], [JSON, LOCK]]
    every = [page(start_ns + at * 3_000_000_000, samples[at % 2]) for at in range(60)]
    every += [page(each.started_ns, [LOCK], version="2") for each in every[::6]]
    store(
        [
            *every,
            page(start_ns, [LOCK] * 3, "GET /else"),
            page(start_ns, [JSON], "GET /both"),
            page(start_ns, [JSON], "GET /both", service="web"),
            page(start_ns, [], "GET /none"),
        ]
    )
    return Scope(Window(start_ns, start_ns + 3 * MINUTE_NS), Filters(service="shop", kind="GET /page"))


@pytest.fixture(scope="module")
def whole(engine: Engine, scope: Scope) -> Profile:
    return profile(engine, scope)


def render_text(of: Profile, width: int = 100, limit: int = 20) -> str:
    console = Console(width=width, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(render(of, console, limit))
    return capture.get()


def test_the_samples_are_those_of_the_transactions_in_whole_minutes_and_beside_them(whole: Profile) -> None:
    assert (whole.transactions, whole.total_ns) == (70, 70 * 100 * MS)
    assert {each.line: (each.component, each.samples, each.state) for each in whole.lines} == {
        JSON.line: ("view", 30 * 4 + 30 * 2, "computing"),
        LOCK.line: ("other", 40 * 2, "lock"),
        "": ("other", 30, "gil"),
        UNBILLED.line: ("other", 30, "computing"),  # `auth` is on no bill, so its time is in `other`
    }
    assert sum(each.samples for each in whole.stacks) == sum(each.samples for each in whole.lines)
    for each in whole.lines:
        assert each.time_ns == each.samples * SAMPLE_NS
        assert each.error_ns == round(each.time_ns / math.sqrt(each.samples))


@pytest.mark.parametrize("filters", [{"version": "2"}, {"where": "version = 2"}, {"host": "web-1"}])
def test_a_part_of_the_transactions_has_its_own_samples(engine: Engine, scope: Scope, filters: dict[str, str]) -> None:
    answer = profile(engine, replace(scope, filters=replace(scope.filters, **filters)))
    assert answer.transactions == (70 if "host" in filters else 10)
    assert sum(each.samples for each in answer.lines) == (320 if "host" in filters else 20)


def test_the_paths_add_up_to_the_kinds_time_and_so_does_every_branch_of_the_tree(whole: Profile) -> None:
    times: Counter[str] = Counter()
    for path in paths(whole):
        assert path.time_ns > 0
        times[path.frames[0]] += path.time_ns
    assert times == {each.name: each.time_ns for each in whole.parts}
    assert sum(times.values()) == whole.total_ns + whole.overlap_ns

    def check(node: Node) -> None:
        if node.children:
            assert node.time_ns == sum(each.time_ns for each in node.children.values())
        for each in node.children.values():
            check(each)

    check(tree(whole))


def test_samples_that_stand_for_more_than_the_bill_are_scaled_down_to_it(engine: Engine, store: Store) -> None:
    started_ns = time.time_ns() - MINUTE_NS
    store([page(started_ns + at, [replace(JSON, count=7), replace(LOCK, count=3)], "GET /more") for at in range(9)])
    answer = profile(engine, Scope(Window(started_ns, started_ns + MINUTE_NS), Filters(kind="GET /more")))
    parts = {each.name: each for each in answer.parts}
    assert parts["view"].sampled_ns == pytest.approx(parts["view"].time_ns, abs=9) == 9 * 50 * MS
    assert sum(path.time_ns for path in paths(answer)) == answer.total_ns
    assert parts["other"].sampled_ns == 9 * 3 * SAMPLE_NS


def test_one_state_alone(engine: Engine, scope: Scope, whole: Profile) -> None:
    answer = profile(engine, scope, state="lock")
    assert [each.line for each in answer.lines] == [LOCK.line]
    assert (answer.parts, answer.coverage) == (whole.parts, whole.coverage)
    assert sum(path.time_ns for path in paths(answer)) == whole.total_ns


def test_stacks_beyond_the_limit_are_in_the_rest(
    engine: Engine, scope: Scope, whole: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiling, "MAX_STACKS", 1)
    answer = profile(engine, scope)
    assert {each.name: each.samples for each in answer.parts} == {each.name: each.samples for each in whole.parts}
    assert "(other)" in {each.line for each in answer.lines}
    assert answer.coverage == whole.coverage  # what is beyond the limit has no line of its own


def test_coverage_is_the_time_of_components_and_of_named_lines(whole: Profile) -> None:
    # 20 ms of MySQL; 180 samples for the 3.5 s of the view; of 140 for the 2.1 s of `other` 110 have a line
    view_ns = 1_800 * MS * (1 + 2 / math.sqrt(180))
    other_ns = 1_400 * MS * (1 + 2 / math.sqrt(140)) * 110 / 140
    assert whole.coverage.share == pytest.approx((1_400 * MS + view_ns + other_ns) / (7_000 * MS))
    assert whole.coverage.low < whole.coverage.share < whole.coverage.high < 1


@pytest.mark.parametrize(
    ("samples", "named", "least", "most"),
    [(0, 0, 0.0, 0.0), (100, 100, 1.0, 1.0), (90, 90, 1.0, 1.0), (50, 50, 0.6, 0.7), (100, 50, 0.5, 0.5)],
)
def test_a_container_is_covered_as_far_as_its_samples_have_lines(
    samples: int, named: int, least: float, most: float
) -> None:
    stacks = [
        sampled(("other", line, "", "", "computing", ""), count, count * SAMPLE_NS)
        for line, count in (("a.py:1", named), ("", samples - named))
        if count
    ]
    part = Part("other", 0, 100 * SAMPLE_NS, True, samples, samples * SAMPLE_NS)
    assert least <= coverage([part], stacks).share <= most
    assert coverage([part, Part("mysql.query", 1, 100 * SAMPLE_NS, False, 0, 0)], stacks).share >= 0.5 + least / 2


def test_wilsons_interval_holds_the_share_and_shrinks() -> None:
    assert share_interval(0, 0) == (0, 1)
    for whole in (1, 2, 7, 100, 10_000):
        for part in {0, 1, whole // 3, whole - 1, whole}:
            low, high = share_interval(part, whole)
            assert 0 <= low <= part / whole <= high <= 1
            assert low < high
            assert share_interval(whole - part, whole) == pytest.approx((1 - high, 1 - low))
            wider = share_interval(part * 4, whole * 4)
            assert wider[1] - wider[0] < high - low
    assert share_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)  # Wilson 1927, by hand


def test_the_tree_is_printed_with_times_of_components_and_estimates_of_lines(whole: Profile) -> None:
    text = render_text(whole)
    assert "GET /page  shop   70 transactions, 7.00 s" in text
    assert "from 320 samples" in text
    for row in (
        "       3.50 s  50.0 %  view",
        "1.80 ± 0.13 s  25.7 %    page (shop/views.py:12)",
        "2.10 s  30.0 %  other",
        "800 ± 89 ms  11.4 %    page (shop/views.py:12)",
        "1.40 s  20.0 %  mysql.query",
        "to_json (shop/serializers.py:88)",
        "  json.encoder.iterencode",
        "(not sampled)",
        "(waiting for a lock)",
    ):
        assert row in text, text
    assert "json/encoder.py" not in text


def test_the_speedscope_file_has_what_its_schema_requires_and_adds_up(whole: Profile) -> None:
    document = json.loads(speedscope_file(whole))
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames, (of,) = document["shared"]["frames"], document["profiles"]
    assert all(isinstance(each["name"], str) for each in frames)
    assert {"name": "to_json", "file": "shop/serializers.py", "line": 88} in frames
    assert set(of) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
    assert (of["type"], of["unit"], of["startValue"]) == ("sampled", "nanoseconds", 0)
    assert len(of["samples"]) == len(of["weights"])
    assert sum(of["weights"]) == of["endValue"] == whole.total_ns
    assert {frames[each[0]]["name"] for each in of["samples"]} == {each.name for each in whole.parts}
    assert all(0 <= frame < len(frames) for each in of["samples"] for frame in each)


def test_the_pprof_file_is_read_back_with_the_same_sums(whole: Profile) -> None:
    made = PprofProfile.FromString(gzip.decompress(pprof_file(whole)))
    texts = list(made.string_table)
    assert texts[0] == ""
    assert [(texts[each.type], texts[each.unit]) for each in made.sample_type] == [
        ("samples", "count"),
        ("time", "nanoseconds"),
    ]
    assert sum(each.value[0] for each in made.sample) == 320
    assert sum(each.value[1] for each in made.sample) == whole.total_ns
    functions = {each.id: (texts[each.name], texts[each.filename]) for each in made.function}
    lines = {each.id: (*functions[each.line[0].function_id], each.line[0].line) for each in made.location}
    stacks = {tuple(lines[at] for at in each.location_id) for each in made.sample}
    assert (
        ("iterencode", "json/encoder.py", 257),
        ("to_json", "shop/serializers.py", 88),
        ("page", "shop/views.py", 12),
        ("view", "", 0),
    ) in stacks
    assert {texts[label.str] for each in made.sample for label in each.label} == {"computing", "lock", "gil"}


def test_what_cannot_be_profiled_is_refused(engine: Engine, scope: Scope) -> None:
    with pytest.raises(BadParameter, match="several services"):
        profile(engine, replace(scope, filters=Filters(kind="GET /both")))
    with pytest.raises(NotStored, match="no transaction"):
        profile(engine, replace(scope, filters=Filters(kind="GET /nowhere")))
    with pytest.raises(NotStored, match="of this time"):
        profile(engine, replace(scope, window=Window(0, 10**9)))
    none = profile(engine, replace(scope, filters=Filters(kind="GET /none")))
    assert (none.lines, none.coverage.share) == ((), 0.2)
    assert "No stack was sampled" in render_text(none)


def test_the_containers_are_those_of_the_sdk() -> None:
    assert components.CONTAINERS | {"other"} == CONTAINERS


def deep(at: int, frames: int = 30) -> str:
    """A stack of a request: what the server called, then functions that differ from sample to sample."""
    outer = [f"serve (server/{n}.py:{n})" for n in range(6)]
    return ";".join(outer + [f"step{at}_{n} (shop/deep{at % 7}.py:{100 * at + n})" for n in range(frames - len(outer))])


def profile_of(stacks: list[str]) -> Profile:
    """A second of `other`, in which each stack was seen once."""
    every = []
    for stack in stacks:
        function, _, line = stack.rpartition(";")[2].removesuffix(")").partition(" (")
        every.append(sampled(("other", line, function, "", "computing", stack), 1, SAMPLE_NS))
    time_ns = len(every) * SAMPLE_NS
    part = Part("other", 0, time_ns, True, len(every), time_ns)
    return Profile(
        "shop", "GET /deep", "", "", 1, time_ns, 0, "", (part,), coverage([part], every), by_line(every), tuple(every)
    )


def test_few_samples_of_deep_stacks_print_few_rows_and_all_of_their_time() -> None:
    of = profile_of([deep(at) for at in range(76)])
    text = render_text(of, width=160)
    rows = text.splitlines()
    assert len(rows) < 110  # of 1,800 frames that differ; a branch of a chain has at most four rows
    assert "(56 more lines: --limit 76)" in text
    assert "(57 smaller ones)" in text
    assert "(21 frames)" in text
    tree_rows = rows[rows.index(next(row for row in rows if row.rstrip().endswith("%  other"))) :]
    assert len([row for row in tree_rows if "±" in row]) == 20 + 1  # the frame that all have, 19 below it, and the rest
    assert len(render_text(replace(of, lines=()), 160).splitlines()) < len(rows)
    numbers = {limit: len(render_text(of, 160, limit).splitlines()) for limit in (1, 5, 76)}
    assert numbers[1] < numbers[5] < numbers[76]


def test_a_tree_begins_at_its_component_and_cut_stacks_have_one_root() -> None:
    ends = ["a (shop/a.py:1);b (shop/b.py:2)", "a (shop/a.py:1);c (shop/c.py:3)"]
    outer = "serve (server.py:1);dispatch (server.py:2);page (shop/views.py:9)"
    cut = [f"outer{at} (server.py:{at});…;{ends[at % 2]}" for at in range(4)]
    root = tree(profile_of([f"{outer};{end}" for end in ends] + cut))
    other = root.children["other"]
    assert set(other.children) == {"a (shop/a.py:1)", "…"}
    assert {name: node.samples for name, node in other.children["…"].children["a (shop/a.py:1)"].children.items()} == {
        "b (shop/b.py:2)": 2,
        "c (shop/c.py:3)": 2,
    }


def test_lines_come_first_the_most_time_first(whole: Profile) -> None:
    rows = render_text(whole).splitlines()
    first = next(at for at, row in enumerate(rows) if "shop/serializers.py:88 to_json" in row)
    assert (
        "1.80 ± 0.13 s  25.7 %  shop/serializers.py:88 to_json  computing in json.encoder.iterencode  view"
        in rows[first]
    )
    assert "shop/locks.py:7 wait  waiting for a lock" in rows[first + 1]
    assert first < next(at for at, row in enumerate(rows) if row.rstrip().endswith("%  view"))
