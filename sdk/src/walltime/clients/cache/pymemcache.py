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

from walltime import native
from walltime.clients.cache import pymemcache_hash
from walltime.clients.cache.pymemcache_hash import first_of
from walltime.core.call import lines
from walltime.errors import contain
from walltime.instrumentation.measure import Measure, class_name
from walltime.instrumentation.patching import Patch, takes_no_more
from walltime.instrumentation.template import Inline, recorded
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
        Patch(Client, "_fetch_cmd", Measure("pymemcache", _describe_fetch, inline=_FETCH).call),
        Patch(Client, "_store_cmd", Measure("pymemcache", _describe_store, inline=_STORE).call),
        Patch(Client, "_misc_cmd", Measure("pymemcache", _describe_misc, inline=_MISC).call),
        Patch(Client, "close", _close),
        Patch(ObjectPool, "get", waited("memcache.pool", _server_of_pool).call),
        *pymemcache_hash.patches(),
    ]


def _server_of_pool(pool: Any) -> Target | None:
    # The pool makes its clients by a method of the PooledClient.
    target: Target | None = getattr(getattr(pool._obj_creator, "__self__", None), "server", None)
    return target


# Inline: a get costs 0.7 µs, by the gate 1.3 µs; a set 1.0 and 1.7 µs (stub benchmark).
_FETCH: Final = Inline(
    "_fetch_cmd(self, name, keys, expect_cas, key_prefix=b'', expire=None)", "(name, keys)",
    # `expire` (get-and-touch) is newer than 4.0.0.
    call="original(self, name, keys, expect_cas, key_prefix) if expire is None else "
    "original(self, name, keys, expect_cas, key_prefix, expire)",
    known="self._walltime[name]",
    usual="type(keys) is list and ((n := len(keys)) == 1 or n and n == len(result))"
    " and (result or self.sock is not None)",
    record=recorded("known", "keys[0]", "n", "len(result)"),
    native=native.LOOKUP,
)  # fmt: skip
_STORE: Final = Inline(
    "_store_cmd(self, name, values, expire, noreply, flags=None, cas=None)", "(name, values, noreply)",
    known="self._walltime[name]",
    usual="type(values) is dict and len(values) == 1 and not noreply",
    record=recorded("known", "next(iter(values))", "1", "1 if True in result.values() else 0"),
)  # fmt: skip
_REFUSALS: Final = (b"NOT_FOUND", b"NOT_STORED")
_MISC: Final = Inline(
    "_misc_cmd(self, cmds, cmd_name, noreply, end_tokens=None)", "(cmds, cmd_name, noreply)",
    known="self._walltime[cmd_name]",
    usual="len(cmds) == 1 and not noreply and len(words := cmds[0].split(None, 2)) > 1",
    record=recorded(
        "known", "words[1].removeprefix(self.key_prefix)", "1", f"0 if result[0].startswith({_REFUSALS}) else 1"
    ),
)  # fmt: skip


def _describe_fetch(client: Client, args: Any, values: Any, error: BaseException | None) -> Described:
    name, keys = args
    line, failure, hits = _known(client, name), None, 0
    if error is None and not values and client.sock is None:
        # After an error the client is closed; after an answer, also one without any key, it is open.
        failure = getattr(client, _SWALLOWED, "Exception")
    if line is None:
        return _ADMIN[client.server], None, failure, 0, 0
    subject, requested = first_of(keys)
    if error is None:
        # A key that is requested twice is found twice, by the server's count, and is once in the answer.
        hits = requested if len(values) == requested else sum(key in values for key in keys) if requested else 0
    return line, subject, failure, requested, hits


def _describe_store(client: Client, args: Any, stored: Any, error: BaseException | None) -> Described:
    name, values, noreply = args
    line = _known(client, name)
    subject, requested = first_of(values)
    count = 0 if error is not None else _NO_REPLY if noreply else sum(map(bool, stored.values()))
    return _ADMIN[client.server] if line is None else line, subject, None, requested, count


def _known(client: Client, command: bytes) -> Line | None:
    """Return what a client's calls of this command are recorded as, found out once; None for one without keys."""
    try:
        line: Line = client._walltime[command]
    except (AttributeError, KeyError):
        at = _LINES.get(command)
        if at is None:
            return None
        known = getattr(client, "_walltime", None)
        if known is None:
            known = client._walltime = {}
        line = known[command] = at[client.server]
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


def _describe_misc(client: Client, args: Any, answers: Any, error: BaseException | None) -> Described:
    commands, name, noreply = args
    subject, requested = _key_in(client, commands, name)
    matched = _NO_REPLY if noreply and error is None else 0
    if error is None and not noreply:
        for answer in answers:  # half the time of a `sum`
            matched += not answer.startswith(_REFUSALS)
    line = _known(client, name)
    return _ADMIN[client.server] if line is None else line, subject, None, requested, matched


def _key_in(client: Client, commands: Any, name: bytes) -> tuple[object, int]:
    """The first key in written commands, as the application gave it, and how many there are."""
    if name not in _LINES or not commands:
        return None, 0
    words = commands[0].split(None, 2)
    return (words[1].removeprefix(client.key_prefix), len(commands)) if len(words) > 1 else (None, 0)
