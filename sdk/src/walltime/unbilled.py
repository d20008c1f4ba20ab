"""
A process that makes calls and opens no transaction says so: once in its log, and to the collector.

After the first hundred calls it is certain to work, and may end without a word (by a signal, as a fork). The stack of
the hundredth call shows what it is: the log has the remedy of its kind.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from walltime import runtime
from walltime.core import transaction
from walltime.core.transaction import outside_calls
from walltime.errors import contain, guarded, warn
from walltime.instrumentation.libraries import PARTS, is_wrapped
from walltime.servers.unsupported import HOSTS, REMEDIES, UNSUPPORTED

if TYPE_CHECKING:
    from types import FrameType

MANY: Final = 100
STARTING_S: Final = 60.0
"""A process that may serve requests or jobs can make many calls in so long before the first of them."""
FRAMEWORKS: Final = ("aiohttp_web", "django", "flask", "starlette")
_JOBS: Final = ("celery", "rq")
_GENERAL: Final = "put the program's work into `with walltime.transaction(name):` (docs/processes.md)"
_NORMAL: Final = (
    *("celery.worker", "celery.beat", "celery.apps", "rq.worker", "rq.scheduler"),
    "walltime.servers.gateways",
)
"""Modules of workers, which make calls between their transactions, and our own, around the start of an application."""
_CLIENTS: Final = {module.partition(".")[0] for _, module in PARTS.values()} | sys.stdlib_module_names | {"walltime"}
_IMPORT: Final = ("importlib._bootstrap", "_frozen_importlib")


class _Process:
    """What this process has said; a fork begins again."""

    def __init__(self, *, is_fork: bool = True) -> None:
        self.is_fork = is_fork
        self.pid = os.getpid()
        self.next = MANY
        self.began_s = time.monotonic()
        self.has_said = self.has_forked = False


_process = _Process(is_fork=False)


def _forked() -> None:
    _process.has_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_forked, after_in_child=_process.__init__)  # type: ignore[misc]


def count() -> int:
    """Return how many calls this process made that are on no bill."""
    return sum(calls for library, calls in outside_calls.copy().items() if library != "late")


def remedy(module: str) -> str:
    """Return what opens transactions in a process of this framework, server or worker; '' is any other program."""
    if not module:
        return _GENERAL
    name, kind, _ = UNSUPPORTED[module]
    return f"Walltime opens none in {name}: {REMEDIES[kind]} (docs/servers.md)"


def imported() -> str:
    """Return the first module of UNSUPPORTED that this process has imported, or ''; a server only if nothing opens."""
    is_open, here = opens(), [module for module in UNSUPPORTED if module in sys.modules and module != "http.server"]
    return next((module for module in here if not (is_open and UNSUPPORTED[module].is_server)), "")


def opens() -> bool:
    """Return whether this process has imported something that opens transactions."""
    has_host = any(host in sys.modules for hosts in HOSTS.values() for host in hosts)
    return has_host or any(map(is_wrapped, (*FRAMEWORKS, *_JOBS)))


def _many() -> None:
    """Run at each tenth call of a library outside of any transaction, on its thread. Never raises."""
    try:
        _look()
    except Exception as ours:
        contain("unbilled", ours)


def _look() -> None:
    if _process.pid != os.getpid():  # a fork outside of Python, as in uWSGI
        runtime.notice_fork()
        _process.__init__()  # type: ignore[misc]
    calls = count()
    if calls < _process.next or not runtime.is_enabled():
        return
    _process.next = 2 * calls  # at first: what logs it may make calls
    exporter = runtime.exporter()
    if exporter.is_used:
        return
    module, is_normal = _around(sys._getframe(2))
    if is_normal or (not module and (_process.has_forked or _may_begin())):  # forked: the main process of a server
        _process.next = calls + 1
        return
    module = module or imported()
    if not _process.has_said:
        _process.has_said = True
        _say(calls, module)
    exporter.report(f"{UNSUPPORTED[module].kind}.{module}" if module else "")


def _may_begin() -> bool:
    """Return whether this may be the start of a server, which has transactions later."""
    is_start = opens() or (imported() and threading.current_thread() is threading.main_thread())
    return bool(is_start) and time.monotonic() - _process.began_s < STARTING_S


def _around(frame: FrameType | None) -> tuple[str, bool]:
    """Return the innermost module of UNSUPPORTED that called this, or '', and whether such calls are normal here."""
    found, caller, is_arbiter, is_worker = "", "", False, False
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(_NORMAL) or (name in _IMPORT and not found):  # an application is being loaded
            return "", True
        is_arbiter = is_arbiter or name == "gunicorn.arbiter"
        is_worker = is_worker or name.startswith("gunicorn.workers")
        found = found or _listed(name)
        caller = caller or ("" if name.partition(".")[0] in _CLIENTS else name)
        frame = frame.f_back
    if found and UNSUPPORTED[found].kind == "worker" and _listed(caller) == found:  # it looks for jobs
        return "", True
    return found, is_arbiter and not is_worker


def _listed(name: str) -> str:
    while name and name not in UNSUPPORTED:
        name = name.rpartition(".")[0]
    return name


def _say(calls: int, module: str) -> None:
    message = "walltime: %d calls were made outside of any transaction, so they are on no bill; %s"
    warn("outside", message, calls, remedy(module))


@guarded("unbilled")
def hint() -> None:
    """
    Say it at the exit of a program that made fewer calls.

    Not in a process that has forked or is a fork: a server's main process may use its database without any request.
    """
    calls = count()
    is_alone = _process.pid == os.getpid() and not (_process.is_fork or _process.has_forked)
    if calls and is_alone and not _process.has_said and runtime.is_enabled() and not runtime.exporter().is_used:
        _say(calls, imported())


atexit.register(hint)
transaction.at_many_outside = _many
