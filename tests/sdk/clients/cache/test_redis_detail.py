"""What is kept of a call of redis-py: what the conventions ask for, and nothing secret."""

from __future__ import annotations

from typing import Any

import pytest
import redis
import walltime
from redis.backoff import NoBackoff
from redis.retry import Retry
from shop.services import LOOPBACK
from walltime.clients.cache import redis_commands
from walltime.core import bill as bills

from tests.redis_server import RedisServer
from tests.sdk.clients.cache.redis_counts import Connect
from tests.sdk.sink import Sink

# ---- what is kept of a call ----


def test_a_kept_call_says_what_the_conventions_ask_for(
    recorded: Sink, redis_server: RedisServer, redis_client: Connect
) -> None:
    r = redis_client()
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


def test_nothing_secret_leaves_with_a_command(sink: Sink, redis_client: Connect) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, key_salt="a deployment's own")
    walltime.instrument("redis")
    r = redis_client(retry=Retry(NoBackoff(), 0))  # a refused password is worth a pause to redis-py
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


def test_raw_keys_are_a_setting(sink: Sink, redis_client: Connect) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, raw_keys=True)
    walltime.instrument("redis")
    r = redis_client()
    with walltime.transaction("job"):
        r.get("user:alice")
    assert sink.calls("redis.get")[0].attributes["walltime.redis.key"] == "user:alice"


def test_commands_are_known_as_the_server_knows_them(redis_server: RedisServer, redis_client: Connect) -> None:
    r = redis_client()
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
