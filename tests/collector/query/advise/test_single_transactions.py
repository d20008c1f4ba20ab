"""No single transaction makes an advice or hides one, kept calls have their weights, and every price can be checked."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.sql.runner import QueryRunner

from tests.collector.conftest import Store
from tests.collector.query.advise.transactions import Calls, advice_of, call, sent
from tests.collector.traffic import MS, Sent, Value

N, ODD = 100, 50
"""Transactions of each kind; number ODD is another one."""
SERVERS = 20


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
