"""redis-py against a real server: calls, hits and misses as the server itself counts them, and what the host gets."""

from __future__ import annotations

from typing import Any

import pytest
import redis
import walltime
from redis.backoff import NoBackoff
from redis.retry import Retry
from shop.services import LOOPBACK
from walltime.clients.cache import redis_commands
from walltime.core import transaction as transaction_module

from tests.ports import refusing_port
from tests.redis_server import RedisServer
from tests.sdk.clients.cache.redis_counts import Connect, Counted, Redis, commands, lookups
from tests.sdk.sink import Sink

# ---- commands ----


def test_falsy_values_are_hits_and_nil_is_a_miss(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect
) -> None:
    r = redis_client()
    r.set("empty", b"")
    r.set("zero", 0)
    server = Counted(redis_server)
    with walltime.transaction("job"):
        assert r.get("empty") == b""
        assert r.get("zero") == b"0"
        assert r.get("absent") is None
        assert r.getex("empty", ex=100) == b""
        assert r.mget("empty", "absent", "zero", "empty") == [b"", None, b"0", b""]
        assert r.exists("empty", "absent", "empty") == 2
        assert r.getdel("zero") == b"0"
        assert r.getdel("zero") is None
    bill = recorded.transaction()
    assert bill.cell("redis.get") == {"calls": 3, "keys": 3, "hits": 2, "misses": 1}
    assert bill.cell("redis.getex") == {"calls": 1, "keys": 1, "hits": 1}
    assert bill.cell("redis.mget") == {"calls": 1, "keys": 4, "hits": 3, "misses": 1}
    assert bill.cell("redis.exists") == {"calls": 1, "keys": 3, "hits": 2, "misses": 1}
    assert bill.cell("redis.getdel") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}
    assert lookups(bill) == server.lookups() == (9, 4)
    assert commands(bill) == server.calls()


def test_fields_of_hashes_are_looked_up_one_by_one(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect
) -> None:
    r = redis_client()
    r.hset("h", mapping={"a": 1, "b": 2})
    with walltime.transaction("job"):
        assert r.hget("h", "a") == b"1"
        assert r.hget("h", "z") is None
        assert r.hmget("h", ["a", "z", "b"]) == [b"1", None, b"2"]
        assert r.hexists("h", "z") is False
        assert r.hgetall("h") == {b"a": b"1", b"b": b"2"}
        assert r.hgetall("absent") == {}
    bill = recorded.transaction()
    assert bill.cell("redis.hget") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.hmget") == {"calls": 1, "keys": 3, "hits": 2, "misses": 1}
    assert bill.cell("redis.hexists") == {"calls": 1, "keys": 1, "misses": 1}
    assert bill.cell("redis.hgetall") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}


def test_what_is_not_there_is_a_miss_to_delete_and_touch(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client()
    r.mset({"a": 1, "b": 2, "c": 3})
    with walltime.transaction("job"):
        assert r.touch("a", "z") == 1
        assert r.delete("a", "b", "z") == 2
        assert r.unlink("c") == 1
    bill = recorded.transaction()
    assert bill.cell("redis.touch") == {"calls": 1, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.del") == {"calls": 1, "keys": 3, "hits": 2, "misses": 1}
    assert bill.cell("redis.unlink") == {"calls": 1, "keys": 1, "hits": 1}


def test_a_value_that_was_not_stored_is_said_so(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client()
    with walltime.transaction("job"):
        assert r.set("k", 1, nx=True) is True
        assert r.set("k", 2, nx=True) is None
        assert r.set("k", 2, get=True) == b"1"
        assert r.set("new", 2, get=True) is None  # the value before, not a refusal
        assert r.setnx("k", 3) is False
        assert r.hsetnx("h", "f", 1) == 1
        assert r.hsetnx("h", "f", 1) == 0
        assert r.msetnx({"k": 1, "other": 1}) is False
    bill = recorded.transaction()
    assert bill.cell("redis.set") == {"calls": 4, "not_stored": 1}
    assert bill.cell("redis.setnx") == {"calls": 1, "not_stored": 1}
    assert bill.cell("redis.hsetnx") == {"calls": 2, "not_stored": 1}
    assert bill.cell("redis.msetnx") == {"calls": 1, "not_stored": 1}


def test_every_data_command_has_its_line_and_its_server(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect
) -> None:
    r = redis_client()
    server = Counted(redis_server)
    with walltime.transaction("job"):
        for _ in range(3):
            r.incr("n")
        r.lpush("list", 1, 2)
        r.lrange("list", 0, -1)
        r.zadd("z", {"a": 1})
        r.sadd("s", 1)
        r.expire("n", 100)
        r.publish("channel", "news")
        r.xadd("stream", {"f": 1})
        r.ping()
        list(r.scan_iter("*"))
        r.eval("return 1", 0)
    bill = recorded.transaction()
    assert commands(bill) == server.calls()
    assert commands(bill)["incrby"] == 3
    address = f"{LOOPBACK}:{redis_server.port}"
    assert {target[1] for target in bill.targets()} == {address}


def test_names_of_components_are_few_however_a_command_is_named(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client()
    refused: list[str | bytes] = ["no such command", b"\xff", "json.get", "X" * 500]
    odd: list[tuple[Any, ...]] = [(), (7,), (["GET"], "a"), (bytearray(b"GET"), "a")]
    with walltime.transaction("job"):
        names: list[str | bytes] = ["get", b"GET", "Get", "config get", "CONFIG GET"]
        for name in names:
            r.execute_command(name, "a")
        for name in refused:
            with pytest.raises(redis.ResponseError):
                r.execute_command(name, "a")
        for arguments in odd:
            with pytest.raises((IndexError, TypeError, AttributeError, redis.RedisError)):
                r.execute_command(*arguments)
    bill = recorded.transaction()
    assert set(bill.times_ns()) == {"redis.connect", "redis.get", "redis.admin", "redis.other", "redis.json"}
    assert bill.cell("redis.get") == {"calls": 3, "keys": 3, "misses": 3}
    assert bill.cell("redis.other") == {"calls": 7, "errors": 7}


def test_no_name_of_a_command_is_kept_beyond_a_bound() -> None:
    for number in range(3 * redis_commands._MAX_NAMES):
        redis_commands.command_of((f"COMMAND{number}",))
    assert len(redis_commands._commands) <= redis_commands._MAX_NAMES


def test_a_blocking_command_waits_on_its_own_line(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client()
    with walltime.transaction("job"):
        assert r.blpop("queue", timeout=0.02) is None
    bill = recorded.transaction()
    assert bill.cell("redis.blpop") == {"calls": 1}
    assert bill.times_ns()["redis.blpop"] >= 10_000_000


# ---- what the host gets ----


def test_results_and_exceptions_are_the_libraries_own(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client(decode_responses=True)
    raw = redis_client()
    raw.set("not utf-8", b"\xff")
    r.set_response_callback("GET", lambda value, **_: value and value.upper())
    with walltime.transaction("job"):
        r.set("ключ", "значение")
        assert r.get("ключ") == "ЗНАЧЕНИЕ"
        with pytest.raises(redis.ResponseError, match="WRONGTYPE") as caught:
            r.lpush("ключ", 1)
        assert caught.value.__cause__ is None
        with pytest.raises(UnicodeDecodeError):
            r.get("not utf-8")
        with pytest.raises(redis.DataError):
            r.set("k", object())
    bill = recorded.transaction()
    assert bill.cell("redis.get") == {"calls": 2, "keys": 2, "hits": 1, "errors": 1}
    assert bill.cell("redis.lpush") == {"calls": 1, "errors": 1}
    assert bill.cell("redis.set") == {"calls": 2, "errors": 1}
    errors = [call.attributes["error.type"] for call in recorded.calls() if "error.type" in call.attributes]
    assert errors == ["ResponseError", "UnicodeDecodeError", "DataError"]


def test_a_dead_server_is_an_error_and_not_a_miss(recorded: Sink) -> None:
    port = refusing_port()
    r = Redis(host=LOOPBACK, port=port, retry=Retry(NoBackoff(), 2))
    with r, walltime.transaction("job"), pytest.raises(redis.ConnectionError):
        r.get("anything")
    bill = recorded.transaction()
    assert bill.cell("redis.get") == {"calls": 1, "keys": 1, "errors": 1}
    assert bill.cell("redis.connect") == {"calls": 3, "errors": 3}
    assert bill.targets()["redis.get", f"{LOOPBACK}:{port}"]["errors"] == 1


def test_a_connect_inside_a_get_is_billed_once(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client()
    with walltime.transaction("job"):
        r.get("a")
        r.get("a")
    bill = recorded.transaction()  # asserts that the exclusive times add up to the covered time
    assert bill.cell("redis.connect") == {"calls": 1}
    first, _ = recorded.calls("redis.get")
    assert first.duration_ns == first.attributes["walltime.own_ns"] + bill.times_ns()["redis.connect"]


def test_a_connection_that_the_server_closed_is_made_again(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect
) -> None:
    r = redis_client()
    with walltime.transaction("job"):
        r.set("k", 1)
        redis_client().client_kill_filter(_type="normal", skipme=True)
        assert r.get("k") == b"1"
    assert recorded.transaction().cell("redis.get") == {"calls": 1, "keys": 1, "hits": 1}


def test_a_unix_socket_is_a_server_by_its_path(recorded: Sink, redis_server: RedisServer) -> None:
    with Redis(unix_socket_path=str(redis_server.socket)) as r, walltime.transaction("job"):
        r.get("a")
    targets = recorded.transaction().targets()
    assert set(targets) == {("redis.connect", str(redis_server.socket)), ("redis.get", str(redis_server.socket))}


def test_a_client_with_a_single_connection_is_seen(recorded: Sink, redis_client: Connect) -> None:
    r = redis_client(single_connection_client=True)
    with walltime.transaction("job"):
        r.get("absent")
    assert recorded.transaction().cell("redis.get") == {"calls": 1, "keys": 1, "misses": 1}


def test_a_subclass_with_commands_of_its_own_is_seen_through_the_base(
    recorded: Sink, redis_server: RedisServer
) -> None:
    class Ours(redis.Redis):
        def execute_command(self, *args: Any, **options: Any) -> Any:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]

    with Ours(port=redis_server.port, host=LOOPBACK) as r, walltime.transaction("job"):
        r.get("absent")
    assert recorded.transaction().cell("redis.get") == {"calls": 1, "keys": 1, "misses": 1}


def test_calls_outside_of_a_transaction_are_counted(recorded: Sink, redis_client: Connect) -> None:
    before = transaction_module.outside_calls.get("redis", 0)
    r = redis_client()
    r.set("k", 1)
    r.pipeline().get("k").execute()
    assert transaction_module.outside_calls["redis"] == before + 2
    assert recorded.transactions() == []
