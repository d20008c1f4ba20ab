"""One answer, one story: the command, the page and programs have the same rows, and every sentence can be checked."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest
from rich.console import Console
from walltime_collector.cli.why import render
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.conversion import from_json
from walltime_collector.errors import StatementRefused
from walltime_collector.pages.drawing.waterfall import waterfall
from walltime_collector.query.why import wording
from walltime_collector.query.why.answer import Singles, Why
from walltime_collector.query.why.explain import explain
from walltime_collector.query.why.finding import Evidence, Finding
from walltime_collector.query.why.values import Mix, Stratum
from walltime_collector.query.windows import Comparison, Window
from walltime_collector.sql.runner import QueryRunner

from tests.collector.query.why import evidence
from tests.collector.simulated_shop import MINUTE_NS, USUAL, Page, simulate

NAME, STALLED, MS, HALF_NS = "GET /product/{id}", "GET /search", 1e6, 15 * MINUTE_NS
MEANS = (
    "SELECT if(started_at >= fromUnixTimestamp64Nano({at}, 'UTC'), 'slow', 'usual') AS side, count() AS transactions,"
    " avg(duration_ns) AS mean_ns FROM transactions WHERE name = 'GET /product/{{id}}' GROUP BY side ORDER BY side"
)
"""Ours, for the test: whatever the sentences of an answer are."""


@pytest.fixture(scope="module")
def middle_ns(engine: Engine) -> int:
    """Half an hour in which a cache loses its values half way; another kind gets slower, and has two long stalls."""
    assert isinstance(engine, EmbeddedEngine)
    at_ns = time.time_ns() // MINUTE_NS * MINUTE_NS - HALF_NS
    for seed, page, from_ns in ((1, USUAL, at_ns - HALF_NS), (2, Page(hits_1=0.12), at_ns)):
        simulate(engine, page, seed=seed, transactions=900, from_ns=from_ns, length_ns=HALF_NS)
        slower = Page(slowness=seed)
        simulate(engine, slower, seed=seed + 2, transactions=600, from_ns=from_ns, length_ns=HALF_NS, name=STALLED)
    stalls = Page(slowness=5_000)
    simulate(engine, stalls, seed=5, transactions=2, from_ns=at_ns, length_ns=HALF_NS, name=STALLED)
    return at_ns


def halves(middle_ns: int) -> Comparison:
    return Comparison(Window(middle_ns, middle_ns + HALF_NS), Window(middle_ns - HALF_NS, middle_ns))


@pytest.fixture(scope="module")
def why(engine: Engine, middle_ns: int) -> Why:
    before, after = (
        Window(start_ns, start_ns + 15 * MINUTE_NS) for start_ns in (middle_ns - 15 * MINUTE_NS, middle_ns)
    )
    answer = explain(engine, NAME, Comparison(after, before))
    sql = MEANS.format(at=middle_ns)
    numbers = {"slow_mean_ns": answer.slow.mean_ns, "usual_transactions": float(answer.usual.transactions)}
    traces = tuple(each.trace_id for each in answer.slow_examples)
    checked = Finding("component", answer.sentences[1], evidence=Evidence(sql, numbers, traces))
    return replace(answer, findings=(checked,))


@pytest.fixture
def runner(engine: Engine) -> Iterator[QueryRunner]:
    running = QueryRunner(engine, "walltime")
    yield running
    running.close()


def terminal(why: Why, width: int, *, in_colour: bool = False, has_evidence: bool = False) -> str:
    console = Console(
        width=width, file=io.StringIO(), force_terminal=in_colour, color_system="truecolor" if in_colour else None
    )
    with console.capture() as capture:
        console.print(render(why, console, has_evidence=has_evidence), crop=False)
    return capture.get()


def with_everything(why: Why) -> Why:
    """Also a changed mix and single transactions, which are parts of the difference."""
    singles = Singles(10**9, 0, 3, 0.0, 4 * MS, 4 * MS, None, True, "", "", "", (), ("ab" * 16,))
    more_ns = 4 * MS - 1.2 * MS
    slow = replace(why.slow, mean_ns=why.slow.mean_ns + more_ns)
    strata = tuple(Stratum(value, 9, 9, 0.5, 0.5, 4 * MS, 5 * MS, -0.6 * MS, 0.5 * MS) for value in ("2xx", ""))
    mix = Mix("status", strata, -1.2 * MS, MS, 1e-9, part_ns=-1.2 * MS)
    answer = replace(why, mix=mix, singles=singles, slow=slow)
    answer = replace(answer, difference_ns=why.difference_ns + more_ns)
    return replace(answer, shown=wording.shown(answer))


def test_the_parts_add_up_from_one_mean_to_the_other(why: Why) -> None:
    for answer in (why, with_everything(why)):
        first, *parts, last = answer.shown.parts.rows
        assert (first.label, last.label) == ("usual", "selected")
        assert sum(each.difference_ns for each in parts) == pytest.approx(answer.difference_ns, abs=10)
        assert last.difference_ns == answer.difference_ns
        fall = waterfall(answer)
        assert fall.steps[-1].end == pytest.approx(fall.steps[-2].end, abs=0.3)
    labels = [each.label for each in with_everything(why).shown.parts.rows]
    assert labels[:3] == ["usual", "mix of statuses", "mysql.query"]
    by_status = next(each for each in with_everything(why).shown.tables if each.title == "by status")
    assert [(each.label, each.cells["mix"]) for each in by_status.rows] == [
        ("2xx", "−600 µs"),
        ("the others", "−600 µs"),
    ]
    assert labels[-2:] == ["3 single transactions", "selected"]


def test_single_transactions_do_not_hide_the_other_parts(why: Why) -> None:
    alike = with_everything(why)
    singles = replace(alike.singles, part_ns=5_000 * MS) if alike.singles else None
    long = replace(alike, singles=singles, difference_ns=why.difference_ns + 5_000 * MS)
    long = replace(long, slow=replace(why.slow, mean_ns=why.usual.mean_ns + long.difference_ns))
    long = replace(long, mix=None, shown=wording.shown(replace(long, mix=None)))
    *steps, cut, last = waterfall(long).steps
    assert (cut.row.is_cut, cut.end, last.end) == (True, 1_000, 1_000)
    assert max(each.end - each.start for each in steps) > 150
    shown = terminal(long, 140)
    assert re.search(r"^  mysql.query +\S+ ms +[ms]{20,}", shown, re.MULTILINE)
    assert re.search(r"^  3 single transactions +\+5.00 s +-{20,}>", shown, re.MULTILINE)
    nothing = replace(long, typical_ns=0.0)
    assert not wording.shown(nothing).parts.rows[-2].is_cut  # there is nothing else to see


def test_small_parts_are_one_row_that_names_them(why: Why) -> None:
    large = replace(why.components[0], difference_ns=100 * MS)
    small = [replace(large, component=f"small.{at}", difference_ns=at * MS) for at in range(4)]
    rows = wording.shown(replace(why, components=(large, *small))).parts.rows
    assert [(each.label, each.cells["difference"]) for each in rows[1:-1]] == [
        ("mysql.query", "+100 ms"),
        ("small.3", "+3.00 ms"),
        ("2 smaller parts", "+3.00 ms"),
    ]
    assert rows[3].also == ("small.1", "small.2")
    (alone,) = (each for each in wording.shown(replace(why, components=(large, small[1]))).parts.rows[2:-1])
    assert alone.label == "small.1"


@pytest.mark.parametrize(
    ("compared", "names"),
    [
        ({}, ("usual", "selected")),
        ({"slowest_percent": 5.0}, ("the others", "the slowest")),
        ({"when": "version = 2"}, ("the others", "those that match")),
    ],
)
def test_the_two_groups_have_one_name_each(why: Why, compared: dict[str, str], names: tuple[str, str]) -> None:
    answer = replace(why, **compared)  # type: ignore[arg-type]  # its own fields
    answer = replace(answer, shown=wording.shown(answer))
    assert (answer.shown.usual, answer.shown.slow) == names
    assert (answer.shown.parts.rows[0].label, answer.shown.parts.rows[-1].label) == names
    shown = terminal(answer, 140)
    for name in names:
        assert len(re.findall(rf"^  {name}  ", shown, re.MULTILINE)) == 3  # what is compared, a mean, examples
    assert not re.search(r"^  (against|during)\b", shown, re.MULTILINE)


@pytest.mark.parametrize("width", [80, 140])
def test_the_command_has_the_rows_of_programs_in_their_order(why: Why, width: int) -> None:
    answer = with_everything(from_json(Why, json.loads(json.dumps(asdict(why)))))
    shown = terminal(answer, width)
    at = 0
    for table in (answer.shown.parts, *answer.shown.tables):
        at = shown.index(f"\n{table.title}\n", at)
        for row in table.rows:
            at = shown.index(f"\n  {row.label[:20]}", at) + 1
            block = shown[at : at + 10 * width].split("\n\n")[0]
            for heading, text in row.cells.items():
                assert text in block or heading in ("more calls", "slower calls")
        assert table.note in shown


def test_lost_hits_and_failing_calls_are_marked(why: Why) -> None:
    servers = next(each for each in why.shown.tables if each.title == "by server")
    faults = {(each.component, each.address): each.faults for each in servers.rows if each.faults}
    assert faults == {("memcache.get", "127.0.0.1:11211"): ("hits",)}
    part = why.components[0]
    failing = replace(part, address="db", slow=replace(part.slow, errors=900), usual=replace(part.usual, errors=0))
    (row,) = wording.shown(replace(why, targets=(failing,))).tables[0].rows
    assert row.cells["failed calls"].startswith("0 % → ")
    assert row.faults == ("failed calls",)


def test_the_evidence_of_a_sentence_is_a_statement_that_everybody_can_run(why: Why, runner: QueryRunner) -> None:
    assert evidence.check(runner, why) == 1


def test_all_evidence_of_an_answer_holds(engine: Engine, runner: QueryRunner, middle_ns: int) -> None:
    """Whatever the findings are."""
    whole = Window(middle_ns - HALF_NS, middle_ns + HALF_NS)
    slowest, matching = Comparison(whole, whole, 5.0), Comparison(whole, whole, when="duration > 5ms")
    questions = ((NAME, halves(middle_ns)), (STALLED, halves(middle_ns)), (STALLED, slowest), (NAME, matching))
    checked = sum(evidence.check(runner, explain(engine, name, compared)) for name, compared in questions)
    assert checked


@pytest.mark.parametrize("change", ["number", "column", "sides", "write"])
def test_evidence_that_does_not_hold_is_found(why: Why, runner: QueryRunner, change: str) -> None:
    finding = why.findings[0]
    assert finding.evidence
    sql, numbers = finding.evidence.sql, dict(finding.evidence.numbers)
    if change == "number":
        numbers["slow_mean_ns"] *= 1.00001
    elif change == "column":
        numbers["slow_p99_ns"] = 1.0
    elif change == "sides":
        sql = sql.replace("'usual'", "'against'")
    else:
        sql = "DROP TABLE transactions"
    wrong = replace(finding, evidence=Evidence(sql, numbers))
    with pytest.raises(StatementRefused if change == "write" else AssertionError):
        evidence.check(runner, replace(why, findings=(wrong,)))


def test_evidence_is_printed_below_its_sentence_to_be_copied(why: Why) -> None:
    finding = why.findings[0]
    assert finding.evidence
    plain = terminal(why, 80, has_evidence=True)
    assert finding.evidence.sql in plain  # not broken, whatever the width
    assert plain.index("mysql.query: ") < plain.index(finding.evidence.sql) < plain.index("where the difference")
    for trace in finding.evidence.traces:
        assert f"\n    walltime show {trace}" in plain
    coloured = terminal(why, 80, in_colour=True, has_evidence=True)
    assert finding.evidence.sql not in coloured
    assert finding.evidence.sql in re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert "SELECT if(" not in terminal(why, 80)
