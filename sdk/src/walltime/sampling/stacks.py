"""The stack of a thread: the sampler reads code objects, the export thread turns them into lines and names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from walltime.core import caller
from walltime.sampling.frames import outward

if TYPE_CHECKING:
    from types import CodeType, FrameType

    Frames: TypeAlias = tuple[CodeType | int, ...]
    """Innermost first: the code of each frame and the offset of the instruction that it executes."""

OUTERMOST: Final = 8
INNERMOST: Final = 15
"""Of a stack of more than 24 frames, so many of its ends are shown."""

_OURS: Final = str(Path(__file__).parents[1])
_PASSED, _IN_A_CALL, _ENTRY = 1, 2, 3
_MEASURES: Final = ("/clients/", "/instrumentation/measure.py", "/instrumentation/timed.py")
_ENTRIES: Final = frozenset({
    ("wsgi.py", "serve"), ("wsgi.py", "__iter__"), ("wsgi.py", "close"), ("asgi.py", "serve"),
    ("aiohttp_web.py", "_handle_request"), ("celery.py", "trace_task"), ("rq.py", "perform"),
    ("__init__.py", "run"), ("api.py", "call"),
})  # fmt: skip
"""Files and functions that begin a transaction, or a branch of it: what called them is the server's."""

_is_ours: dict[str, bool] = {}
_roles: dict[int, tuple[CodeType, int]] = {}


class Where(NamedTuple):
    """Names for a stack, as on the bill."""

    line: str
    function: str
    library: str
    stack: str


def frames_of(frame: FrameType | None, *, in_calls: bool = False, is_in_call: bool = False) -> Frames | None:
    """
    Return a running stack down to our entry point; None inside a measured call.

    Args:
        in_calls: inside a measured call, return the stack that made it.
        is_in_call: inside one of the core in C, which has no frame: the driver's innermost frames are left out.
    """
    frames: list[CodeType | int] = []
    ours = _is_ours
    for each in outward(frame):
        code = each.f_code
        path = code.co_filename
        if path not in ours:
            _learn(path)
        if not ours[path]:
            frames.append(code)
            frames.append(each.f_lasti)
        else:
            role = role_of(code)
            if role == _IN_A_CALL:
                if not in_calls:
                    return None
                frames.clear()
            if not frames:  # the innermost says whether the thread waits
                frames += (code, each.f_lasti)
            if role == _ENTRY:
                break
    while is_in_call and frames and caller.category_of(frames[0].co_filename) == caller.INTERMEDIATE:  # type: ignore[union-attr]
        del frames[:2]
    return tuple(frames)


def is_ours(path: str) -> bool:
    known = _is_ours.get(path)
    return _learn(path) if known is None else known


def _learn(path: str) -> bool:
    if len(_is_ours) >= caller.MAX_PLACES:
        _is_ours.clear()
    known = _is_ours[path] = path.startswith(_OURS)
    return known


def role_of(code: CodeType) -> int:
    """Return what a frame of ours means; the wrapper of a framework's component has a variable of that name."""
    known = _roles.get(id(code))
    if known is None:
        path = code.co_filename.replace("\\", "/")
        role = _PASSED
        if (path.rpartition("/")[2], code.co_name) in _ENTRIES:
            role = _ENTRY
        elif any(part in path for part in _MEASURES) and "component" not in code.co_freevars + code.co_varnames:
            role = _IN_A_CALL
        known = _roles[id(code)] = code, role
    return known[1]


def is_in_a_call(code: CodeType) -> bool:
    return role_of(code) == _IN_A_CALL


def where(frames: Frames) -> Where:
    """Return the names for a stack; 10 µs. Runs in the export thread."""
    shown = [_shown(frames[at], frames[at + 1]) for at in range(0, len(frames), 2)]
    if shown and is_ours(shown[0].code.co_filename):
        del shown[0]
    categories = [each.category for each in shown]
    best = caller.APPLICATION if caller.APPLICATION in categories else caller.LIBRARY
    innermost = categories.index(best) if best in categories else -1
    while shown and innermost >= 0 and categories[-1] != best:
        categories.pop()
    texts = [each.text for each in shown[: len(categories)][::-1]]
    if len(texts) > OUTERMOST + 1 + INNERMOST:
        texts = [*texts[:OUTERMOST], "…", *texts[-INNERMOST:]]
    stack = ";".join(texts)
    library = shown[0].full_name if innermost and shown else ""
    if innermost < 0:
        return Where("", "", library, stack)
    return Where(shown[innermost].line, shown[innermost].function, library, stack)


class _Frame(NamedTuple):
    code: CodeType
    """Kept, so that its id is not reused."""
    category: int
    line: str
    function: str
    full_name: str
    """`json.encoder.JSONEncoder.iterencode`"""
    text: str


_frames: dict[tuple[int, int], _Frame] = {}


def _shown(code: CodeType | int, offset: CodeType | int) -> _Frame:
    key = (id(code), cast("int", offset))
    known = _frames.get(key)
    if known is None:
        if len(_frames) >= caller.MAX_PLACES:
            _frames.clear()
        code = cast("CodeType", code)
        place = caller.place(code, key[1])
        module = place.short_path.replace("\\", "/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        line = f"{place.short_path}:{place.line}"
        text = f"{place.function} ({line})".replace(";", ",")
        category = caller.category_of(code.co_filename)
        known = _frames[key] = _Frame(code, category, line, place.function, f"{module}.{place.function}", text)
    return known
