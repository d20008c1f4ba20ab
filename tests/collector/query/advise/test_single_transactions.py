"""No single transaction makes an advice or hides one, kept calls have their weights, and every price can be checked."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, Sequence

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.advise.advise import advise
from walltime_collector.query.advise.answer import Advice
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window
from walltime_collector.sql.runner import QueryRunner

from tests.collector.conftest import Store
from tests.collector.traffic import DATABASE, MS, Sent, SentCall, Value

N, ODD = 100, 50
"""Transactions of each kind; number ODD is another one."""
HOST, PORT = DATABASE.split(":")
SERVERS = 20


def call(component: str, ms: float, *, server: str = HOST, text: str = "") -> tuple[str, float, dict[str, Value]]:
    attributes: dict[str, Value] = {"server.address": server, "server.port": int(PORT)}
    if component.startswith("memcache"):
        attributes |= {"db.system.name": "memcached", "walltime.memcache.result": "hit", "walltime.memcache.key": text}
    else:
        attributes["db.query.text"] = text
    return component, ms, attributes


Calls = Sequence[tuple[str, float, dict[str, Value]]]


def sent(
    number: int,
    name: str,
    calls: Calls,
    *,
    other_ms: float = 4,
    kept: str = "",
    attributes: dict[str, Value] | None = None,
) -> Sent:
    made, at_ns = [], 0
    for component, ms, of_call in calls:
        made.append(SentCall(component, at_ns, round(ms * MS), of_call))
        at_ns += round(ms * MS)
    identity = zlib.crc32(name.encode()) * 10**6 + number
    started_ns = (int(time.time()) - 1_000) * 10**9 + number * 5 * 10**9
    return Sent(
        f"{identity:032x}", f"{identity:016x}", name, started_ns, at_ns + round(other_ms * MS), kept=kept, calls=made,
        attributes=attributes or {},
    )  # fmt: skip


def kinds(number: int) -> Iterator[Sent]:
    is_odd = number == ODD
    query = call("mysql.query", 20, text="SELECT 1 FROM t WHERE id = %s")
    connects = [call("mysql.connect", 10)] * 501 if is_odd else []
    yield sent(number, "GET /pool", [*connects, query])
    yield sent(number, "GET /cache", [call("memcache.get", 60_000 if is_odd else 0.4, server="10.0.0.1")])
    yield sent(number, "GET /queued", [query], attributes={"walltime.queue_ns": 60_000 * MS if is_odd else 0})
    yield sent(number, "GET /sleeper", [query], other_ms=60_000 if is_odd else 4)
    yield sent(
        number, "GET /export", [call("mysql.query", 2, text="SELECT 1 FROM line WHERE o = %s")] * (501 if is_odd else 1)
    )
    repeated = [call("mysql.query", 2, text="SELECT 1 FROM hidden WHERE o = %s")] * 8
    yield sent(number, "GET /hidden", repeated, other_ms=600_000 if is_odd else 4)
    gets = [
        call("memcache.get", 1.9 if at == 7 else 4, server=f"10.1.0.{at}", text=f"k{at}:1") for at in range(SERVERS)
    ]
    yield sent(number, "GET /servers", gets, other_ms=60)


@pytest.fixture(scope="module")
def stored(engine: Engine, store: Store) -> Engine:
    store([each for number in range(N) for each in kinds(number)])
    return engine


def advice_of(engine: Engine, kind: str) -> tuple[Advice, ...]:
    now_ns = time.time_ns()
    scope = Scope(Window(now_ns - 3_600 * 10**9, now_ns), Filters(kind=kind))
    return advise(engine, scope, now_ns).advice


@pytest.mark.parametrize("kind", ["pool", "cache", "queued", "sleeper", "export", "servers"])
def test_one_transaction_of_100_makes_no_advice(stored: Engine, kind: str) -> None:
    """Nor do 19 servers that are as slow as most, beside one that is fast by chance."""
    assert [(each.category, each.finding) for each in advice_of(stored, f"GET /{kind}")] == []


def test_one_transaction_of_100_hides_no_advice(stored: Engine) -> None:
    (found,) = advice_of(stored, "GET /hidden")
    assert (found.category, found.price.helped) == ("n_plus_one", N)
    assert found.price.mean_ns == 14 * MS
    assert found.finding == "GET /hidden sends it 8 times a transaction, 2.00 ms each."


def test_kept_calls_have_the_weight_of_those_that_were_not_kept(engine: Engine, store: Store) -> None:
    """20 were kept with a probability of 5 % and repeat nothing, 100 with 100 % after a change of the setting."""
    repeated = [call("memcache.get", 1, server="10.2.0.1", text=f"product:{at}") for at in range(10)]
    others = [call("memcache.get", 1, server="10.2.0.1", text=f"{letter}:1") for letter in "abcdefghij"]

    def made(number: int, calls: Calls, probability: float) -> Sent:
        attributes: dict[str, Value] = {"walltime.sample_probability": probability}
        return sent(number, "GET /mixed", calls, kept="random", attributes=attributes)

    store([made(at, others, 0.05) for at in range(20)] + [made(20 + at, repeated, 1.0) for at in range(100)])
    (found,) = (each for each in advice_of(engine, "GET /mixed") if each.category == "repeated_gets")
    assert found.price.mean_ns == pytest.approx(10 * MS * 0.9 * 100 / (20 / 0.05 + 100), rel=0.01)
    assert "from 100 kept transactions" in found.certainty
    assert "slow or failed" not in found.certainty


def test_the_numbers_of_an_advice_are_those_of_its_statement(stored: Engine) -> None:
    runner = QueryRunner(stored, "walltime")
    (found,) = advice_of(stored, "GET /hidden")
    row = json.loads(runner.run(found.sql, name="advice", parameters={}, format_name="JSONEachRow").content)
    runner.close()
    price = found.price
    assert (int(row["transactions"]), int(row["helped"])) == (price.transactions, price.helped)
    assert (round(row["mean_ns"]), round(row["helped_ns"])) == (price.mean_ns, price.helped_ns)
