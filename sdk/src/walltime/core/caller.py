"""
Which line of the application made a call: for the kept calls of SQL, and for the comments that ask for it.

Looked up on the request's thread (`find`), because only there the frames are. It costs 1 µs, under an ORM 3 µs. So
`Transaction.locate` looks up only calls of a transaction that is certain to be kept, calls that fail, and calls that
last over a millisecond. For the others `otlp_calls` knows where the statement was last seen.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from walltime.core.call import LINES

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from walltime.core.call import Line

LONG_NS: Final = 1_000_000
"""A call that took this long is worth looking for who made it."""
MAX_NOTED: Final = 1000
"""Of one transaction; it keeps no more calls."""

MAX_FRAMES: Final = 100
"""How far up the stack the application is looked for."""
MAX_PLACES: Final = 4096
"""Places and files that are remembered; with more, remembering begins anew."""

PLUMBING: Final = frozenset(
    {
        "pymysql", "MySQLdb", "mysql", "aiomysql", "asyncmy", "sqlalchemy", "django", "flask_sqlalchemy", "sqlmodel",
        "peewee", "pony", "tortoise", "databases", "alembic", "pandas", "greenlet", "gevent", "opentelemetry",
        "sentry_sdk", "ddtrace", "newrelic", "elasticapm",
    }
)  # fmt: skip
"""Packages that make calls for somebody else."""


class Place(NamedTuple):
    """A line of code."""

    path: str
    short_path: str
    """From the import path on, as in `shop/views.py`."""
    line: int
    function: str
    """With its class where Python knows it (3.11)."""


_APPLICATION, _LIBRARY, _PLUMBING = 1, 2, 3

_kinds: dict[str, int] = {}
_places: dict[tuple[int, int], tuple[CodeType, Place]] = {}
_OURS: Final = str(Path(__file__).parents[1])
_INSTALLED: Final = ("/site-packages/", "/dist-packages/")
_PYTHONS: Final = tuple(
    [
        folder.replace("\\", "/") + "/"
        for folder in (*map(sysconfig.get_path, ("stdlib", "platstdlib", "scripts")), sys.base_prefix + "/bin")
    ]
)
"""Its library, and the folder of the scripts that start a server."""


def find(skip: int = 1) -> Place | None:
    """
    Return the innermost line of the application on the stack; None when there is none.

    The application is what is neither installed in site-packages nor Python's own. When all of it is installed there,
    it is the innermost package that is neither a driver, an ORM nor a framework (`PLUMBING`).

    Args:
        skip: innermost frames that are known to be ours.
    """
    found, second = _search(sys._getframe(skip))
    if found is None and (greenlet := sys.modules.get("greenlet")) is not None:
        # SQLAlchemy's asyncio runs the driver in a greenlet; the coroutine that waits for it is in the one below.
        below = greenlet.getcurrent().parent
        if below is not None:
            found, more = _search(below.gr_frame)
            second = second or more
    found = found or second
    return None if found is None else _place(found)


def _search(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """The innermost frame of the application, and that of the first package in case there is none."""
    second: FrameType | None = None
    kinds = _kinds
    frames = MAX_FRAMES
    while frame is not None and frames:
        frames -= 1
        path = frame.f_code.co_filename
        try:
            kind = kinds[path]
        except KeyError:
            kind = _kind(path)
        if kind == _APPLICATION:
            return frame, second
        if kind == _LIBRARY and second is None:
            second = frame
        frame = frame.f_back
    return None, second


def is_located(line: Line) -> bool:
    """Say whether the place of such a call is kept: of those of SQL."""
    return LINES[line].component.startswith("mysql.")


def _place(frame: FrameType) -> Place:
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    known = _places.get(key)
    if known is None:
        if len(_places) >= MAX_PLACES:
            _places.clear()
        path = code.co_filename
        function = getattr(code, "co_qualname", code.co_name)
        known = (code, Place(path, _shortened(path), frame.f_lineno, function))
        _places[key] = known  # with the code, which lives on, so its id stays its own
    return known[1]


def _kind(path: str) -> int:
    if len(_kinds) >= MAX_PLACES:
        _kinds.clear()
    kind = _kinds[path] = _judged(path.replace("\\", "/"))
    return kind


def _judged(path: str) -> int:
    if path.startswith((_OURS, "<frozen ")):
        return _PLUMBING
    if path.startswith("<"):  # code that was made at run time
        return _LIBRARY
    for installed in _INSTALLED:
        if installed in path:
            package = path.rpartition(installed)[2].partition("/")[0].removesuffix(".py")
            return _PLUMBING if package in PLUMBING else _LIBRARY
    return _PLUMBING if path.startswith(_PYTHONS) else _APPLICATION


def _shortened(path: str) -> str:
    """The path without the longest entry of `sys.path` that it is in."""
    found = [
        entry for entry in sys.path if entry and path.startswith(entry.rstrip("/\\") + ("\\" if "\\" in path else "/"))
    ]
    return path[len(max(found, key=len).rstrip("/\\")) + 1 :] if found else path
