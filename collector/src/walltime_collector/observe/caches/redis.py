"""Asks a Redis or Valkey server: INFO, and which commands were slow."""

from __future__ import annotations

from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError
from redis.retry import Retry

from ..address import Address
from .counters import Counters
from .explain import TIMEOUT_S, of_socket

NAME = "walltime-collector"
OPTIONS = ("socket", "ca")
_OTHERS = ("total_error_replies", "aof_delayed_fsync", "total_eviction_exceeded_time", "evicted_clients")
_FLUSHES = ("cmdstat_flushall", "cmdstat_flushdb")

Connection = redis.Redis


def connect(address: Address) -> Connection:
    """A connection, which is opened now; `rediss` verifies the server's certificate."""
    return redis.Redis(
        address.host or "localhost",
        address.port,
        username=address.user or None,
        password=address.password or None,
        unix_socket_path=address.options.get("socket"),
        ssl=address.scheme == "rediss",
        ssl_ca_certs=address.options.get("ca"),
        ssl_check_hostname=True,
        socket_connect_timeout=TIMEOUT_S,
        socket_timeout=TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        client_name=NAME,
        single_connection_client=True,
    )


def ping(connection: Connection) -> None:
    """Wait for the shortest answer, which may be that it is not permitted."""
    try:
        connection.ping()
    except NoPermissionError:
        return


def read(connection: Connection) -> Counters:
    """What it says now."""
    info: dict[str, Any] = connection.info()
    # commands that remove everything are not in the usual sections
    called: dict[str, Any] = connection.info("commandstats")

    def number(name: str) -> int:
        return int(info.get(name, 0))

    # db0, and not db0_distrib_strings_sizes of Redis 8
    databases = (each for name, each in info.items() if name[:2] == "db" and name[2:].isdigit())
    is_rdb, is_aof = bool(number("rdb_bgsave_in_progress")), bool(number("aof_rewrite_in_progress"))
    return Counters(
        system="redis",
        version=str(info.get("valkey_version") or info["redis_version"]),
        process=str(info["run_id"]),
        uptime_s=number("uptime_in_seconds"),
        items=sum(int(each["keys"]) for each in databases),
        bytes=number("used_memory"),
        max_bytes=number("maxmemory"),
        connections=number("connected_clients"),
        max_connections=number("maxclients"),
        hits=number("keyspace_hits"),
        misses=number("keyspace_misses"),
        evictions=number("evicted_keys"),
        expired=number("expired_keys"),
        reclaimed=0,
        commands=number("total_commands_processed"),
        refused_connections=number("rejected_connections"),
        flushes=sum(int(called.get(name, {}).get("calls", 0)) for name in _FLUSHES),
        loaded=number("rdb_last_load_keys_loaded") or (None if number("aof_enabled") else 0),
        is_loading=bool(number("loading")),
        is_saving=is_rdb or is_aof,
        saving="AOF" if is_aof else "RDB",
        saved_s=number("rdb_last_save_time"),
        forks=number("total_forks"),
        fork_ns=number("latest_fork_usec") * 1_000,
        role=str(info.get("role", "")),
        others={name: float(number(name)) for name in _OTHERS},
    )


def explain(address: Address, error: Exception) -> str:
    """See Watched; the text of an error may have been sent by anybody, so it is not repeated."""
    text = str(error)
    if address.scheme == "rediss" and ("SSL" in text or isinstance(error, TimeoutError | redis.TimeoutError)):
        return "TLS failed: does its port speak TLS, and is its certificate signed by ?ca=PATH, for this name?"
    if isinstance(error, NoPermissionError) or "NOPERM" in text:
        return "the user may not run INFO; on the server: ACL SETUSER USER +info +ping +slowlog|get"
    if isinstance(error, AuthenticationError) or "AUTH" in text or "WRONGPASS" in text:
        if address.password:
            return "WRONGPASS: the user or the password is wrong; see redis_password_file, or ?password_file=PATH"
        where = f"{address.scheme}://{address.host}:{address.port}"
        return f"NOAUTH: wants a password: --redis {address.name}={where}?password_file=PATH"
    if "max number of clients" in text:
        return "refuses connections: it has reached its limit, maxclients"
    if words := of_socket(error):
        return words
    is_other = isinstance(error, RedisError | KeyError | ValueError)
    return "does not answer as a Redis does: is it one, and is a proxy before it?" if is_other else ""
