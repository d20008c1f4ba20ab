"""
pymemcache: every operation of `Client`, which `PooledClient`, `HashClient` and `RetryingClient` use underneath.

Timed on the three methods that do the round trips, because only there hits, misses and swallowed errors differ: a
default, a falsy value and an error that `ignore_exc` hides look the same from outside. Calls that are never made,
because a `HashClient` knows the server to be dead, are in pymemcache_hash.py.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pymemcache import Client  # the class itself: ddtrace puts another one into pymemcache.client.base
from pymemcache.pool import ObjectPool

from walltime.clients.cache import pymemcache_hash
from walltime.clients.cache.pymemcache_hash import first_of
from walltime.core.call import lines
from walltime.core.execution import elsewhere, get_ident, inherited
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.measure import Measure, class_name
from walltime.instrumentation.patching import Patch, takes_no_more
from walltime.instrumentation.timed import timed, waited

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Line, Target
    from walltime.instrumentation.measure import Described

REQUIRES: Final = "pymemcache >= 4.0, < 5"

_LINES: Final = {
    command.encode(): lines(f"memcache.{command}")
    for command in (
        "get", "set", "add", "replace", "append", "prepend", "cas", "delete", "incr", "decr", "touch",
    )
} | dict.fromkeys((b"gets", b"gat", b"gats"), lines("memcache.get"))  # fmt: skip
_ADMIN: Final = lines("memcache.admin")
"""stats, version, flush_all, quit, raw commands: no keys."""
_NO_REPLY: Final = -1
_SWALLOWED: Final = "_walltime_swallowed"


def patches() -> list[Patch]:
    takes_no_more(Client, "_fetch_cmd", "self", "name", "keys", "expect_cas", "key_prefix", "expire")
    takes_no_more(Client, "_store_cmd", "self", "name", "values", "expire", "noreply", "flags", "cas")
    takes_no_more(Client, "_misc_cmd", "self", "cmds", "cmd_name", "noreply", "end_tokens")
    return [
        Patch(Client, "_connect", timed("pymemcache", "memcache.connect", attrgetter("server")).call),
        Patch(Client, "_fetch_cmd", _fetch),
        Patch(Client, "_store_cmd", _store),
        Patch(Client, "_misc_cmd", _misc),
        Patch(Client, "close", _close),
        Patch(ObjectPool, "get", waited("memcache.pool", _server_of_pool).call),
        *pymemcache_hash.patches(),
    ]


def _server_of_pool(pool: Any) -> Target | None:
    # The pool makes its clients by a method of the PooledClient.
    target: Target | None = getattr(getattr(pool._obj_creator, "__self__", None), "server", None)
    return target


# Inline: a get costs 0.6 µs, by the gate 1.3 µs; a set 0.95 and 1.55 µs (stub benchmark). Errors go through the gate.
def _fetch(original: Callable[..., Any]) -> Callable[..., Any]:
    failed = Measure("pymemcache", _describe_failure).end

    def _fetch_cmd(
        self: Client, name: bytes, keys: Any, expect_cas: bool, key_prefix: bytes = b"", expire: Any = None
    ) -> Any:
        execution = inherited()
        if execution is not None and execution.thread != get_ident():
            execution = elsewhere(execution)
        if execution is None:
            outside("pymemcache")
            if expire is None:
                return original(self, name, keys, expect_cas, key_prefix)
            return original(self, name, keys, expect_cas, key_prefix, expire)  # get-and-touch, newer than 4.0.0
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            if expire is None:
                values = original(self, name, keys, expect_cas, key_prefix)
            else:
                values = original(self, name, keys, expect_cas, key_prefix, expire)
        except BaseException as error:
            failed(execution, started_ns, clock(), outer_ns, self, (name, keys if name in _LINES else ()), None, error)
            raise
        ended_ns = clock()
        try:
            # After an error the client is closed; after an answer, also one without any key, it is open.
            failure = None if values or self.sock is not None else getattr(self, _SWALLOWED, "Exception")
            try:
                line: Line | None = self._walltime[name]
            except (AttributeError, KeyError):
                line = _known(self, name)
            if line is None:
                execution.record(_ADMIN[self.server], None, started_ns, ended_ns, outer_ns, failure)
            elif type(keys) is list and len(keys) == 1:
                execution.record(line, keys[0], started_ns, ended_ns, outer_ns, failure, 1, len(values))
            else:
                subject, requested = first_of(keys)
                # A key that is requested twice is found twice, by the server's count, and is once in the answer.
                hits = requested if len(values) == requested else sum(key in values for key in keys) if requested else 0
                execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, requested, hits)
        except Exception as ours:
            contain("pymemcache", ours)
        return values

    return _fetch_cmd


def _describe_failure(client: Client, args: Any, _values: Any, _error: BaseException | None) -> Described:
    name, keys = args
    subject, requested = first_of(keys)
    return _LINES.get(name, _ADMIN)[client.server], subject, None, requested, 0


def _known(client: Client, command: bytes) -> Line | None:
    """Find out once for a client what its calls of this command are recorded as; None for one without keys."""
    at = _LINES.get(command)
    if at is None:
        return None
    known = getattr(client, "_walltime", None)
    if known is None:
        known = client._walltime = {}
    line: Line = at[client.server]
    known[command] = line
    return line


def _close(original: Callable[..., Any]) -> Callable[..., Any]:
    """An error that `ignore_exc` will swallow closes the connection first: its name is kept for `_fetch_cmd`."""

    def close(self: Client) -> None:
        try:
            error = sys.exc_info()[1]
            if error is not None:
                setattr(self, _SWALLOWED, class_name(error))
        except Exception as ours:
            contain("pymemcache", ours)
        original(self)

    return close


def _store(original: Callable[..., Any]) -> Callable[..., Any]:
    failed = Measure("pymemcache", _describe_failure).end

    def _store_cmd(
        self: Client, name: bytes, values: Any, expire: int, noreply: bool, flags: Any = None, cas: Any = None
    ) -> Any:
        execution = inherited()
        if execution is not None and execution.thread != get_ident():
            execution = elsewhere(execution)
        if execution is None:
            outside("pymemcache")
            return original(self, name, values, expire, noreply, flags, cas)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            stored = original(self, name, values, expire, noreply, flags, cas)
        except BaseException as error:
            failed(execution, started_ns, clock(), outer_ns, self, (name, values), None, error)
            raise
        ended_ns = clock()
        try:
            subject, requested = first_of(values)
            count = _NO_REPLY if noreply else sum(map(bool, stored.values()))
            line = _LINES.get(name, _ADMIN)[self.server]
            execution.record(line, subject, started_ns, ended_ns, outer_ns, None, requested, count)
        except Exception as ours:
            contain("pymemcache", ours)
        return stored

    return _store_cmd


def _misc(original: Callable[..., Any]) -> Callable[..., Any]:
    end = Measure("pymemcache", _describe_misc).end

    def _misc_cmd(self: Client, cmds: Any, cmd_name: bytes, noreply: Any, end_tokens: Any = None) -> Any:
        execution = inherited()
        if execution is not None and execution.thread != get_ident():
            execution = elsewhere(execution)
        if execution is None:
            outside("pymemcache")
            return original(self, cmds, cmd_name, noreply, end_tokens)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            answers = original(self, cmds, cmd_name, noreply, end_tokens)
        except BaseException as error:
            end(execution, started_ns, clock(), outer_ns, self, (cmds, cmd_name, noreply), None, error)
            raise
        end(execution, started_ns, clock(), outer_ns, self, (cmds, cmd_name, noreply), answers, None)
        return answers

    return _misc_cmd


_REFUSALS: Final = (b"NOT_FOUND", b"NOT_STORED")


def _describe_misc(client: Client, args: Any, answers: Any, error: BaseException | None) -> Described:
    commands, name, noreply = args
    subject, requested = _key_in(client, commands, name)
    matched = _NO_REPLY if noreply and error is None else 0
    if error is None and not noreply:
        for answer in answers:  # half the time of a `sum`
            matched += not answer.startswith(_REFUSALS)
    try:
        line: Line | None = client._walltime[name]
    except (AttributeError, KeyError):
        line = _known(client, name)
    return _ADMIN[client.server] if line is None else line, subject, None, requested, matched


def _key_in(client: Client, commands: Any, name: bytes) -> tuple[object, int]:
    """The first key in written commands, as the application gave it, and how many there are."""
    if name not in _LINES or not commands:
        return None, 0
    words = commands[0].split(None, 2)
    return (words[1].removeprefix(client.key_prefix), len(commands)) if len(words) > 1 else (None, 0)
