"""redis-py against a real server: calls, hits and misses as the server itself counts them, and what the host gets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
import walltime
from redis.backoff import NoBackoff
from redis.retry import Retry
from shop.services import LOOPBACK, free_port
from walltime import bill as bills
from walltime import hotpath
from walltime.clients import redis_commands

from tests.redis_server import RedisServer
from tests.sdk.sink import Received, Sink

Connect = Callable[..., Any]
Redis: Any = redis.Redis  # half of redis-py has no types, and a pipeline those of the client
BlockingConnectionPool: Any = redis.BlockingConnectionPool

NOT_OURS = {"hello", "client|setinfo", "info", "select", "flushall", "multi", "exec", "unwatch"}
"""What the driver says by itself, and the tests."""


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[Connect]:
    """Opens clients of an empty server; closes them at the end."""
    opened: list[Any] = []

    def connect(**arguments: Any) -> Any:
        opened.append(Redis(**{"host": LOOPBACK, "port": redis_server.port, **arguments}))
        return opened[-1]

    connect().flushall()
    yield connect
    for each in opened:
        each.close()
        each.connection_pool.disconnect()


class Counted:
    """What the server has counted since this was made."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._calls, self._lookups = server.calls(), server.lookups()

    def calls(self) -> dict[str, int]:
        """Command → how often it was executed; those of nobody's request left out."""
        now = self._server.calls()
        grown = {name: count - self._calls.get(name, 0) for name, count in now.items()}
        return {name: count for name, count in grown.items() if count and name not in NOT_OURS}

    def lookups(self) -> tuple[int, int]:
        hits, misses = self._server.lookups()
        return hits - self._lookups[0], misses - self._lookups[1]


def commands(bill: Received) -> dict[str, int]:
    """Command → calls, as the bill has it."""
    names = [name.removeprefix("redis.") for name in bill.times_ns() if name.startswith("redis.")]
    cells = {name: bill.cell(f"redis.{name}").get("calls", 0) for name in names}
    return {name: count for name, count in cells.items() if name not in {"connect", "pipeline", "transaction", "pool"}}


def lookups(bill: Received) -> tuple[int, int]:
    cells = [bill.cell(name) for name in bill.times_ns()]
    return sum(cell.get("hits", 0) for cell in cells), sum(cell.get("misses", 0) for cell in cells)


# ---- commands ----


def test_falsy_values_are_hits_and_nil_is_a_miss(recorded: Sink, redis_server: RedisServer, client: Connect) -> None:
    r = client()
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


def test_fields_of_hashes_are_looked_up_one_by_one(recorded: Sink, redis_server: RedisServer, client: Connect) -> None:
    r = client()
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


def test_what_is_not_there_is_a_miss_to_delete_and_touch(recorded: Sink, client: Connect) -> None:
    r = client()
    r.mset({"a": 1, "b": 2, "c": 3})
    with walltime.transaction("job"):
        assert r.touch("a", "z") == 1
        assert r.delete("a", "b", "z") == 2
        assert r.unlink("c") == 1
    bill = recorded.transaction()
    assert bill.cell("redis.touch") == {"calls": 1, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.del") == {"calls": 1, "keys": 3, "hits": 2, "misses": 1}
    assert bill.cell("redis.unlink") == {"calls": 1, "keys": 1, "hits": 1}


def test_a_value_that_was_not_stored_is_said_so(recorded: Sink, client: Connect) -> None:
    r = client()
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
    recorded: Sink, redis_server: RedisServer, client: Connect
) -> None:
    r = client()
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


def test_names_of_components_are_few_however_a_command_is_named(recorded: Sink, client: Connect) -> None:
    r = client()
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


def test_a_blocking_command_waits_on_its_own_line(recorded: Sink, client: Connect) -> None:
    r = client()
    with walltime.transaction("job"):
        assert r.blpop("queue", timeout=0.02) is None
    bill = recorded.transaction()
    assert bill.cell("redis.blpop") == {"calls": 1}
    assert bill.times_ns()["redis.blpop"] >= 10_000_000


# ---- what the host gets ----


def test_results_and_exceptions_are_the_libraries_own(recorded: Sink, client: Connect) -> None:
    r = client(decode_responses=True)
    raw = client()
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
    port = free_port()
    r = Redis(host=LOOPBACK, port=port, retry=Retry(NoBackoff(), 2))
    with r, walltime.transaction("job"), pytest.raises(redis.ConnectionError):
        r.get("anything")
    bill = recorded.transaction()
    assert bill.cell("redis.get") == {"calls": 1, "keys": 1, "errors": 1}
    assert bill.cell("redis.connect") == {"calls": 3, "errors": 3}
    assert bill.targets()["redis.get", f"{LOOPBACK}:{port}"]["errors"] == 1


def test_a_connect_inside_a_get_is_billed_once(recorded: Sink, client: Connect) -> None:
    r = client()
    with walltime.transaction("job"):
        r.get("a")
        r.get("a")
    bill = recorded.transaction()  # asserts that the exclusive times add up to the covered time
    assert bill.cell("redis.connect") == {"calls": 1}
    first, _ = recorded.calls("redis.get")
    assert first.duration_ns == first.attributes["walltime.own_ns"] + bill.times_ns()["redis.connect"]


def test_a_connection_that_the_server_closed_is_made_again(
    recorded: Sink, redis_server: RedisServer, client: Connect
) -> None:
    r = client()
    with walltime.transaction("job"):
        r.set("k", 1)
        client().client_kill_filter(_type="normal", skipme=True)
        assert r.get("k") == b"1"
    assert recorded.transaction().cell("redis.get") == {"calls": 1, "keys": 1, "hits": 1}


def test_a_unix_socket_is_a_server_by_its_path(recorded: Sink, redis_server: RedisServer) -> None:
    with Redis(unix_socket_path=str(redis_server.socket)) as r, walltime.transaction("job"):
        r.get("a")
    targets = recorded.transaction().targets()
    assert set(targets) == {("redis.connect", str(redis_server.socket)), ("redis.get", str(redis_server.socket))}


def test_a_client_with_a_single_connection_is_seen(recorded: Sink, client: Connect) -> None:
    r = client(single_connection_client=True)
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


def test_calls_outside_of_a_transaction_are_counted(recorded: Sink, client: Connect) -> None:
    before = hotpath.outside_calls.get("redis", 0)
    r = client()
    r.set("k", 1)
    r.pipeline().get("k").execute()
    assert hotpath.outside_calls["redis"] == before + 2
    assert recorded.transactions() == []


# ---- pipelines ----


@pytest.mark.parametrize(("transaction", "component"), [(True, "redis.transaction"), (False, "redis.pipeline")])
def test_a_pipeline_is_one_call_and_its_commands_are_counted(
    recorded: Sink, redis_server: RedisServer, client: Connect, transaction: bool, component: str
) -> None:
    r = client()
    r.set("a", 1)
    server = Counted(redis_server)
    with walltime.transaction("job"), r.pipeline(transaction=transaction) as pipe:
        for key in ("a", "b", "a"):
            pipe.get(key)
        pipe.mget("a", "z").set("n", 1, nx=True).set("n", 1, nx=True).incr("n")
        assert pipe.execute() == [b"1", None, b"1", [b"1", None], True, None, 2]
    bill = recorded.transaction()
    assert bill.cell(component) == {"calls": 1}
    assert bill.cell("redis.get") == {"calls": 3, "keys": 3, "hits": 2, "misses": 1}
    assert bill.cell("redis.mget") == {"calls": 1, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.set") == {"calls": 2, "not_stored": 1}
    assert commands(bill) == server.calls()
    assert lookups(bill) == (3, 2)
    times_ns = bill.times_ns()
    assert times_ns[component] > 0 == times_ns["redis.get"] == times_ns["redis.incrby"]


@pytest.mark.parametrize("transaction", [True, False])
@pytest.mark.parametrize("raise_on_error", [True, False])
def test_a_command_that_fails_in_a_pipeline_is_an_error_of_that_command(
    recorded: Sink, redis_server: RedisServer, client: Connect, transaction: bool, raise_on_error: bool
) -> None:
    r = client()
    r.set("text", "x")
    server = Counted(redis_server)
    with walltime.transaction("job"), r.pipeline(transaction=transaction) as pipe:
        pipe.get("text").lpush("text", 1).get("absent")
        if raise_on_error:
            with pytest.raises(redis.ResponseError, match="Command # 2"):
                pipe.execute()
        else:
            value, error, nothing = pipe.execute(raise_on_error=False)
            assert (value, nothing) == (b"x", None)
            assert isinstance(error, redis.ResponseError)
    bill = recorded.transaction()
    assert commands(bill) == server.calls() == {"get": 2, "lpush": 1}
    assert bill.cell("redis.get") == {"calls": 2, "keys": 2, "hits": 1, "misses": 1}
    assert bill.cell("redis.lpush") == {"calls": 1, "errors": 1}
    whole = bill.cell("redis.transaction" if transaction else "redis.pipeline")
    assert whole == {"calls": 1, "errors": 1} if raise_on_error else {"calls": 1}


def test_a_lost_race_is_an_error_of_the_transaction_and_no_call_of_its_commands(
    recorded: Sink, redis_server: RedisServer, client: Connect
) -> None:
    r, rival = client(), client()
    server = Counted(redis_server)
    with walltime.transaction("job"), r.pipeline() as pipe:
        pipe.watch("stock")
        assert pipe.get("stock") is None
        rival.set("stock", 7)
        pipe.multi()
        pipe.decr("stock")
        with pytest.raises(redis.WatchError):
            pipe.execute()
    bill = recorded.transaction()
    assert bill.cell("redis.transaction") == {"calls": 1, "errors": 1}
    assert commands(bill) == server.calls() == {"watch": 1, "get": 1, "set": 1}


def test_a_transaction_that_the_server_refuses_has_executed_nothing(
    recorded: Sink, redis_server: RedisServer, client: Connect
) -> None:
    r = client()
    server = Counted(redis_server)
    with walltime.transaction("job"), r.pipeline() as pipe:
        pipe.set("a", 1)
        pipe.execute_command("NO-SUCH-COMMAND")
        with pytest.raises(redis.ResponseError):
            pipe.execute()
    bill = recorded.transaction()
    assert bill.cell("redis.transaction") == {"calls": 1, "errors": 1}
    assert commands(bill) == server.calls() == {}


def test_an_empty_pipeline_is_no_call(recorded: Sink, client: Connect) -> None:
    r = client()
    with walltime.transaction("job"):
        assert r.pipeline().execute() == []
    assert recorded.transaction().times_ns() == {}


def test_a_pipeline_longer_than_the_detail_is_counted_whole(recorded: Sink, client: Connect) -> None:
    r = client()
    with walltime.transaction("job"), r.pipeline(transaction=False) as pipe:
        for number in range(5000):
            pipe.get(f"k:{number}")
        assert pipe.execute() == [None] * 5000
    bill = recorded.transaction()
    assert bill.cell("redis.get") == {"calls": 5000, "keys": 5000, "misses": 5000}
    assert len(recorded.calls()) <= 2 * hotpath.MAX_CALLS


# ---- pools, subscriptions ----


def test_waiting_for_a_connection_of_a_pool_has_its_line(
    recorded: Sink, redis_server: RedisServer, client: Connect
) -> None:
    pool = BlockingConnectionPool(host=LOOPBACK, port=redis_server.port, max_connections=1, timeout=5)
    taken = pool.get_connection()
    timer = threading.Timer(0.05, pool.release, [taken])
    with Redis(connection_pool=pool) as r, walltime.transaction("job"):
        timer.start()
        r.get("absent")
    timer.join()
    pool.disconnect()
    bill = recorded.transaction()
    assert bill.cell("redis.pool") == {"calls": 1}
    assert bill.times_ns()["redis.pool"] >= 20_000_000 > bill.times_ns()["redis.get"]
    assert ("redis.pool", f"{LOOPBACK}:{redis_server.port}") in bill.targets()


def test_a_pool_that_stays_empty_is_an_error_of_the_pool_and_of_the_command(
    recorded: Sink, redis_server: RedisServer
) -> None:
    pool = BlockingConnectionPool(host=LOOPBACK, port=redis_server.port, max_connections=1, timeout=0.01)
    taken = pool.get_connection()
    with walltime.transaction("job"), pytest.raises(redis.ConnectionError, match="No connection available"):
        Redis(connection_pool=pool).get("a")
    pool.release(taken)
    pool.disconnect()
    bill = recorded.transaction()
    assert bill.cell("redis.pool") == {"calls": 1, "errors": 1}
    assert bill.cell("redis.get") == {"calls": 1, "keys": 1, "errors": 1}


def test_waiting_for_news_has_its_line(recorded: Sink, client: Connect) -> None:
    r = client()
    with walltime.transaction("job"), r.pubsub() as channel:
        channel.subscribe("news")
        assert channel.get_message(timeout=1)["type"] == "subscribe"
        r.publish("news", "hello")
        assert channel.get_message(timeout=1)["data"] == b"hello"
        assert channel.get_message(timeout=0.02) is None
    bill = recorded.transaction()
    assert bill.cell("redis.subscribe") == {"calls": 1}
    assert bill.cell("redis.listen") == {"calls": 3}
    assert bill.times_ns()["redis.listen"] >= 10_000_000


# ---- what is kept of a call ----


def test_a_kept_call_says_what_the_conventions_ask_for(
    recorded: Sink, redis_server: RedisServer, client: Connect
) -> None:
    r = client()
    with walltime.transaction("job"):
        r.set("user:1", "v", nx=True)
        r.get("user:1")
        r.mget("user:1", "user:2")
        r.hmget("fields:1", ["a", "b"])
        r.incr("counter:1")
        r.pipeline(transaction=False).get("user:1").get("user:2").execute()
        with pytest.raises(redis.ResponseError):
            r.execute_command("GET", "fields:1", "one too many")
    said = [
        (
            call.span.name.removeprefix("redis."),
            call.attributes.get("walltime.redis.key", "").partition("#")[0],
            call.attributes.get("walltime.redis.result"),
            call.attributes.get("db.operation.batch.size"),
        )
        for call in recorded.calls()
    ]
    assert said == [
        ("connect", "", None, None),
        ("set", "user:", "stored", None),
        ("get", "user:", "hit", None),
        ("mget", "user:", "1/2", None),
        ("hmget", "fields:", "0/2", None),
        ("incrby", "counter:", None, None),
        ("pipeline", "", None, 2),
        ("get", "user:", "hit", None),
        ("get", "user:", "miss", None),
        ("get", "fields:", "error", None),
    ]
    for call in recorded.calls():
        assert call.attributes["db.system.name"] == "redis"
        assert call.attributes["db.operation.name"] == call.span.name.removeprefix("redis.")
        assert call.attributes["server.address"] == LOOPBACK
        assert call.attributes["server.port"] == redis_server.port
    assert recorded.calls("redis.mget")[0].attributes["walltime.redis.key"].endswith(" and 1 more")
    assert "more" not in recorded.calls("redis.hmget")[0].attributes["walltime.redis.key"]


def test_nothing_secret_leaves_with_a_command(sink: Sink, client: Connect) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, key_salt="a deployment's own")
    walltime.instrument("redis")
    r = client(retry=Retry(NoBackoff(), 0))  # a refused password is worth a pause to redis-py
    with walltime.transaction("job"):
        for arguments in (
            ("SET", "user:sesame@example.com", "sesame"),
            ("GET", "user:sesame@example.com"),
            ("GET user:sesame",),
            ("EVAL", "return 'sesame'", 1, "sesame", "sesame"),
            ("AUTH", "sesame"),
            ("CONFIG SET", "sesame", "sesame"),
            ("NO-SUCH-COMMAND", "sesame"),
            ("sesame", "sesame"),
            ("PUBLISH", "sesame", "sesame"),
            ("XREAD", "STREAMS", "sesame", "0"),
            ("HSET", "cart:sesame", "sesame", "sesame"),
            ("MGET", "sesame", "sesame"),
            ("JSON.SET", "sesame", "$", "sesame"),
        ):
            for where in (r, r.pipeline(), r.pipeline(transaction=False)):
                try:
                    where.execute_command(*arguments)
                    if where is not r:
                        where.execute()
                except redis.RedisError:
                    pass
    assert sink.transaction().cell("redis.get")["calls"] >= 3
    assert b"sesame" not in b"".join(request.SerializeToString() for request in sink.requests)


def test_raw_keys_are_a_setting(sink: Sink, client: Connect) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, raw_keys=True)
    walltime.instrument("redis")
    r = client()
    with walltime.transaction("job"):
        r.get("user:alice")
    assert sink.calls("redis.get")[0].attributes["walltime.redis.key"] == "user:alice"


def test_commands_are_known_as_the_server_knows_them(redis_server: RedisServer, client: Connect) -> None:
    r = client()
    for name, about in r.command().items():
        command = redis_commands.command_of((name,))
        assert command.at.component != "redis.other", name
        if command.has_key:
            assert about["first_key_pos"] == 1, name
        elif command.at.component != "redis.admin" and name not in {"ssubscribe", "sunsubscribe", "spublish"}:
            assert about["first_key_pos"] != 1, name  # a channel is a key to a cluster, and not to us


def test_the_bill_knows_which_commands_hit_and_which_store() -> None:
    def components(commands: dict[str, Any]) -> set[str]:
        return {f"redis.{name.lower()}" for name in commands}

    def of_redis(names: frozenset[str]) -> set[str]:
        return {name for name in names if name.startswith("redis.")}

    assert components(redis_commands._LOOKUPS) == of_redis(bills.LOOKUPS)
    assert components(redis_commands._STORES) == of_redis(bills.STORES)
