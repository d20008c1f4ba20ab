"""The bill: calls added up by component, by target and by statement. Pure arithmetic, in the export thread."""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from walltime.call import CONTINUED, LINES, OTHER, SKIPPED
from walltime.redact import redact_sql

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import TypeVar

    from walltime.call import Call, Line, Target

    K = TypeVar("K", bound=Hashable)

MAX_COMPONENTS: Final = 32
MAX_TARGETS: Final = 64
MAX_STATEMENTS: Final = 64

STATEMENTS: Final = frozenset({"mysql.query", "mysql.fetch"})
"""Components whose subject is SQL."""
LOOKUPS: Final = frozenset({"memcache.get", "memcache.delete", "memcache.incr", "memcache.decr", "memcache.touch"})
"""Components whose calls hit or miss."""
STORES: Final = frozenset(
    {
        "memcache.set",
        "memcache.add",
        "memcache.replace",
        "memcache.append",
        "memcache.prepend",
        "memcache.cas",
    }
)
"""Components whose calls store a value or are told that it was not stored."""
DEADLOCK: Final = "1213"
LOCK_TIMEOUT: Final = "1205"


class Cell:
    """What one line of a bill counts; times in nanoseconds."""

    __slots__ = (
        "calls", "deadlocks", "errors", "hits", "keys", "lock_timeouts", "max_ns", "misses", "not_stored", "rows",
        "skipped", "time_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.calls = self.time_ns = self.max_ns = self.errors = 0
        self.keys = self.hits = self.misses = self.not_stored = self.skipped = 0
        self.rows = self.deadlocks = self.lock_timeouts = 0

    def add(self, other: Cell) -> None:
        """Add another cell's counts; what is zero on most lines is looked at once."""
        self.calls += other.calls
        self.time_ns += other.time_ns
        if other.max_ns > self.max_ns:
            self.max_ns = other.max_ns
        if other.errors:
            self.errors += other.errors
            self.deadlocks += other.deadlocks
            self.lock_timeouts += other.lock_timeouts
        if other.keys:
            self.keys += other.keys
            self.hits += other.hits
            self.misses += other.misses
        self.not_stored += other.not_stored
        self.skipped += other.skipped
        self.rows += other.rows


class Bill:
    """
    The itemized bill of one transaction.

    Every nanosecond of a measured call is in exactly one component; targets and statements are two further ways to
    split the same calls. The first 32, 64 and 64 of them have a line, the rest share `OTHER`.
    """

    __slots__ = ("_covered_until_ns", "components", "covered_ns", "statements", "targets", "undetailed")

    def __init__(self) -> None:
        self.components: dict[str, Cell] = {}
        self.targets: dict[tuple[str, str], Cell] = {}
        self.statements: dict[str, Cell] = {}
        self.covered_ns = 0
        """Wall time inside measured calls, each nanosecond once, also when calls overlapped."""
        self.undetailed = 0
        """Calls that were added without being kept one by one."""
        self._covered_until_ns = 0

    def add(self, calls: Sequence[Call], *, detail: bool = True) -> None:
        """Add finished calls; `detail` False when they will not be kept beside the bill. About 0.3 µs a call."""
        cells: dict[tuple[Line, object], Cell] = {}
        for line, subject, _, _, own_ns, failure, asked, found in calls:
            component, target = LINES[line]
            key = (line, subject if component in STATEMENTS and subject is not CONTINUED else None)
            try:
                cell = cells[key]
            except KeyError:
                cell = cells[key] = Cell()
            except TypeError:  # a subject that cannot be hashed, such as a bytearray of SQL
                key = (line, bytes(subject) if isinstance(subject, bytearray) else repr(type(subject)))
                cell = cells.setdefault(key, Cell())
            if failure is SKIPPED:
                cell.skipped += 1  # no call, but the time it took to find that out is somebody's
                cell.time_ns += own_ns
                continue
            if subject is not CONTINUED:
                cell.calls += 1
            cell.time_ns += own_ns
            if own_ns > cell.max_ns:
                cell.max_ns = own_ns
            if failure is not None:
                cell.errors += 1
                if failure == DEADLOCK:
                    cell.deadlocks += 1
                elif failure == LOCK_TIMEOUT:
                    cell.lock_timeouts += 1
                if component in LOOKUPS:
                    cell.keys += asked
            elif component in LOOKUPS:
                cell.keys += asked
                if found >= 0:
                    cell.hits += found
                    cell.misses += asked - found
            elif component in STORES:
                if found >= 0:
                    cell.not_stored += asked - found
            elif component in STATEMENTS:
                cell.rows += found
        for (line, subject), cell in cells.items():
            component, target = LINES[line]
            if not detail:
                self.undetailed += cell.calls
            _line(self.components, component, MAX_COMPONENTS, OTHER).add(cell)
            if target is not None:
                _line(self.targets, (component, address(target)), MAX_TARGETS, (component, OTHER)).add(cell)
            if subject is not None:
                _line(self.statements, redact_sql(subject), MAX_STATEMENTS, OTHER).add(cell)

    def cover(self, calls: Sequence[Call], has_branches: bool) -> None:
        """
        Add the wall time the calls took, which come in the order they ended.

        On one strand that is the sum of their exclusive times; with branches it is the union of their spans. Beyond
        `hotpath.MAX_CALLS` the union is taken in portions: what reaches back into an earlier portion is left out.
        """
        if not has_branches:
            for call in calls:
                self.covered_ns += call[4]
            if calls:
                self._covered_until_ns = calls[-1][3]
            return
        until_ns = self._covered_until_ns
        for _, _, started_ns, ended_ns, *_ in sorted(calls, key=itemgetter(2)):
            if ended_ns > until_ns:
                self.covered_ns += ended_ns - max(started_ns, until_ns)
                until_ns = ended_ns
        self._covered_until_ns = until_ns


def _line(cells: dict[K, Cell], key: K, limit: int, other: K) -> Cell:
    """The cell of this key; when the bill is full, the one that the rest shares."""
    cell = cells.get(key)
    if cell is None:
        if len(cells) >= limit - 1:
            cell = cells.get(other)
            key = other
        if cell is None:
            cell = cells[key] = Cell()
    return cell


@lru_cache(maxsize=1024)
def address(target: Target) -> str:
    """`host:port`, `[v6]:port` or the path of a socket."""
    if isinstance(target, str):
        return target
    host, port = target
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
