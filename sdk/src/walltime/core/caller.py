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
    from collections.abc import Iterable
    from types import CodeType, FrameType

    from walltime.core.call import Line

LONG_NS: Final = 1_000_000
"""Minimum duration of a call for which the caller is located."""
MAX_NOTED: Final = 1000
"""Located calls per transaction; it keeps no more calls."""

MAX_FRAMES: Final = 100
"""Frames of the stack that are searched for the application."""
MAX_PLACES: Final = 4096
"""Maximum size of each cache below; a full cache is cleared."""

INTERMEDIATE_PACKAGES: Final = frozenset({
    "pymysql", "MySQLdb", "mysql", "aiomysql", "asyncmy", "sqlalchemy", "django", "flask_sqlalchemy", "sqlmodel",
    "peewee", "pony", "tortoise", "databases", "alembic", "pandas", "greenlet", "gevent", "opentelemetry", "aiosqlite",
    "anyio", "asyncpg", "psycopg", "psycopg2",
    "pymemcache", "redis", "requests", "urllib3", "httpx", "httpcore", "aiohttp",
    "sentry_sdk", "ddtrace", "newrelic", "elasticapm",
})  # fmt: skip
"""Packages that make calls for the application."""


class Place(NamedTuple):
    """A line of code."""

    path: str
    short_path: str
    """From the import path on, as in `shop/views.py`."""
    line: int
    function: str
    """With its class where Python knows it (3.11)."""


APPLICATION, LIBRARY, INTERMEDIATE = 1, 2, 3
"""Categories of files."""

_categories: dict[str, int] = {}
_places: dict[tuple[int, int], tuple[CodeType, Place]] = {}
_OURS: Final = str(Path(__file__).parents[1])
_INSTALLED: Final = ("/site-packages/", "/dist-packages/")
_FOLDERS: Final = (*map(sysconfig.get_path, ("stdlib", "platstdlib", "scripts")), sys.base_prefix + "/bin")
_PYTHONS: Final = tuple([folder.replace("\\", "/") + "/" for folder in _FOLDERS])
"""Its library, and the folder of the scripts that start a server."""


def find(skip: int = 1) -> Place | None:
    """
    Return the innermost line of the application on the stack; None when there is none.

    The application is code that is neither installed in site-packages nor part of Python. When all code is installed
    there, it is the innermost package that is not a driver, an ORM or a framework (`INTERMEDIATE_PACKAGES`).

    Args:
        skip: number of innermost frames that belong to Walltime.
    """
    found, second = _search(sys._getframe(skip))
    if found is None and (greenlet := sys.modules.get("greenlet")) is not None:
        # SQLAlchemy's asyncio runs the driver in a greenlet; the coroutine that waits for it is in the one below.
        below = greenlet.getcurrent().parent
        if below is not None:
            found, more = _search(below.gr_frame)
            second = second or more
    found = found or second
    return None if found is None else place(found.f_code, found.f_lasti)


def place_of(frames: Iterable[FrameType]) -> Place | None:
    """Return the innermost line of the application on a stack of any thread, innermost frame first."""
    found: FrameType | None = None
    for frame in frames:
        category = category_of(frame.f_code.co_filename)
        if category == APPLICATION or (category == LIBRARY and found is None):
            found = frame
        if category == APPLICATION:
            break
    return None if found is None else place(found.f_code, found.f_lasti)


def _search(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """Return the innermost frame of the application, and that of the first installed package as a second choice."""
    second: FrameType | None = None
    categories = _categories
    frames = MAX_FRAMES
    while frame is not None and frames:
        frames -= 1
        path = frame.f_code.co_filename
        try:
            category = categories[path]
        except KeyError:
            category = category_of(path)
        if category == APPLICATION:
            return frame, second
        if category == LIBRARY and second is None:
            second = frame
        frame = frame.f_back
    return None, second


def is_located(line: Line) -> bool:
    """Say whether calls of this line are located: SQL calls are."""
    return LINES[line].component.startswith("mysql.")


def place(code: CodeType, offset: int) -> Place:
    """Return the line of the instruction at an offset, as in `frame.f_lasti`."""
    key = (id(code), offset)
    known = _places.get(key)
    if known is None:
        if len(_places) >= MAX_PLACES:
            _places.clear()
        path = code.co_filename
        function = getattr(code, "co_qualname", code.co_name)
        known = (code, Place(path, _shortened(path), _line(code, offset), function))
        _places[key] = known  # the code object is kept too, so its id is not reused
    return known[1]


def _line(code: CodeType, offset: int) -> int:
    for _, end, line in code.co_lines():
        if offset < end:
            return line or code.co_firstlineno
    return code.co_firstlineno


def category_of(path: str) -> int:
    """Return the category of a file: APPLICATION, LIBRARY or another."""
    known = _categories.get(path)
    if known is None:
        if len(_categories) >= MAX_PLACES:
            _categories.clear()
        known = _categories[path] = _category(path.replace("\\", "/"))
    return known


def _category(path: str) -> int:
    if path.startswith((_OURS, "<frozen ")):
        return INTERMEDIATE
    if path.startswith("<"):  # code generated at run time
        return LIBRARY
    for installed in _INSTALLED:
        if installed in path:
            package = path.rpartition(installed)[2].partition("/")[0].removesuffix(".py")
            return INTERMEDIATE if package in INTERMEDIATE_PACKAGES else LIBRARY
    return INTERMEDIATE if path.startswith(_PYTHONS) else APPLICATION


def _shortened(path: str) -> str:
    """Return the path relative to the longest entry of `sys.path` that contains it."""
    found = [
        entry for entry in sys.path if entry and path.startswith(entry.rstrip("/\\") + ("\\" if "\\" in path else "/"))
    ]
    return path[len(max(found, key=len).rstrip("/\\")) + 1 :] if found else path
