"""Nothing is left out of the advice without being counted, and an advice says of how many it speaks."""

from __future__ import annotations

import time

import pytest
from rich.console import Console
from walltime_collector.cli.advise.text import render
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.observe.slowlog.entry import Entry
from walltime_collector.query.advise.advise import advise, change_of
from walltime_collector.query.advise.answer import Advised
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window

from tests.collector.conftest import Store
from tests.collector.query.digesting import keep, said
from tests.collector.traffic import DATABASE, MS, Sent, SentCall

KINDS = 45
HOST, PORT = DATABASE.split(":")


def sends(at_s: int, name: str, number: int, text: str, calls: int, call_ms: float) -> Sent:
    attributes: dict[str, str | int | float | list[str] | list[int]] = {
        "db.query.text": text,
        "server.address": HOST,
        "server.port": int(PORT),
    }
    duration_ns = round(call_ms * MS)
    return Sent(
        f"{number:032x}",
        f"{number:016x}",
        name,
        at_s * 10**9,
        3 * MS + calls * duration_ns,
        calls=[SentCall("mysql.query", at * duration_ns, duration_ns, attributes) for at in range(calls)],
    )


@pytest.fixture(scope="module")
def many(engine: Engine, store: Store) -> Engine:
    """KINDS kinds with an N+1 each; one transaction in 50 of another has 601; of a third 5 calls in 500 are logged."""
    now_s = int(time.time())
    store(
        [
            sends(now_s - 1000 + at, f"GET /c{kind}", 1 + kind * 100 + at, f"SELECT * FROM c{kind} WHERE id = %s", 8, 2)
            for kind in range(KINDS)
            for at in range(22)
        ]
    )
    rare = [
        sends(
            now_s - 1000 + at,
            "GET /rare",
            10_000 + at,
            "SELECT * FROM line WHERE o = %s",
            601 if at % 50 == 25 else 1,
            1,
        )
        for at in range(300)
    ]
    slow = [
        sends(
            now_s - 1000 + at,
            "GET /slow",
            20_000 + at,
            "SELECT * FROM doc WHERE o = %s",
            1,
            2000 if at % 100 == 50 else 1,
        )
        for at in range(500)
    ]
    store(rare + slow)
    logged = [
        Entry(
            query_ns=1_990 * MS,
            started_us=each.started_ns // 1_000,
            position=each.started_ns // 10**9,
            statement=f"SELECT * FROM doc WHERE o = 7 /*traceparent='00-{each.trace_id}-{each.span_id}-01'*/",
            rows_examined=1_000_000,
            rows_sent=3,
        )
        for each in slow[50::100]
    ]
    keep(engine, logged, "logged")
    return engine


def scope(kind: str = "") -> Scope:
    now_ns = time.time_ns()
    return Scope(Window(now_ns - 3600 * 10**9, now_ns), Filters(kind=kind))


def ask(engine: Engine, limit: int, kind: str = "") -> Advised:
    asked = scope(kind)
    return advise(engine, asked, asked.window.end_ns, limit=limit)


def test_what_the_limit_leaves_out_is_counted_and_the_printed_limit_reaches_it(many: Engine) -> None:
    few = ask(many, 10)
    assert len(few.advice) == 10
    assert f"up to {few.left_out} more: --limit {10 + few.left_out}" in said(render(few, Console()))
    everything = ask(many, 10 + few.left_out)
    assert everything.left_out == 0
    assert {f"GET /c{kind}" for kind in range(KINDS)} <= {each.name for each in everything.advice}


def test_each_advice_can_be_dismissed_by_its_id_alone(many: Engine) -> None:
    for kind in (0, 21, KINDS - 1):
        (advice,) = ask(many, 20, f"GET /c{kind}").advice
        assert change_of(many, scope(), advice.id) == advice.change
    assert change_of(many, scope("GET /c0"), "0123456789") == ""


def test_a_statement_that_few_transactions_repeat_is_not_said_of_all(many: Engine) -> None:
    (advice,) = ask(many, 20, "GET /rare").advice
    assert advice.finding == "A few requests only: GET /rare sends it 601 times in 6 of 300 transactions, 1.00 ms each."
    assert (advice.price.helped, advice.price.helped_ns, advice.price.transactions) == (6, 600 * MS, 300)
    printed = " ".join(said(render(ask(many, 20, "GET /rare"), Console())).split())
    assert "; 600 ms each in 6 of 300 transactions" in printed
    (of_all,) = ask(many, 20, "GET /c3").advice
    assert of_all.finding == "GET /c3 sends it 8 times a transaction, 2.00 ms each."
    assert of_all.price.helped == of_all.price.transactions == 22


def test_rows_examined_by_the_logged_calls_are_not_said_of_all_calls(many: Engine) -> None:
    (advice,) = ask(many, 20, "GET /slow").advice
    assert advice.finding == (
        "A few requests only: Of 500 calls the slow log has 5: a typical one of these examines 1,000,000 rows and"
        " returns or changes 3."
    )
    assert "at least as long as in the fastest logged call" in advice.certainty
    price = advice.price
    assert (price.p50_ns, price.helped) == (0, 5)
    assert price.mean_ns == pytest.approx(20 * MS, rel=0.01)
