"""One finished call as the hot path leaves it and the export thread reads it: a plain tuple, nothing named yet."""

from __future__ import annotations

from typing import Final, TypeAlias

Target: TypeAlias = "tuple[str, int] | str"
"""A server as its client knows it: (host, port) or the path of a socket. Written as text at export only."""

Call: TypeAlias = "tuple[str, Target | None, object, int, int, int, str | None, int, int]"
"""
One finished call: (component, target, subject, started_ns, ended_ns, own_ns, failure, asked, found).

subject   what was asked for, still raw: SQL text, a memcache key, (method, scheme, URL), or `CONTINUED`
own_ns    exclusive time: ended − started less the time of the measured calls inside it
failure   None, or what went wrong in a word: an error number, an exception's class, an HTTP status
asked     memcache: keys asked for
found     memcache: keys found or stored, −1 without a reply; MySQL: rows; HTTP: status code
"""

CONTINUED: Final = "walltime: more of a call that is counted already"
"""Subject of a record that adds time to its component but is no call of its own (an HTTP body that is read later)."""
