"""
Python's switch interval: shortened while transactions are open, the application's as soon as none is.

A thread that computes gives the GIL up after this time, 5 ms by default. Most requests let go of it earlier, in their
next call, so a sampler that waits that long sees nearly all of them in a call (docs/decisions/040-sampler.md).

Each change is one call from C that looks at the interval in force and sets another one: nothing runs in between, so one
that the application sets is never overwritten.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHORT_S: Final = 51e-6
"""While at most one thread computes. An odd number: nobody else's."""
HOLD_S: Final = 503e-6
"""
During a tick, which takes about 0.1 ms: the thread that computes does not ask for the GIL.

Now and then it does, as it has begun to wait before the interval was set; then the sampler waits so long for the GIL.
"""


def _as_python_returns_it(interval_s: float) -> float:
    return 1e-6 * int(1e6 * interval_s)


_OURS: Final = frozenset({_as_python_returns_it(SHORT_S), _as_python_returns_it(HOLD_S)})


def _setting(interval_s: float, instead_of: Iterable[float]) -> Iterator[object]:
    """Return an iterator whose every step sets the interval if one of those is in force, and is a TypeError else."""
    instead: Any = dict.fromkeys(instead_of, interval_s)
    return map(sys.setswitchinterval, map(instead.get, iter(sys.getswitchinterval, None)))


_open: set[int] = set()
"""The `id` of each open transaction: one may go on several times, and ends once. Adding and removing are atomic."""
_host_s = 0.0
"""The application's interval that the following are made for."""
_restoring = _setting(0.005, ())
_shortening = dict.fromkeys((SHORT_S, HOLD_S), _restoring)


def begun(transaction: object) -> bool:
    """Note a transaction that begins or goes on; say whether no other is open. 50 ns."""
    _open.add(id(transaction))
    return len(_open) == 1


def ended(transaction: object) -> None:
    """Note that a transaction has ended; with the last one, the application's interval is back. 0.2 µs."""
    _open.discard(id(transaction))
    if not _open:
        restore()


def shorten(interval_s: float) -> None:
    """Set one of ours instead of the application's, unless that is as short, while a transaction is open."""
    global _host_s, _restoring, _shortening  # noqa: PLW0603
    now_s = sys.getswitchinterval()
    if now_s not in _OURS and now_s != _host_s:
        _host_s = now_s
        _restoring = _setting(now_s + 1e-7, _OURS)  # Python cuts off: 1e-6 * n * 1e6 may be below n
        _shortening = {each: _setting(each, {now_s, *_OURS}) for each in (SHORT_S, HOLD_S)}
    if _host_s > 2 * HOLD_S:
        try:  # noqa: SIM105  # `suppress` takes longer than all of the rest, here and below
            next(_shortening[interval_s])
        except TypeError:  # the application has just set another one
            pass
        if not _open:  # the last one has ended meanwhile
            restore()


def restore() -> None:
    """Restore the application's, unless it is in force."""
    if sys.getswitchinterval() in _OURS:
        try:  # noqa: SIM105
            next(_restoring)
        except TypeError:  # the application has just set another one
            pass


def forget() -> None:
    """Restore it; transactions that began and never ended count no more."""
    _open.clear()
    restore()
