"""
How a Redis command appears on the bill: its component, its key, and how many keys it requested and matched.

The table is ours because redis-py has none: it queries the server (`COMMAND`), whose answer does not say what a hit is
or which argument is a secret. Data commands have a component each, `redis.<command>`; those that manage the server
share `redis.admin`, those of a module (`JSON.GET`) the module's (`redis.json`), and unknown ones `redis.other`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from walltime.core.call import Lines, lines
from walltime.redaction.sanitize import MAX_TEXT_CHARS

Arguments: TypeAlias = "tuple[Any, ...]"
"""Of `execute_command`: the command's name, then what it takes."""

UNKNOWN: Final = -1
"""Matched, when the answer does not say: neither hits nor misses."""


class Command(NamedTuple):
    """What is known of a command before it runs."""

    at: Lines
    has_key: bool
    """Its first argument is a key. Others are secrets, scripts or settings, and are never looked at."""
    requested: int | Callable[[Arguments], int]
    """Keys (or fields) it reads or stores; 0 when it neither hits nor misses. A number is faster by a tenth."""
    matched: Callable[[Arguments, Any], int]
    """How many of them were found or stored, by its answer."""


def _keys(arguments: Arguments) -> int:
    return max(1, len(arguments) - 1)


def _fields(arguments: Arguments) -> int:
    return max(1, len(arguments) - 2)


def _no_count(_arguments: Arguments, _answer: Any) -> int:
    return 0


def _unless_nil(_arguments: Arguments, answer: Any) -> int:
    return 0 if answer is None else 1


def _those_not_nil(_arguments: Arguments, answers: Any) -> int:
    return sum(answer is not None for answer in answers) if type(answers) is list else UNKNOWN


def _unless_empty(_arguments: Arguments, answer: Any) -> int:
    return 1 if answer else 0


def _the_number(_arguments: Arguments, answer: Any) -> int:
    return int(answer) if isinstance(answer, int) else UNKNOWN


def _set(arguments: Arguments, answer: Any) -> int:
    if answer:
        return 1
    # With GET nil is the value that was there before.
    return UNKNOWN if any(type(each) is str and each.upper() == "GET" for each in arguments[3:]) else 0


_LOOKUPS: Final = {
    "GET": (1, _unless_nil),
    "GETEX": (1, _unless_nil),
    "GETDEL": (1, _unless_nil),
    "HGET": (1, _unless_nil),
    "HGETALL": (1, _unless_empty),  # there are no empty hashes in Redis
    "HEXISTS": (1, _the_number),
    "MGET": (_keys, _those_not_nil),
    "HMGET": (_fields, _those_not_nil),
    "EXISTS": (_keys, _the_number),
    "TOUCH": (_keys, _the_number),
    "DEL": (_keys, _the_number),
    "UNLINK": (_keys, _the_number),
}
_STORES: Final = {
    "SET": (1, _set),
    "SETNX": (1, _the_number),
    "HSETNX": (1, _the_number),
    "MSETNX": (1, _the_number),
}

# ruff: noqa: SIM905  # a list of 200 strings is no clearer
_OF_A_KEY: Final = frozenset(
    """
    APPEND DECR DECRBY GETRANGE GETSET INCR INCRBY INCRBYFLOAT MSET PSETEX SETEX SETRANGE STRLEN SUBSTR WATCH
    BITCOUNT BITFIELD BITFIELD_RO BITPOS GETBIT SETBIT
    COPY DUMP MOVE EXPIRE EXPIREAT EXPIRETIME PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PTTL RENAME RENAMENX RESTORE SORT
    SORT_RO TTL TYPE
    HDEL HEXPIRE HGETDEL HGETEX HINCRBY HINCRBYFLOAT HKEYS HLEN HMSET HPERSIST HPEXPIRE HPTTL HRANDFIELD HSCAN HSET
    HSETEX HSTRLEN HTTL HVALS
    BLMOVE BLPOP BRPOP BRPOPLPUSH LCS LINDEX LINSERT LLEN LMOVE LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM RPOP
    RPOPLPUSH RPUSH RPUSHX
    SADD SCARD SDIFF SDIFFSTORE SINTER SINTERSTORE SISMEMBER SMEMBERS SMISMEMBER SMOVE SPOP SRANDMEMBER SREM SSCAN
    SUNION SUNIONSTORE
    BZPOPMAX BZPOPMIN ZADD ZCARD ZCOUNT ZDIFFSTORE ZINCRBY ZINTERSTORE ZLEXCOUNT ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER
    ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE
    ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNIONSTORE
    XACK XADD XAUTOCLAIM XCLAIM XDEL XLEN XPENDING XRANGE XREVRANGE XSETID XTRIM
    GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH
    GEOSEARCHSTORE PFADD PFCOUNT PFMERGE
    """.split()
)
_OF_NO_KEY: Final = frozenset(
    """
    BITOP BLMPOP BZMPOP EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO KEYS LMPOP PING PUBLISH RANDOMKEY SCAN SCRIPT
    SINTERCARD SPUBLISH UNWATCH WAIT XGROUP XINFO XREAD XREADGROUP ZDIFF ZINTER ZINTERCARD ZMPOP ZUNION
    SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE
    """.split()
)
_ADMIN: Final = frozenset(
    """
    ACL ASKING AUTH BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMAND CONFIG DBSIZE DEBUG DISCARD ECHO EXEC FAILOVER FLUSHALL
    FLUSHDB FUNCTION HELLO INFO LASTSAVE LATENCY LOLWUT MEMORY MIGRATE MODULE MONITOR MULTI OBJECT PFDEBUG PFSELFTEST
    PSYNC PUBSUB QUIT READONLY READWRITE REPLCONF REPLICAOF RESET RESTORE-ASKING ROLE SAVE SELECT SENTINEL SHUTDOWN
    SLAVEOF SLOWLOG SWAPDB SYNC TIME WAITAOF
    """.split()
)
_MODULES: Final = frozenset("BF CF CMS FT JSON TDIGEST TOPK TS".split())

_OTHER: Final = Command(lines("redis.other"), False, 0, _no_count)
_MAX_NAMES: Final = 1024


class _Commands(dict[Any, Command]):
    """Commands by their name as the application gave it; a new one is looked up once."""

    def __missing__(self, name: Any) -> Command:
        command = _command(name)
        if len(self) < _MAX_NAMES:
            self[name] = command
        return command


def _command(given: Any) -> Command:
    if isinstance(given, bytes):
        given = given.decode("ascii", "replace")
    if not isinstance(given, str):
        return _OTHER
    name = given.strip().partition(" ")[0].upper()  # "CONFIG GET"
    if counts := _LOOKUPS.get(name) or _STORES.get(name):
        return Command(lines(f"redis.{name.lower()}"), True, *counts)
    if name in _OF_A_KEY:
        return Command(lines(f"redis.{name.lower()}"), True, 0, _no_count)
    if name in _OF_NO_KEY:
        return Command(lines(f"redis.{name.lower()}"), False, 0, _no_count)
    if name in _ADMIN:
        return Command(lines("redis.admin"), False, 0, _no_count)
    module = name.partition(".")[0]
    if "." in name and module in _MODULES:
        return Command(lines(f"redis.{module.lower()}"), False, 0, _no_count)
    return _OTHER


_commands: Final = _Commands()


def command_of(arguments: Arguments) -> Command:
    """Return the command of these arguments. Never raises, whatever they are."""
    try:
        return _commands[arguments[0]]
    except (IndexError, TypeError):  # none; one that cannot be hashed
        return _OTHER


def key_of(command: Command, arguments: Arguments) -> object:
    if not command.has_key or len(arguments) < 2:
        return None
    key = arguments[1]
    return key[:MAX_TEXT_CHARS] if (type(key) is str or type(key) is bytes) and len(key) > MAX_TEXT_CHARS else key
