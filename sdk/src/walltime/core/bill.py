"""
The bill: calls added up by component, target and statement. Arithmetic only.

It runs in the export thread, and early in the request's. So statements keep their literals here: the export thread
redacts them (export/otlp_bill.py).
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from sys import getsizeof
from typing import TYPE_CHECKING, Final

from walltime.core.call import CONTINUED, LINES, OTHER, SKIPPED, address, as_text
from walltime.core.call import lines as component_lines
from walltime.core.pieces import joined, parted, without_calls
from walltime.native import core as core  # noqa: PLC0414  # tests exchange it

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import TypeVar

    from walltime.core.call import Call, Line

    K = TypeVar("K", bound=Hashable)
    _TimesAndErrors = tuple[dict[str | bytes, list[int]], dict[str | bytes, int]]  # by statement

MAX_COMPONENTS: Final = 32
MAX_TARGETS: Final = 64
MAX_STATEMENTS: Final = 64  # on an exported bill
MAX_EARLY_BYTES: Final = 8 * 1024 * 1024
"""Memory of the statements before the end; the calls of further ones share `OTHER`."""
ENTRY_BYTES: Final = 512  # of that memory, an entry without its text
MAX_STILL_OPEN: Final = 500
"""Incomplete calls in pieces that are kept before the end; of more, later pieces only add time."""

LOOKUPS: Final = frozenset({
    "memcache.get", "memcache.delete", "memcache.incr", "memcache.decr", "memcache.touch",
    "redis.get", "redis.getex", "redis.getdel", "redis.mget", "redis.hget", "redis.hmget", "redis.hgetall",
    "redis.hexists", "redis.exists", "redis.touch", "redis.del", "redis.unlink",
})  # fmt: skip
"""Components whose calls hit or miss."""
STORES: Final = frozenset({
    "memcache.set", "memcache.add", "memcache.replace", "memcache.append", "memcache.prepend", "memcache.cas",
    "redis.set", "redis.setnx", "redis.hsetnx", "redis.msetnx",
})  # fmt: skip
"""Components whose calls store a value, or get the response that it was not stored."""
DEADLOCK: Final = "1213"
LOCK_TIMEOUT: Final = "1205"


_COUNTS_OF: Final = (
    {"mysql.query": (_SQL := 1), "mysql.fetch": (_ROWS := 4)}
    | dict.fromkeys(LOOKUPS, _LOOKUP := 2)
    | dict.fromkeys(STORES, _STORE := 3)
    | dict.fromkeys(("mysql.connect", "http.connect"), _CPU := 5)
)
"""Meaning of the last number of a call (`matched`), by component."""
_READS: Final = (_SQL, _ROWS)
_LINE: Final = itemgetter(0)
_OWN_NS: Final = itemgetter(4)

COUNTERS: Final = (
    "calls", "time_ns", "max_ns", "errors", "keys", "hits", "misses", "not_stored", "skipped", "rows", "deadlocks",
    "lock_timeouts", "cpu_ns",
)  # fmt: skip
"""All counters of a component in the order of the wire format; docs/wire.md explains each."""


def has_sql(component: str) -> None:
    """Declare that the subject of this component's calls is SQL, and `matched` is the number of rows."""
    _COUNTS_OF[component] = _SQL


class Cell:
    """The counters of one line of a bill; times in nanoseconds."""

    __slots__ = (*COUNTERS, "matched_is")

    def __init__(self, matched_is: int = 0) -> None:
        self.calls = self.time_ns = self.max_ns = self.errors = 0
        self.keys = self.hits = self.misses = self.not_stored = self.skipped = 0
        self.rows = self.deadlocks = self.lock_timeouts = self.cpu_ns = 0
        self.matched_is = matched_is

    def __add__(self, other: Cell) -> Cell:
        both = Cell(self.matched_is)
        for name in COUNTERS:
            setattr(both, name, getattr(self, name) + getattr(other, name))
        both.max_ns = max(self.max_ns, other.max_ns)
        return both


class Bill:
    """
    The itemized bill of one transaction.

    Every nanosecond of a measured call is on exactly one line (a component at a server). Statements split the same
    calls in another way. The first 32 components and 64 servers have their own entries; the others share `OTHER`.
    """

    __slots__ = (
        "_covered_until_ns", "_servers", "covered_ns", "lines", "room_bytes", "statements", "still_open", "undetailed",
    )  # fmt: skip

    def __init__(self) -> None:
        self.lines: dict[Line, Cell] = {}
        self.statements: dict[str | bytes, Cell] = {}
        """By statement as it was sent, with its literals; only calls, time and errors."""
        self.room_bytes = MAX_EARLY_BYTES
        """Memory that is left for statements before the end."""
        self.covered_ns = 0
        """Wall time inside measured calls; each nanosecond counts once, even when calls overlap."""
        self.undetailed = 0
        """Calls that were added and not kept one by one."""
        self.still_open: list[Call] = []
        """Calls before the end that may continue; covered, but not added yet."""
        self._covered_until_ns = 0
        self._servers = 0

    def add(self, calls: Sequence[Call], *, detail: bool = True) -> None:
        """
        Add finished calls; about 0.2 µs a call.

        Args:
            detail: False when they will not be kept one by one; of their statements, `room_bytes` are kept.
        """
        before = 0 if detail else self._calls()
        for line, of_line in (core and core.by_line(calls)) or groupby(sorted(calls, key=_LINE), _LINE):
            self._add_line(line, list(of_line), detail)
        if not detail:
            self.undetailed += self._calls() - before

    def add_early(self, calls: Sequence[Call], has_pieces: bool) -> None:
        """Add finished calls before the transaction's end, except those that may continue. They are not kept."""
        if has_pieces:
            calls, self.still_open = parted(joined([*self.still_open, *calls]))
            if len(self.still_open) > MAX_STILL_OPEN:
                calls, self.still_open = calls + without_calls(self.still_open), []
        self.add(calls, detail=False)

    def _add_line(self, line: Line, calls: list[Call], detail: bool) -> None:
        # Local variables are several times as fast as a cell's attributes. An addition costs as much as three
        # comparisons, so rare outcomes are counted and subtracted.
        cell = self.lines.get(line) or self._new_cell(line)
        time_ns = replied = matched = unanswered = broken_off = no_calls = 0
        max_ns = cell.max_ns
        sums = None if core is None else core.sums(calls)
        if sums is None:
            for _, subject, _, _, own_ns, failure, requested, of_call in calls:
                time_ns += own_ns
                if own_ns > max_ns:
                    max_ns = own_ns
                if failure is None and of_call >= 0:
                    replied += requested
                    matched += of_call
                elif failure is SKIPPED:  # not a call, but its time counts
                    cell.skipped += 1
                    no_calls += 1
                    continue
                else:
                    unanswered += requested
                    if failure is not None:
                        _fail(cell, failure)
                        broken_off += max(0, of_call)
                if subject is CONTINUED:
                    no_calls += 1
        else:
            time_ns, most_ns, replied, matched, unanswered, broken_off, skipped, no_calls, failures = sums
            max_ns = max(max_ns, most_ns)
            cell.skipped += skipped
            for failure in failures:
                _fail(cell, failure)
        cell.calls += len(calls) - no_calls
        cell.time_ns += time_ns
        cell.max_ns = max_ns
        matched_is = cell.matched_is
        if matched_is == _LOOKUP:
            cell.keys += replied + unanswered
            cell.hits += matched
            cell.misses += replied - matched
        elif matched_is == _STORE:
            cell.not_stored += replied - matched
        elif matched_is == _CPU:
            cell.cpu_ns += matched + broken_off
        elif matched_is in _READS:
            cell.rows += matched + broken_off
            self._add_statements(calls, int(matched_is == _SQL), detail)

    def _add_statements(self, calls: list[Call], counts: int, detail: bool) -> None:
        """`counts` is 0 for reading rows later: that adds time to the statement, but no call."""
        found: _TimesAndErrors | None = None if core is None else core.times_by_text(calls)
        times_by_text, errors = found or ({}, {})
        text: str | bytes = ""
        last: object = times_by_text  # equal to no subject
        for _, subject, _, _, own_ns, failure, _, _ in () if found else calls:
            if subject is not last:  # loops send the same statement many times
                last = subject
                sql = subject[0] if type(subject) is tuple else subject
                text = sql if type(sql) is str else as_text(sql)
                if text in times_by_text:
                    times_ns = times_by_text[text]
                else:
                    times_ns = []
                    if sql is not CONTINUED and (counts or sql is not None):
                        times_by_text[text] = times_ns
            times_ns.append(own_ns)
            if failure is not None:
                errors[text] = errors.get(text, 0) + 1
        for text, times_ns in times_by_text.items():
            cell = Cell()
            cell.calls, cell.time_ns, cell.errors = counts * len(times_ns), sum(times_ns), errors.get(text, 0)
            if not detail and text not in self.statements:
                needed_bytes = getsizeof(text) + ENTRY_BYTES
                if needed_bytes > self.room_bytes:
                    text = OTHER  # noqa: PLW2901  # they share its entry
                else:
                    self.room_bytes -= needed_bytes
            self.statements[text] = self.statements[text] + cell if text in self.statements else cell

    def _calls(self) -> int:
        return sum(cell.calls for cell in self.lines.values())

    def _new_cell(self, line: Line) -> Cell:
        component, target = LINES[line]
        if target is None or target == OTHER:
            if len(self.lines) - self._servers >= 2 * MAX_COMPONENTS and component != OTHER:
                return self._shared(component_lines(OTHER)[None], 0)
        elif self._servers >= MAX_TARGETS - 1:
            return self._shared(component_lines(component)[OTHER], _COUNTS_OF.get(component, 0))
        else:
            self._servers += 1
        cell = self.lines[line] = Cell(_COUNTS_OF.get(component, 0))
        return cell

    def _shared(self, line: Line, matched_is: int) -> Cell:
        """Return the cell of a line that several share."""
        cell = self.lines.get(line)
        if cell is None:
            cell = self.lines[line] = Cell(matched_is)
        return cell

    @property
    def components(self) -> dict[str, Cell]:
        """The lines by component. The cells are read-only."""
        components: dict[str, Cell] = {}
        for line, cell in self.lines.items():
            put(components, LINES[line].component, cell, MAX_COMPONENTS, OTHER)
        return components

    @property
    def targets(self) -> dict[tuple[str, str], Cell]:
        """The lines with a server, by component and address. The cells are read-only."""
        targets: dict[tuple[str, str], Cell] = {}
        for line, cell in self.lines.items():
            component, target = LINES[line]
            if target is not None:
                put(targets, (component, address(target)), cell, MAX_TARGETS, (component, OTHER))
        return targets

    @property
    def time_ns(self) -> int:
        """The exclusive time of all calls; equals the covered time when no calls overlapped."""
        return sum([cell.time_ns for cell in self.lines.values()])

    def cover(self, calls: Sequence[Call], has_branches: bool) -> None:
        """
        Add the wall time of the calls, given in the order of their ends.

        On one execution context that is the sum of their exclusive times; with branches, the union of their spans.
        Beyond `transaction.MAX_CALLS` the union is taken in portions, without what overlaps an earlier portion.
        """
        if not calls:
            return
        if not has_branches:
            self.covered_ns += sum(map(_OWN_NS, calls))
            self._covered_until_ns = calls[-1][3]
            return
        until_ns = self._covered_until_ns
        for _, _, started_ns, ended_ns, *_ in sorted(calls, key=itemgetter(2)):
            if ended_ns > until_ns:
                self.covered_ns += ended_ns - max(started_ns, until_ns)
                until_ns = ended_ns
        self._covered_until_ns = until_ns


def _fail(cell: Cell, failure: str) -> None:
    cell.errors += 1
    if failure == DEADLOCK:
        cell.deadlocks += 1
    elif failure == LOCK_TIMEOUT:
        cell.lock_timeouts += 1


def put(entries: dict[K, Cell], key: K, more: Cell, limit: int, other: K) -> None:
    """Add to the entry of the key; a new key beyond the limit goes to `other`."""
    if key not in entries and len(entries) >= limit - 1:
        key = other
    entries[key] = entries[key] + more if key in entries else more
