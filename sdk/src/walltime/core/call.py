"""One finished call as the hot path leaves it and the export thread reads it: a plain tuple, nothing named yet."""

from __future__ import annotations

from itertools import count
from typing import Final, NamedTuple, NewType, TypeAlias

Target: TypeAlias = "tuple[str, int] | str"
"""A server as its client knows it: (host, port) or the path of a socket. Written as text at export only."""

Line = NewType("Line", int)
"""
A line of the bill, a component at a server, as a small number; `LINES` says which.

A number and not an object, because a tuple of numbers and strings is one the garbage collector soon leaves alone.
"""

Call: TypeAlias = "tuple[Line, object, int, int, int, str | None, int, int]"
"""
One finished call: (line, subject, started_ns, ended_ns, own_ns, failure, asked, found).

subject   what was asked for, still raw: SQL text, a cache key, (method, scheme, URL), or a `Piece`
own_ns    exclusive time: ended − started less the time of the measured calls inside it
failure   None, or what went wrong in a word: an error number, an exception's class, an HTTP status; or `SKIPPED`
asked     cache: keys asked for; MySQL: the connection's id; HTTP: how often the request was sent before
found     cache: keys found or stored, −1 without a reply; MySQL: rows; HTTP: status code
"""

CONTINUED: Final = "walltime: more of a call that is counted already"
"""Subject on a bill of what adds time to its component but is no call of its own: a piece whose call is elsewhere."""


class Piece:
    """
    Subject of a record that is a piece of a call, such as reading a response's body (`pieces.py`).

    `of` is the call's own subject, the very object: a tuple made for this call alone.
    """

    __slots__ = ("of",)

    def __init__(self, of: tuple[object, ...]) -> None:
        self.of = of


SKIPPED: Final = "skipped"
"""Failure of a call that was not made, such as one to a cache server that is known to be dead."""

MAX_LINES: Final = 16_384
"""Lines one process can tell apart; the servers beyond share one that has no address."""
OTHER: Final = "(other)"
"""Where the calls go whose component, target or statement no longer fits."""


class Where(NamedTuple):
    """What a line stands for."""

    component: str
    target: Target | None


LINES: Final[dict[Line, Where]] = {}
_numbers = count()


class Lines(dict["Target | None", Line]):
    """The lines of one component, by server; a new server gets its line when it is first asked for, 50 ns later."""

    def __init__(self, component: str) -> None:
        super().__init__()
        self.component = component

    def __missing__(self, target: Target | None) -> Line:
        # Two threads may both make a line for one server: the bill adds them up by name.
        if len(LINES) >= MAX_LINES and target is not None:
            return self[None]
        line = Line(next(_numbers))
        LINES[line] = Where(self.component, target)
        self[target] = line
        return line


_components: dict[str, Lines] = {}


def lines(component: str) -> Lines:
    """Return the lines of a component. For names from outside use `line`, which bounds them."""
    try:
        return _components[component]
    except KeyError:
        return _components.setdefault(component, Lines(component))


def line(component: str) -> Line:
    """Return the line of a component without servers; a process's names beyond `MAX_LINES` share one."""
    made = _components.get(component)
    if made is None:
        made = lines(component if len(_components) < MAX_LINES else OTHER)
    return made[None]
