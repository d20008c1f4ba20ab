"""Answers that are given again: only to statements that round their time, only within the step, and never for long."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import QueryFailed
from walltime_collector.sql.answers import Answers, Result
from walltime_collector.sql.runner import QueryRunner

from tests.dashboards.made_up import insert, transaction

AT_S = 1_764_180_000
ROUNDED = "SELECT intDiv(toUnixTimestamp((toDateTime({}))), 10) * 10"


@dataclass
class Asked:
    """Answers, and how often one was asked for."""

    now_s: float = 0.0
    times: int = 0
    answers: Answers = field(init=False)

    def __post_init__(self) -> None:
        self.answers = Answers(lambda: self.now_s)

    def again(self, sql: str, given: object = (), content: bytes = b"") -> bool:
        """Whether the answer was asked for."""

        def ask() -> Result:
            self.times += 1
            return Result(content, "Native")

        before = self.times
        self.answers.answer(sql, given, ask)
        return self.times > before


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_two_seconds_of_a_step_have_one_answer_and_the_next_step_another(asked: Asked) -> None:
    assert [asked.again(ROUNDED.format(AT_S + second)) for second in (0, 9, 3, 10, 19)] == [
        *(True, False, False, True, False),
    ]


def test_an_answer_is_as_old_as_the_step_at_most(asked: Asked) -> None:
    statement = ROUNDED.format(AT_S)
    for now_s, is_new in ((0, True), (9.9, False), (10, True), (19.9, False), (20, True)):
        asked.now_s = now_s
        assert asked.again(statement) is is_new
    assert asked.again(statement.replace(", 10)", ", 2)"))
    asked.now_s = 22
    assert asked.again(statement.replace(", 10)", ", 2)"))


@pytest.mark.parametrize("other", ["5 * 10", "10 * 10, 1", "10 * 20"])
def test_other_statements_and_parameters_have_their_own_answers(asked: Asked, other: str) -> None:
    statement = ROUNDED.format(AT_S)
    assert asked.again(statement)
    assert asked.again(statement.replace("10) * 10", "10) * " + other))
    assert asked.again(statement, given=("JSON",))
    assert not asked.again(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "SELECT toDateTime({})",
        "SELECT intDiv(toUnixTimestamp((toDateTime({}))), 0)",
        ROUNDED + ", now()",
        ROUNDED + ", Rand32()",
        "SELECT 'intDiv(toUnixTimestamp((toDateTime({}))), 10)'",
        "SELECT 'it\\'s intDiv(toUnixTimestamp((toDateTime({}))), 10)'",
        "SELECT 1 -- intDiv(toUnixTimestamp((toDateTime({}))), 10)",
        "SELECT 1 /* '\n intDiv(toUnixTimestamp((toDateTime({}))), 10) */",
        "SELECT 1 AS `intDiv(toUnixTimestamp((toDateTime({}))), 10)`",
    ],
)
def test_a_statement_that_rounds_nothing_or_changes_by_itself_is_run_each_time(asked: Asked, statement: str) -> None:
    assert asked.again(statement.format(AT_S))
    assert asked.again(statement.format(AT_S))


def test_a_text_in_quotes_beside_a_rounded_time_counts_to_the_last_digit(asked: Asked) -> None:
    statement = ROUNDED + ", 'intDiv(toUnixTimestamp((toDateTime({}))), 10)'"
    assert asked.again(statement.format(AT_S, AT_S))
    assert asked.again(statement.format(AT_S, AT_S + 1))
    assert not asked.again(statement.format(AT_S + 1, AT_S))


def test_plugin_3_writes_milliseconds(asked: Asked) -> None:
    statement = "SELECT intDiv(toUnixTimestamp((toDateTime(intDiv({},1000)))), 10) * 10"
    assert asked.again(statement.format(AT_S * 1000))
    assert not asked.again(statement.format((AT_S + 9) * 1000))
    assert asked.again(statement.format((AT_S + 10) * 1000))


def test_an_error_is_no_answer(asked: Asked) -> None:
    def fail() -> Result:
        raise QueryFailed("no")

    with pytest.raises(QueryFailed):
        asked.answers.answer(ROUNDED.format(AT_S), (), fail)
    assert asked.again(ROUNDED.format(AT_S))


def test_of_many_who_ask_at_once_one_is_answered_and_the_others_wait(asked: Asked) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    def ask() -> Result:
        asked.times += 1
        is_asked.set()
        assert may_answer.wait(30)
        return Result(b"x", "Native")

    with ThreadPoolExecutor(8) as people:
        running = [people.submit(asked.answers.answer, ROUNDED.format(AT_S + second), (), ask) for second in range(8)]
        assert is_asked.wait(30)
        may_answer.set()
        assert {each.result().content for each in running} == {b"x"}
    assert asked.times == 1


def test_answers_take_a_bounded_memory(asked: Asked) -> None:
    large = bytes(1024 * 1024)
    for number in range(40):
        assert asked.again(ROUNDED.format(AT_S), number, large)
    assert not asked.again(ROUNDED.format(AT_S), 39)
    assert asked.again(ROUNDED.format(AT_S), 0)
    assert sum(len(place.result.content) for place in asked.answers._places.values() if place.result) < 17 * len(large)
    asked.now_s = 20
    assert asked.again(ROUNDED.format(AT_S), "last")
    assert len(asked.answers._places) == 1


def test_what_is_stored_meanwhile_is_in_the_answer_of_the_next_step(engine: Engine) -> None:
    now_s = [0.0]
    runner = QueryRunner(engine, "walltime")
    runner._answers = Answers(lambda: now_s[0])

    def count(at_s: int, **more: str) -> str:
        sql = ROUNDED.format(at_s) + " AS rounded, (SELECT count() FROM transactions) FORMAT TSV"
        answer = runner.run(sql, name=f"{at_s}", parameters={}, **more)  # type: ignore[arg-type]
        assert answer.summary["result_rows"] == 1
        return answer.content.decode()

    stored_s = int(time.time())
    insert(engine, "transactions", [transaction(stored_s, 10, hits=0)])
    first = count(AT_S + 1)
    insert(engine, "transactions", [transaction(stored_s, 10, hits=1), transaction(stored_s, 10, hits=2)])
    assert first == count(AT_S + 9) == f"{AT_S}\t1\n"
    now_s[0] = 10
    assert count(AT_S + 9) == f"{AT_S}\t3\n"
    assert count(AT_S + 11) == f"{AT_S + 10}\t3\n"
    runner.close()
