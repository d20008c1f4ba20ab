"""Whether a thread computes or waits, and for what: by its instruction, its CPU clock and those of the others."""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from walltime.core.ids import generator

if TYPE_CHECKING:
    from types import CodeType

    from walltime.sampling.stacks import Frames

COMPUTING: Final = frozenset({"computing", "gil", "cpu"})
"""States of a thread that could go on if it had what every computing thread needs."""

_STATES: Final = {
    "sleep": ("sleep", "nanosleep", "pause", "sigwait"),
    "lock": ("acquire", "wait", "__enter__", "flock", "lockf"),
    "file": (
        "read", "readline", "readlines", "readinto", "readinto1", "write", "writelines", "flush", "fsync", "open",
        "stat", "listdir", "scandir", "sendfile", "pread", "pwrite", "readv", "writev", "rename", "unlink", "mkdir",
    ),
    "socket": (
        "recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg", "send", "sendall", "sendto", "sendmsg", "connect",
        "connect_ex", "accept", "_accept", "select", "poll", "do_handshake", "getaddrinfo", "gethostbyname",
        "getnameinfo", "shutdown",
    ),
    "process": ("waitpid", "wait4", "wait3", "waitid", "system", "fork_exec", "posix_spawn"),
}  # fmt: skip
_BY_FUNCTION: Final = {name: state for state, names in _STATES.items() for name in names}
"""Functions of C that wait, by the name under which they are called."""
_OF_AN_IDLE_THREAD: Final = {"get": "lock", "FOR_ITER": "file"}
"""Names and instructions that wait only now and then: `SimpleQueue.get`, `for line in file`."""
_BY_FILE: Final = {
    "socket.py": "socket", "ssl.py": "socket", "selectors.py": "socket", "subprocess.py": "process",
    "httptools_impl.py": "socket", "h11_impl.py": "socket",
}  # fmt: skip
"""What a function that waits waits for when it is called in these files of the standard library and uvicorn."""
_CALLERS: Final = 6
"""Frames in which `subprocess` is looked for: it waits by functions of other modules."""
_MAX_SITES: Final = 4096


class Clocks(NamedTuple):
    """What the clocks say of a thread since the last tick."""

    share: float
    """Of a CPU that it used."""
    others_share: float
    """Of a CPU that the other threads of the process used."""
    delay_share: float
    """Of the time in which it did not run: runnable, without a CPU."""
    has_run: bool


_sites: dict[tuple[int, int], tuple[CodeType, str]] = {}


def state_of(frames: Frames, clocks: Clocks) -> str:
    """
    Return the state; runs in the export thread.

    The instruction decides: a thread in `recv` waits for a socket. When it computes or waits for the GIL or a CPU, all
    three look the same: then the clocks say how likely each is, and one is drawn, so that the sums are right.
    """
    if not frames:
        return "waiting"
    waits, waits_idle = waits_for(frames)
    if waits:
        return waits
    own, others = clocks.share, min(0.99, clocks.others_share)
    delay = (1 - own) * clocks.delay_share
    if not clocks.has_run:
        return waits_idle or ("cpu" if delay > 0.5 else "gil" if others > 0.5 else "waiting")
    # The others have the GIL also while they wait for a CPU, as often as this thread does. A thread that needs the GIL
    # for `own` of the time waits for it the longer, the busier they keep it.
    busy = min(0.99, others * (own + delay) / max(own, 0.001))
    gil = max(0.0, min(1 - own - delay, own * busy / (1 - busy)))
    drawn = generator.random() * (own + delay + gil)
    return "computing" if drawn < own else "cpu" if drawn < own + delay else "gil"


def waits_for(frames: Frames) -> tuple[str, str]:
    """Return the states of a thread that waits in this instruction: if it may wait, and if only an idle thread does."""
    code, offset = cast("CodeType", frames[0]), cast("int", frames[1])
    key = (id(code), offset)
    known = _sites.get(key)
    if known is None:
        if len(_sites) >= _MAX_SITES:
            _sites.clear()
        known = _sites[key] = code, _called(code, offset)
    name = known[1]
    state = _BY_FUNCTION.get(name, "")
    if state:
        files = [cast("CodeType", each).co_filename.rpartition("/")[2] for each in frames[: 2 * _CALLERS : 2]]
        state = "process" if "subprocess.py" in files else _BY_FILE.get(files[0], state)
    return state, _OF_AN_IDLE_THREAD.get(name, "")


def _called(code: CodeType, offset: int) -> str:
    """Return the name of the function that the instruction calls; `FOR_ITER` for that one, '' for others."""
    before: list[dis.Instruction] = []
    for each in dis.get_instructions(code):
        if each.offset == offset:
            if each.opname in {"BEFORE_WITH", "SETUP_WITH"}:
                return "__enter__"
            if each.opname == "FOR_ITER":
                return each.opname
            if not each.opname.startswith(("CALL", "PRECALL")):
                return ""
            if before and before[-1].opname == "LOAD_SPECIAL":  # `with`, from Python 3.14 on
                return before[-1].argrepr
            start = _start(each)
            names = [each for each in before if each.opname.startswith("LOAD_") and isinstance(each.argval, str)]
            if start is not None:  # the expression that is called begins where the call begins
                return next((str(each.argval) for each in reversed(names) if _start(each) == start), "")
            return next((str(each.argval) for each in reversed(names[-8:]) if each.argval in _BY_FUNCTION), "")
        before.append(each)
    return ""


def _start(instruction: dis.Instruction) -> tuple[int | None, int | None] | None:
    """Return line and column; None before Python 3.11."""
    positions = getattr(instruction, "positions", None)
    return None if positions is None or positions.lineno is None else (positions.lineno, positions.col_offset)
