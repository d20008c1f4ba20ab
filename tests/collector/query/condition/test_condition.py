"""Conditions: what they mean, over stored rows; and what is no condition."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from walltime_collector.clickhouse.engine import Engine, Parameter
from walltime_collector.errors import BadParameter
from walltime_collector.query.condition.fields import NAMES
from walltime_collector.query.condition.parse import parse
from walltime_collector.query.condition.sql import bound
from walltime_collector.query.condition.tree import Condition
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.top import top_of
from walltime_collector.query.windows import Window

from tests.collector.query.condition.rows import (
    SERVERS,
    STATEMENTS,
    TEXTS,
    is_true,
    lock,
    make_rows,
    named,
    slow_log,
    truth,
)

_WORDS = ("and", "or", "not", "in", "(", ")", ",", "=", "!=", "<", ">=", "~", "duration", "status", "5xx", "1s", '"a"')
_CHOICES: dict[str, st.SearchStrategy[str]] = {
    "text": st.sampled_from(TEXTS),
    "attribute": st.sampled_from(TEXTS),
    "texts": st.sampled_from((*SERVERS, *STATEMENTS, "FROM REVIEWS")),
    "number": st.integers(0, 12_000).map(str),
    "time": st.integers(0, 2_000_000).map(lambda us: f"{us / 1_000}ms"),
    "locks": st.integers(0, 30).map(lambda ms: f"{ms}ms"),
    "size": st.integers(0, 3_000).map(lambda kb: f"{kb}kB"),
    "status": st.sampled_from(("404", "500", "2xx", "5xx", "failed", "0")),
    "flag": st.sampled_from(("true", "no")),
}
_OPERATORS = {
    "text": ("=", "!=", "~", "!~"),
    "texts": ("=", "!=", "~", "!~"),
    "flag": ("=", "!="),
    "status": ("=", "!="),
}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    more = (
        "annotation.tenant",
        'annotation."tenant id"',
        '"render page".calls',
        "tax.rows",
        "redis.get.hits",
        "tax.max",
    )
    name = draw(st.sampled_from((*NAMES[:-1], *more)))
    kind = _type(name)
    if kind == "attribute" and draw(st.booleans()):
        return f"{name} {draw(st.sampled_from(('<', '>=')))} {draw(st.sampled_from(('5', '-2', '0.5')))}"
    values = draw(st.lists(_CHOICES[kind], min_size=1, max_size=3))
    written = [_quoted(each) for each in values]
    if len(written) > 1:
        return f"{name} {draw(st.sampled_from(('in', 'not in')))} ({', '.join(written)})"
    signs = _OPERATORS.get(kind, ("=", "!=", "<", "<=", ">", ">=")) if kind != "attribute" else ("=", "!=", "~", "!~")
    return f"{name}{draw(st.sampled_from(signs))}{written[0]}"


def _type(name: str) -> str:
    return named(name).type


conditions = st.recursive(
    comparisons(),
    lambda inner: st.one_of(
        inner.map(lambda one: f"not ({one})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: "(" + " and ".join(some) + ")"),
        st.lists(inner, min_size=2, max_size=3).map(" OR ".join),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def rows(engine: Engine) -> list[dict[str, Any]]:
    """Stored transactions; every third waited for a lock, which the slow log has."""
    started_ns = time.time_ns() - 600_000_000_000
    rows = make_rows(300, started_ns)
    lock(rows)
    stored = [{name: value for name, value in row.items() if name != "lock_ns"} for row in rows]
    engine.insert_rows("transactions", "\n".join(map(json.dumps, stored)).encode(), "rows")
    engine.insert_rows("slow_log_entries", slow_log(rows, started_ns), "logged")
    return rows


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=conditions)
@example(text="rows = 0")
@example(text="hits > 3")
def test_a_condition_selects_the_rows_of_which_it_is_true(
    engine: Engine, rows: list[dict[str, Any]], text: str
) -> None:
    is_expected = truth(text)
    assert _selected(engine, parse(text)) == {row["trace_id"] for row in rows if is_expected(row)}, text


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)))
def test_any_text_is_a_condition_or_an_error_that_says_where_and_what_now(text: str) -> None:
    try:
        result: Condition | BadParameter = parse(text)
    except BadParameter as error:
        result = error
    if isinstance(result, BadParameter):
        assert result.where == "where"
        assert result.what_now
        assert re.match(r"position \d+: ['\"]|it (is|has|ends) ", result.what)


@given(st.text(min_size=3, max_size=30), st.sampled_from(("user", "annotation.", "server", "statement")))
def test_no_value_is_in_the_sql(value: str, name: str) -> None:
    name = f"{name}{_quoted(value)}" if name.endswith(".") else name
    condition = parse(f"{name} ~ {_quoted(value)} or {name} in ({_quoted(value)}, x)")
    other = parse(f"{name.partition('.')[0]}{'.k' if '.' in name else ''} ~ a or {_plain(name)} in (b, c)")
    assert condition.sql == other.sql
    assert value in condition.values


def _plain(name: str) -> str:
    return "annotation.k" if name.startswith("annotation") else name


@pytest.mark.parametrize(
    ("text", "what", "what_now"),
    [
        (
            "duration > 1s and mysql.qeury.calls > 3",
            "position 19: 'mysql.qeury.calls' is no field",
            "mysql.query.calls",
        ),
        ("memcached.get.misses > 3", "position 1: 'memcached.get.misses' is no field", "memcache.get.misses"),
        ("durations > 1s", "position 1: 'durations' is no field", "there is duration"),
        ("colour = red", "position 1: 'colour' is no field", "duration, kind, service"),
        ("duration > 5", "position 12: '5' is no value of duration", "200ms"),
        ("mysql.query.calls > 5ms", "position 21: '5ms' is no value of mysql.query.calls", "write a number"),
        ("status = 700", "position 10: '700' is no value of status", "5xx"),
        ("duration ~ 5ms", "position 10: '~' cannot compare duration", "use = != < <= > >= or in"),
        ("kept", "position 1: 'kept' needs a comparison", "kept = "),
        ("duration >", "it ends too early", "write a value"),
        ("(duration > 1s", "it ends too early", "closing parenthesis"),
        ("duration > 1s )", "position 15: ')' cannot be here", ""),
        ("user = bob && error", "position 12: '&&' cannot be here", "and, or"),
        ("", "it is empty", "a field"),
        ("user = " + "x" * 2_000, "it has 2,007 characters", "2,000"),
        ("not (error and " * 30 + "error" + ")" * 30, "it is nested more than", "fewer parentheses"),
        ("duration > 99999999999h", "position 12", "too large"),
    ],
)
def test_an_error_says_where_what_and_what_to_write(text: str, what: str, what_now: str) -> None:
    with pytest.raises(BadParameter) as error:
        parse(text)
    assert what in error.value.what
    assert what_now in error.value.what_now


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("duration > 1s", "duration>1000ms"),
        ("duration > 1.5s", "duration > 1500000us"),
        ("not not error", "error = true"),
        ("error AND kept = slow", "(error) and (kept = 'slow')"),
        ("host in (a, b)", "host = a or host = b"),
        ("memory.growth > 1KiB", "memory.growth > 1024B"),
    ],
)
def test_two_texts_of_one_condition(engine: Engine, rows: list[dict[str, Any]], text: str, same: str) -> None:
    assert _selected(engine, parse(text)) == _selected(engine, parse(same))


def _selected(engine: Engine, condition: Condition) -> set[str]:
    parameters: dict[str, Parameter] = {}
    sql = bound(condition, parameters)
    return {str(row["trace_id"]) for row in engine.query(f"SELECT trace_id FROM transactions WHERE {sql}", parameters)}


def test_and_binds_tighter_than_or_and_not_tighter_than_and() -> None:
    assert parse("error or error and not error and error") == parse("error or (error and (not error) and error)")


@pytest.mark.parametrize("quoted", ['"memcache.gets".calls', '"mysq".time', 'annotation."a b.c"'])
def test_a_name_in_quotes_is_the_applications_own(quoted: str) -> None:
    condition = parse(f"{quoted} = 5s" if quoted.endswith("time") else f"{quoted} = 5")
    assert len(condition.values) == 2


@pytest.mark.usefixtures("rows")
def test_filters_have_a_condition(engine: Engine, rows: list[dict[str, Any]]) -> None:
    now_ns = time.time_ns()
    window = Window(now_ns - 3_600_000_000_000, now_ns)
    text = "status = 5xx and duration > 300ms"
    answer = top_of(engine, Scope(window, Filters(where=text)), now_ns)
    assert 0 < answer.transactions < len(rows)
    assert answer.transactions == sum(is_true(text, row) for row in rows)
    assert not Filters(where=text).are_in_minutes
