"""
What the kernel counts for the thread of a transaction: CPU time, waiting for a CPU, growth of the peak memory.

`getrusage` counts until the last context switch or timer tick: of 1 ms of computing after a wait it shows 0.1 ms.
Reading the thread's CPU clock before it (0.6 µs) brings it up to date.

Waiting for a CPU is the second number of `/proc/thread-self/schedstat`: the time for which the thread could have run
and had no CPU. The files of MAX_OPEN threads stay open as long as their threads: opening one takes 6 µs, reading it
1.3 µs. It is read through ctypes, because `os.pread` releases the GIL: where threads compete for it, that may cost a
request 5 ms.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from walltime.core.cgroup import Throttled

if TYPE_CHECKING:
    from resource import struct_rusage

    Usage: TypeAlias = "tuple[struct_rusage, bytes, int]"
    """At the start: resource usage, the text of schedstat, throttled time of the cgroup."""

try:
    from ctypes import PyDLL, c_longlong, c_size_t, create_string_buffer

    _pread: Any = PyDLL(None).pread
    _SIZE: Final = c_size_t(64)
    _START: Final = c_longlong(0)
except (ImportError, AttributeError, OSError, TypeError):  # Windows, a Python without ctypes
    _pread = None
try:
    import resource

    _THREAD: int | None = getattr(resource, "RUSAGE_THREAD", None)  # Linux; elsewhere CPU time stays unknown
except ImportError:  # Windows
    _THREAD = None
_SWITCHES: Final = slice(14, 16)
"""Places of ru_nvcsw and ru_nivcsw: how often the thread gave its CPU up, or lost it; else it never waits for one."""
_KILOBYTE: Final = 1024  # the unit of ru_maxrss on Linux
_SCHEDSTAT: Final = "/proc/thread-self/schedstat"
MAX_OPEN: Final = 32
"""Descriptors that are kept, of 1,024 that a process has most often. Further threads open theirs for each reading."""
_places = [None] * MAX_OPEN
"""One for each descriptor that may still be kept. Taking and giving back are atomic."""
_SWITCHED_OFF: Final = b"0 0 0\n"
"""What a kernel without the statistics writes: a running thread has run at least once."""
LEAST_THROTTLED_NS: Final = 1_000_000
"""A transaction that waited less for a CPU was not throttled: that lasts for milliseconds."""

thread_clock = time.thread_time_ns
"""CPU time of this thread; 0.6 µs."""


class _OfThread(threading.local):
    """The open schedstat of this thread, −1 without one; closed at the thread's end."""

    fd = -1  # of the class: a signal handler or a destructor may come before the end of `__init__`
    is_reopened = False
    """Whether the file is opened for each reading."""

    def __init__(self) -> None:
        if _pread is None:
            return
        self.text = create_string_buffer(_SIZE.value)
        try:
            file = _File(os.open(_SCHEDSTAT, os.O_RDONLY))
        except OSError:  # no Linux, an old kernel, or no descriptor left
            return
        if _pread(file.fd, self.text, _SIZE, _START) > 0 and self.text.value != _SWITCHED_OFF:
            try:
                file.place = [_places.pop()]
            except IndexError:
                self.is_reopened = True
            else:
                self._file, self.fd = file, file.fd


class _File:
    """Closes the descriptor, unless the application has closed it and it is another file now."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.place: list[None] = []
        """That which it has taken from `_places`."""
        self._status = os.fstat(fd)

    def __del__(self) -> None:
        try:
            _places.extend(self.place)
            if os.path.samestat(os.fstat(self.fd), self._status):
                os.close(self.fd)
        except Exception:  # noqa: S110  # closed already, or the interpreter ends
            pass


_of_thread = _OfThread()
_throttled: Throttled | None = None


def after_fork() -> None:
    """Open the file anew: the descriptor is that of the parent's thread."""
    global _of_thread  # noqa: PLW0603
    _of_thread = _OfThread()


def _read() -> bytes:
    """Return the text of this thread's schedstat, empty when it has none."""
    here = _of_thread
    fd = here.fd
    if fd < 0:
        return _read_anew() if here.is_reopened else b""
    text = here.text
    size = _pread(fd, text, _SIZE, _START)
    if size > 0:
        return text[:size]  # type: ignore[return-value]  # typeshed takes it for an array
    here.fd = -1  # the application has closed it
    return b""


def _read_anew() -> bytes:
    try:
        fd = os.open(_SCHEDSTAT, os.O_RDONLY)
    except OSError:  # no descriptor left
        return b""
    try:
        return os.read(fd, _SIZE.value)
    finally:
        os.close(fd)


def begin(cpu_wait: bool) -> Usage | None:
    """Return what has to be known at the start of a transaction on this thread; None when the system has none of it."""
    global _throttled  # noqa: PLW0603
    if _THREAD is None:
        return None
    schedstat, throttled_ns = b"", 0
    if cpu_wait and (schedstat := _read()):
        if _throttled is None:
            _throttled = Throttled()
        if _throttled.has_quota:
            throttled_ns = _throttled.recent_ns()
    thread_clock()
    return resource.getrusage(_THREAD), schedstat, throttled_ns


def end(before: Usage) -> tuple[int, int, int, tuple[bytes, bytes] | None, int]:
    """
    Return what the thread has used since `begin`.

    Returns:
        user and system time; growth of the process's peak memory in bytes; both texts of schedstat, for `waited_ns`;
        for how long of its wait its cgroup was throttled.
    """
    usage, schedstat, throttled_ns = before
    thread_clock()
    after = resource.getrusage(_THREAD or 0)
    waited = None
    of_wait_ns = 0
    if schedstat and after[_SWITCHES] == usage[_SWITCHES]:
        waited = schedstat, schedstat  # it has run without a break
    elif schedstat and (later := _read()):
        waited = schedstat, later
        if _throttled is not None and _throttled.has_quota:
            wait_ns = waited_ns(waited) or 0
            if wait_ns >= LEAST_THROTTLED_NS:
                of_wait_ns = min(_throttled.now_ns() - throttled_ns, wait_ns)
    return (
        int((after.ru_utime - usage.ru_utime) * 1e9), int((after.ru_stime - usage.ru_stime) * 1e9),
        (after.ru_maxrss - usage.ru_maxrss) * _KILOBYTE, waited, of_wait_ns,
    )  # fmt: skip


def waited_ns(schedstat: tuple[bytes, bytes]) -> int | None:
    """Return the time waiting for a CPU between two texts of schedstat; None when they are something else."""
    try:
        before_ns, after_ns = [int(text.split()[1]) for text in schedstat]
    except (IndexError, ValueError):  # the application has closed the file and opened another
        return None
    return max(0, after_ns - before_ns)


def of_thread() -> tuple[int, bytes]:
    """Return this thread's CPU time and the text of its schedstat, for `waited_ns`; 2 µs."""
    return thread_clock(), _read()


def greenlet_here() -> Any:
    """Return the greenlet that runs here, which shares its thread with others; None in a thread's main one."""
    greenlet = sys.modules.get("greenlet")
    if greenlet is None:
        return None
    here = greenlet.getcurrent()
    return None if here.parent is None else here


def split(cpu_ns: int) -> tuple[int, int]:
    """Split CPU time of this thread into user and system time, in the proportion of all its CPU time so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF if _THREAD is None else _THREAD)
    both_s = usage.ru_utime + usage.ru_stime
    system_ns = round(cpu_ns * usage.ru_stime / both_s) if both_s else 0
    return cpu_ns - system_ns, system_ns
