"""One finished call, as the hot path records it and the export thread reads it: a tuple of numbers and raw values."""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NewType, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Target: TypeAlias = "tuple[str, int] | str"
"""A server as its client knows it: (host, port) or the path of a socket. Formatted at export."""


@lru_cache(maxsize=1024)
def address(target: Target) -> str:
    """`host:port`, `[v6]:port` or the path of a socket."""
    if isinstance(target, str):
        return target
    host, port = target
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


Line = NewType("Line", int)
"""
A line of the bill (a component at a server) as a small number; `LINES` has its meaning.

It is a number because the garbage collector stops tracking tuples of numbers and strings.
"""

Call: TypeAlias = "tuple[Line, object, int, int, int, str | None, int, int]"
"""
One finished call: (line, subject, started_ns, ended_ns, own_ns, failure, requested, matched).

subject   what the call is about, raw: SQL text, a cache key, (method, scheme, URL), or a `Piece`
own_ns    exclusive time: ended − started less the time of the measured calls inside it
failure   None, or one word: an error number, an exception's class, an HTTP status; or `SKIPPED`
requested cache: keys of the call; MySQL: the connection's id; HTTP: earlier attempts of the request
matched   cache: keys that hit or were stored, −1 without a reply; MySQL: rows; HTTP: status code; connecting: CPU time
"""

CONTINUED: Final = "walltime: more of a call that is counted already"
"""Subject of a piece without its call: it adds time to its component and does not count as a call."""


class Piece:
    """
    Subject of a record that is a piece of a call, such as reading a response's body (`pieces.py`).

    `of` is the call's own subject, the very object: a tuple made for this call alone.
    """

    __slots__ = ("of",)

    def __init__(self, of: tuple[object, ...]) -> None:
        self.of = of


SKIPPED: Final = "skipped"
"""Failure of a call that was not made, for example to a cache server that is marked as dead."""

CALL_BYTES: Final = 256
"""Memory of a call without its text: a tuple of eight and its numbers, 245 bytes measured."""
_FEW_CHARS: Final = 65_536
"""Texts of fewer characters together are not measured one by one."""


def text_bytes(calls: Sequence[Call]) -> int:
    """Return about how much memory the calls' texts hold: SQL, keys, URLs; 40 ns a call. A shared text counts once."""
    chars = 0
    for call in calls:  # one loop takes half the time of comprehensions, and of loops in C
        subject: Any = call[1]
        kind = type(subject)
        if kind is str or kind is bytes:
            chars += len(subject)
        elif kind is tuple:
            chars += sum([len(text) for text in subject if type(text) is str])
    if chars < _FEW_CHARS:
        return chars
    texts = [call[1] for call in calls if type(call[1]) is str or type(call[1]) is bytes]
    texts += [text for call in calls if type(call[1]) is tuple for text in call[1] if type(text) is str]
    return sum(map(getsizeof, {id(text): text for text in texts}.values()))


def as_text(subject: object) -> str | bytes:
    """Return SQL that is not exactly `str`. No method of the application's classes is called: it may do anything."""
    kind = type(subject)
    if issubclass(kind, str):
        return str.__str__(subject)
    return b"".join((subject,)) if issubclass(kind, (bytes, bytearray)) else f"({kind.__name__})"  # type: ignore[arg-type]


MAX_LINES: Final = 16_384
"""Maximum of lines in one process. Further servers share the line without an address."""
OTHER: Final = "(other)"
"""Component, target or statement of calls beyond the limits."""


class Where(NamedTuple):
    """The meaning of a line."""

    component: str
    target: Target | None


LINES: Final[dict[Line, Where]] = {}
_numbers = count()


class Lines(dict["Target | None", Line]):
    """The lines of one component by server; the first lookup of a server makes its line (50 ns)."""

    def __init__(self, component: str) -> None:
        super().__init__()
        self.component = component

    def __missing__(self, target: Target | None) -> Line:
        # Two threads may make two lines for one server: the bill adds them up by name.
        if len(LINES) >= MAX_LINES and target is not None:
            return self[None]
        line = Line(next(_numbers))
        LINES[line] = Where(self.component, target)
        self[target] = line
        return line


_components: dict[str, Lines] = {}


def lines(component: str) -> Lines:
    """Return the lines of a component. For names from the application use `line`, which limits their number."""
    try:
        return _components[component]
    except KeyError:
        return _components.setdefault(component, Lines(component))


def line(component: str) -> Line:
    """Return the line of a component without servers; names beyond `MAX_LINES` share one."""
    made = _components.get(component)
    if made is None:
        made = lines(component if len(_components) < MAX_LINES else OTHER)
    return made[None]
