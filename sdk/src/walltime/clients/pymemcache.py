"""
pymemcache: every operation of `Client`, which `PooledClient`, `HashClient` and `RetryingClient` use underneath.

Timed on the three methods that do the round trips, because only there hits, misses and swallowed errors can be told
apart: a default, a falsy value and an error that `ignore_exc` hides look the same from outside.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pymemcache.client.base import Client

from walltime.call import lines
from walltime.clients.timed import timed
from walltime.hotpath import clock, current, outside
from walltime.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "pymemcache >= 4.0, < 5"

_LINES: Final = {
    command.encode(): lines(f"memcache.{command}")
    for command in (
        "get", "set", "add", "replace", "append", "prepend", "cas", "delete", "incr", "decr", "touch",
    )
} | dict.fromkeys((b"gets", b"gat", b"gats"), lines("memcache.get"))  # fmt: skip
_ADMIN: Final = lines("memcache.admin")
"""stats, version, flush_all, quit: no keys."""
_SWALLOWED: Final = "swallowed"
"""The failure of a call whose exception `ignore_exc` kept from us."""
_NO_REPLY: Final = -1


def patches() -> list[Patch]:
    return [
        Patch(Client, "_connect", timed("pymemcache", "memcache.connect", attrgetter("server"))),
        Patch(Client, "_fetch_cmd", _fetch),
        Patch(Client, "_store_cmd", _store),
        Patch(Client, "_misc_cmd", _misc),
    ]


def _fetch(original: Callable[..., Any]) -> Callable[..., Any]:
    def _fetch_cmd(self: Client, name: bytes, keys: Any, expect_cas: bool, key_prefix: bytes = b"") -> Any:
        strand = current()
        if strand is None:
            outside("pymemcache")
            return original(self, name, keys, expect_cas, key_prefix)
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        started_ns = clock()
        try:
            found = original(self, name, keys, expect_cas, key_prefix)
        except BaseException as error:
            ended_ns = clock()
            subject, asked = _first(keys)
            line = _LINES.get(name, _ADMIN)[self.server]
            strand.record(line, subject, started_ns, ended_ns, outer_ns, type(error).__name__, asked)
            raise
        ended_ns = clock()
        at = _LINES.get(name)
        if at is None:
            strand.record(_ADMIN[self.server], None, started_ns, ended_ns, outer_ns)
            return found
        # After an error the client is closed; after an answer, also one without any key, it is open.
        failure = _SWALLOWED if not found and self.sock is None else None
        if type(keys) is list and len(keys) == 1:
            strand.record(at[self.server], keys[0], started_ns, ended_ns, outer_ns, failure, 1, len(found))
        else:
            subject, asked = _first(keys)
            # A key asked for twice is found twice, says the server, and is once in the answer.
            hits = asked if len(found) == asked else sum(key in found for key in keys)
            strand.record(at[self.server], subject, started_ns, ended_ns, outer_ns, failure, asked, hits)
        return found

    return _fetch_cmd


def _store(original: Callable[..., Any]) -> Callable[..., Any]:
    def _store_cmd(
        self: Client, name: bytes, values: Any, expire: int, noreply: bool, flags: Any = None, cas: Any = None
    ) -> Any:
        strand = current()
        if strand is None:
            outside("pymemcache")
            return original(self, name, values, expire, noreply, flags, cas)
        at = _LINES.get(name, _ADMIN)
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        started_ns = clock()
        try:
            stored = original(self, name, values, expire, noreply, flags, cas)
        except BaseException as error:
            subject, asked = _first(values)
            strand.record(at[self.server], subject, started_ns, clock(), outer_ns, type(error).__name__, asked)
            raise
        ended_ns = clock()
        subject, asked = _first(values)
        count = _NO_REPLY if noreply else sum(map(bool, stored.values()))
        strand.record(at[self.server], subject, started_ns, ended_ns, outer_ns, None, asked, count)
        return stored

    return _store_cmd


_REFUSALS: Final = (b"NOT_FOUND", b"NOT_STORED")


def _misc(original: Callable[..., Any]) -> Callable[..., Any]:
    def _misc_cmd(self: Client, cmds: Any, cmd_name: bytes, noreply: Any, end_tokens: Any = None) -> Any:
        strand = current()
        if strand is None:
            outside("pymemcache")
            return original(self, cmds, cmd_name, noreply, end_tokens)
        at = _LINES.get(cmd_name, _ADMIN)
        # The key of delete, incr, decr and touch stands second in the command.
        subject, asked = (None, 0) if at is _ADMIN else (cmds[0].split(None, 2)[1], len(cmds))
        outer_ns, strand.nested_ns = strand.nested_ns, 0
        started_ns = clock()
        try:
            lines = original(self, cmds, cmd_name, noreply, end_tokens)
        except BaseException as error:
            strand.record(at[self.server], subject, started_ns, clock(), outer_ns, type(error).__name__, asked)
            raise
        ended_ns = clock()
        found = _NO_REPLY if noreply else sum(not line.startswith(_REFUSALS) for line in lines)
        strand.record(at[self.server], subject, started_ns, ended_ns, outer_ns, None, asked, found)
        return lines

    return _misc_cmd


def _first(keys: Any) -> tuple[object, int]:
    """The first key, and how many there are."""
    return next(iter(keys), None), len(keys)
