"""What the guard remembers: the same statement at another time, and nothing else, is allowed without being read."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from walltime_collector.clickhouse.engine import Engine, Parameters, Rows
from walltime_collector.errors import QueryFailed, StatementRefused
from walltime_collector.sql.guard import Guard
from walltime_collector.sql.guard.verdicts import Verdicts

from tests.by_day import by_day
from tests.dashboards.grafana import Range, dashboards, expand, questions, variables

FIRST_S, LATER_S = 1_764_180_000, 1_765_999_999
SHOWN, LATER = (Range(at_s - 3_600, at_s, interval_s=10) for at_s in (FIRST_S, LATER_S))


class Counted:
    """The engine, and how often it was asked to read or write a statement."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.asked = engine, 0

    def query(self, sql: str, parameters: Parameters | None = None) -> Rows:
        self.asked += 1
        return self.engine.query(sql, parameters)


@pytest.fixture
def counted(engine: Engine) -> Counted:
    return Counted(engine)


def guard(counted: Counted) -> Guard:
    return Guard(counted, "walltime")  # type: ignore[arg-type]


@pytest.mark.parametrize("uid", by_day([*dashboards()], 4))
def test_a_boards_questions_are_read_once_and_later_run_as_if_they_were_read_again(counted: Counted, uid: str) -> None:
    board, remembers = dashboards()[uid], guard(counted)
    for question in questions(board).values():
        first, later = (expand(question, "4", shown, variables(board)) for shown in (SHOWN, LATER))
        remembers.admit(first, {})
        counted.asked = 0
        remembered = remembers.admit(later, {})
        assert counted.asked == 0
        assert remembered == guard(counted).admit(later, {})


ONE = f"SELECT count() FROM transactions WHERE started_at > toDateTime({FIRST_S})"


@pytest.mark.parametrize(
    ("other", "parameters", "url"),
    [
        (ONE.replace(str(FIRST_S), "17641800000"), {}, {}),
        (ONE.replace(">", "<"), {}, {}),
        (ONE.replace("toDateTime(", "toDateTime64("), {}, {}),
        (ONE + " SETTINGS max_threads = 1", {}, {}),
        (ONE + f" AND started_at < toDateTime({FIRST_S})", {}, {}),
        (ONE, {"a": "1"}, {}),
        (ONE, {}, {"max_threads": "1"}),
    ],
)
def test_whatever_else_differs_is_read(
    counted: Counted, other: str, parameters: Mapping[str, str], url: Mapping[str, str]
) -> None:
    remembers = guard(counted)
    remembers.admit(ONE, {})
    remembers.admit(ONE, {}, {"query_id": "another", "session_id": "1"})
    before = counted.asked
    try:
        remembers.admit(other, parameters, url)
    except QueryFailed:
        assert "toDateTime64(" in other
    assert counted.asked > before


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 /* toDateTime({}) */",
        "SELECT 1 SETTINGS additional_table_filters = {{'transactions': 'started_at > toDateTime({})'}}",
        "DESCRIBE transactions",
    ],
)
def test_moments_that_do_not_run_as_they_are_written_are_not_remembered(counted: Counted, statement: str) -> None:
    remembers = guard(counted)
    remembers.admit(statement.format(FIRST_S), {})
    before = counted.asked
    assert str(FIRST_S) not in str(remembers.admit(statement.format(LATER_S), {}))
    assert counted.asked > before


def test_what_is_refused_is_refused_at_every_time_and_its_error_is_about_its_own_text(counted: Counted) -> None:
    remembers = guard(counted)
    for at_s in (FIRST_S, LATER_S):
        with pytest.raises(StatementRefused, match="file"):
            remembers.admit(f"SELECT file('/etc/passwd') WHERE now() > toDateTime({at_s})", {})
        with pytest.raises(QueryFailed, match=f"{at_s}"):
            remembers.admit(f"SELECT 1 1 toDateTime({at_s})", {})


def test_a_moment_in_a_text_is_changed_in_that_text_alone(counted: Counted) -> None:
    remembers = guard(counted)
    statement = "SELECT 'toDateTime({0})', `x toDateTime({0})` FROM (SELECT toDateTime({1}) AS `x toDateTime({0})`)"
    remembers.admit(statement.format(FIRST_S, LATER_S), {})
    counted.asked = 0
    swapped = statement.format(LATER_S, FIRST_S)
    remembered = remembers.admit(swapped, {})
    assert counted.asked == 0
    assert remembered == guard(counted).admit(swapped, {})


def test_a_verdict_is_forgotten_after_minutes_and_the_least_used_of_very_many(counted: Counted) -> None:
    now_s, remembers = [0.0], guard(counted)
    remembers._verdicts = Verdicts(lambda: now_s[0])

    def is_read(statement: str) -> bool:
        before = counted.asked
        remembers.admit(statement, {})
        return counted.asked > before

    assert [is_read(ONE), is_read(ONE)] == [True, False]
    now_s[0] = 301
    assert [is_read(ONE), is_read(ONE)] == [True, False]
    for number in range(256):
        assert is_read(f"SELECT {number}")
    assert is_read(ONE)
