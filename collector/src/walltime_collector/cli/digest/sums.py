"""Sums over the entries of slow logs by fingerprint, with the percentiles of pt-query-digest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import log
from typing import Any, Final

from ...observe.slowlog.entry import Entry
from ...observe.slowlog.parser import Losses
from ...observe.slowlog.rows import MAX_FINGERPRINT_CHARS
from ...statements.comment import Sender, sender_of
from ...statements.fingerprint import fingerprint_id, of_redacted

_BASE: Final = 1.05
_LOG_BASE: Final = log(_BASE)
_SMALLEST_S: Final = 0.000001
_OFFSET: Final = 1 - log(_SMALLEST_S) / _LOG_BASE
_LAST_BUCKET: Final = 999
_MAX_CACHED: Final = 8_192
_TRACEPARENT: Final = re.compile(r"\b00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\b")
_ANY_TRACEPARENT: Final = f"00-{'1' * 32}-{'1' * 16}-01"
"""In the place of each one, so that the comments of a route are the same text."""


@lru_cache(maxsize=_MAX_CACHED)
def _sender(comments: tuple[str, ...]) -> Sender:
    return sender_of(comments)


@dataclass(frozen=True)
class Wanted:
    """Which entries count: those that began in [start_us, end_us), Unix microseconds, and that a service has sent."""

    start_us: int | None = None
    end_us: int | None = None
    service: str = ""

    def has_time(self, started_us: int | None) -> bool:
        """Whether an entry counts, by its time; one without a time only counts where any time does."""
        if started_us is None:
            return self.start_us is None and self.end_us is None
        return (self.start_us or 0) <= started_us and (self.end_us is None or started_us < self.end_us)


@dataclass(slots=True)
class Sum:
    """All entries of one fingerprint. What the server measured is multiplied by `weight`, as in the stored log."""

    fingerprint: str
    entries: int = 0
    calls: int = 0
    time_ns: int = 0
    min_ns: int = 2**64
    max_ns: int = 0
    lock_ns: int = 0
    row_lock_ns: int = 0
    io_wait_ns: int = 0
    rows_sent: int = 0
    rows_examined: int = 0
    rows_affected: int = 0
    errors: int = 0
    full_scans: int = 0
    joined: int = 0
    last_us: int = 0
    buckets: dict[int, int] = field(default_factory=dict)
    """Calls by duration: of bucket n they take 1 µs · 1.05 ** (n - 1) or a little more."""
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By service, tab, route of the comments: calls and nanoseconds."""

    def add(self, entry: Entry) -> None:
        """Count one entry."""
        weight, query_ns = entry.weight, entry.query_ns
        self.entries += 1
        self.calls += weight
        self.time_ns += query_ns * weight
        self.lock_ns += entry.lock_ns * weight
        self.rows_sent += entry.rows_sent * weight
        self.rows_examined += entry.rows_examined * weight
        if query_ns > self.max_ns:
            self.max_ns = query_ns
        if query_ns < self.min_ns:
            self.min_ns = query_ns
        bucket = int(_OFFSET + log(query_ns / 1e9) / _LOG_BASE) if query_ns >= 1_000 else 0
        self.buckets[bucket] = self.buckets.get(bucket, 0) + weight
        if entry.rows_affected:
            self.rows_affected += entry.rows_affected * weight
        if entry.row_lock_ns:
            self.row_lock_ns += entry.row_lock_ns * weight
        if entry.io_wait_ns:
            self.io_wait_ns += entry.io_wait_ns * weight
        if entry.errno:
            self.errors += weight
        if entry.flags and "is_full_scan" in entry.flags:
            self.full_scans += weight
        if entry.started_us is not None and entry.started_us > self.last_us:
            self.last_us = entry.started_us

    def add_kind(self, kind: str, calls: int, time_ns: int) -> None:
        """Count calls of a sender."""
        before = self.kinds.get(kind, (0, 0))
        self.kinds[kind] = before[0] + calls, before[1] + time_ns

    def merge(self, other: Sum) -> None:
        """Count what the other one counted."""
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.min_ns = min(self.min_ns, other.min_ns)
        self.max_ns, self.last_us = max(self.max_ns, other.max_ns), max(self.last_us, other.last_us)
        for bucket, calls in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + calls
        for kind, (calls, time_ns) in other.kinds.items():
            self.add_kind(kind, calls, time_ns)

    @property
    def p95_ns(self) -> int:
        """
        The 95th percentile as pt-query-digest computes it, so that both print the same number.

        It is the lower end of a bucket, so up to 5 % less than the exact one; of fewer than 10 calls it is the maximum.
        """
        if self.min_ns == self.max_ns or self.calls <= 2:
            return self.max_ns
        above = self.calls - (int(self.calls * 0.95) if self.calls >= 10 else self.calls)
        for bucket in sorted(self.buckets, reverse=True):
            above -= self.buckets[bucket]
            if above < 0:
                break
        return round(_BASE ** (bucket - 1) * _SMALLEST_S * 1e9) if bucket else 0

    def row(self, number: int) -> dict[str, Any]:
        """The row that queries/digest/server.sql would return."""
        kinds = sorted(self.kinds)
        return {name: getattr(self, name) for name in self.__slots__} | {
            "fingerprint_id": number,
            "fingerprint_text": self.fingerprint,
            "mean_ns": round(self.time_ns / self.calls),
            "p95_ns": self.p95_ns,
            "lock_share": min(max(self.lock_ns, self.row_lock_ns) / max(self.time_ns, 1), 1.0),
            "examined_per_row": self.rows_examined / max(self.rows_sent + self.rows_affected, 1),
            "full_scan_share": self.full_scans / self.calls,
            "kinds": (
                kinds,
                [self.kinds[each][0] for each in kinds],
                [self.kinds[each][1] for each in kinds],
            ),
        }


_ADDED: Final = (
    "entries",
    "calls",
    "time_ns",
    "lock_ns",
    "row_lock_ns",
    "io_wait_ns",
    "rows_sent",
    "rows_examined",
    "rows_affected",
    "errors",
    "full_scans",
    "joined",
)


class Sums:
    """The sums of a log, or of a part of one."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.by_id: dict[int, Sum] = {}
        self.first_us: int | None = None
        self.last_us: int | None = None
        self.entries = 0
        """Of the log, also those that are not wanted."""
        self.losses = Losses()
        self._by_text: dict[str, Sum] = {}
        """A cache: statements that differ in their literals alone share a text."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_by_text": {}}

    def add(self, entries: Iterable[Entry]) -> None:
        """Count entries that were read from a log."""
        wanted, by_text = self.wanted, self._by_text
        for entry in entries:
            self.entries += 1
            redacted, comments, _ = entry.lexed
            started_us = entry.started_us
            if not wanted.has_time(started_us):
                continue
            sent_by = (
                _sender(tuple([_TRACEPARENT.sub(_ANY_TRACEPARENT, each) for each in comments])) if comments else None
            )
            if wanted.service and (sent_by is None or sent_by.service != wanted.service):
                continue
            found = by_text.get(redacted) or self._sum_of(redacted)
            found.add(entry)
            if sent_by is not None:
                found.joined += bool(sent_by.trace_id)
                kind = f"{sent_by.service}\t{sent_by.route}"
                found.add_kind(kind, entry.weight, entry.query_ns * entry.weight)
            if started_us is not None:
                self.first_us = started_us if self.first_us is None else min(self.first_us, started_us)
                self.last_us = started_us if self.last_us is None else max(self.last_us, started_us)

    def merge(self, other: Sums) -> None:
        """Count what the other one counted."""
        for number, found in other.by_id.items():
            mine = self.by_id.get(number)
            if mine is None:
                self.by_id[number] = found
            else:
                mine.merge(found)
        self.entries += other.entries
        self.losses.malformed += other.losses.malformed
        self.losses.skipped_bytes += other.losses.skipped_bytes
        self.first_us = min((each for each in (self.first_us, other.first_us) if each is not None), default=None)
        self.last_us = max((each for each in (self.last_us, other.last_us) if each is not None), default=None)

    def rows(self) -> list[dict[str, Any]]:
        """The rows that queries/digest/server.sql would return."""
        whole = {
            "all_time_ns": sum(each.time_ns for each in self.by_id.values()),
            "all_entries": sum(each.entries for each in self.by_id.values()),
            "sources": ["slow_log"],
            "all_sources": ["slow_log"],
            "cpu_ns": 0,
        }
        return [found.row(number) | whole for number, found in self.by_id.items()]

    def _sum_of(self, redacted: str) -> Sum:
        fingerprint = of_redacted(redacted)
        found = self.by_id.setdefault(fingerprint_id(fingerprint), Sum(fingerprint[:MAX_FINGERPRINT_CHARS]))
        if len(self._by_text) >= _MAX_CACHED:
            self._by_text.clear()
        self._by_text[redacted] = found
        return found
