"""Stores the records of one segment, in one INSERT if possible; each record that the database refuses goes to dead/."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

from ..clickhouse.engine import Engine
from ..errors import InsertRefused
from ..receive.check import usual
from ..spool.segment import Record
from ..spool.spool import Content, Segment, Spool
from .poison import Numbered
from .search import searching

log = logging.getLogger(__name__)

_TOGETHER_NS = 24 * 3600 * 1_000_000_000
"""Starts are stored at most 29 days before and a day after receipt; so an INSERT touches at most 32 days."""
_TOGETHER_BYTES = 24 * 1024 * 1024
"""Of one INSERT with several records; it takes the database 13 times as much memory (measured with 20 MiB)."""


@dataclass
class Care:
    """
    What was learned from failures of a segment.

    deadly   positions of records that are not tried again, and why
    too_much parts that are not tried again as a whole; a part is the positions of its first record and behind its last
    current  the part that was tried last
    """

    deadly: dict[int, str] = field(default_factory=dict)
    too_much: set[tuple[int, int]] = field(default_factory=set)
    current: tuple[int, int] = (0, 0)


def store(
    spool: Spool, engine: Engine, segment: Segment, content: Content, care: Care
) -> Generator[None, None, Counter[str]]:
    """
    Store the records of a segment and return how many spans are `stored`, `dead` and `lost`.

    It yields before each INSERT of the search for refused records, when all others of the segment have been tried.
    Doing it again stores nothing twice: a part has the same token and, but for deadly records, the same content.

    Raises:
        EngineUnavailable: Some records may be stored; do it again.
    """
    outcome: Counter[str] = Counter()
    reasons = dict(care.deadly)

    def is_refused(part: Numbered) -> bool:
        care.current = first, end = part[0][0], part[-1][0] + 1
        if care.current in care.too_much:
            return True
        # without deadly records the token stays that of all: some may be stored since the process ended
        token = content.token if len(part) == len(content.records) else f"{content.token}:{first}+{end - first}"
        records = [record for at, record in part if at not in care.deadly]
        try:
            if records:
                engine.insert(records, token)
        except InsertRefused as error:
            if end - first == 1:
                reasons[first] = str(error)
            return True
        outcome["stored"] += sum(record.spans for record in records)
        return False

    refused = [part for part in _together(content.records) if is_refused(part)]
    dead = set(care.deadly)
    for part in refused:
        # protobuf allows encodings that ClickHouse refuses; to look for them at receipt would double its cost
        again = [(at, record._replace(payload=usual(record.payload))) for at, record in part]
        dead.update((yield from searching(again, is_refused, is_known=again == part)))
    for at in sorted(dead):
        outcome += _put_aside(spool, segment, at, content.records[at], reasons[at])
    return outcome


def _put_aside(spool: Spool, segment: Segment, at: int, record: Record, reason: str) -> Counter[str]:
    is_kept = spool.dead_letter(segment, [record], at, reason)
    log.error("the database refused a request, %s: %s", "kept in dead/" if is_kept else "lost", reason)
    return Counter({"dead" if is_kept else "lost": record.spans})


def _together(records: Sequence[Record]) -> Iterator[Numbered]:
    """Split what is too large, and where more than a day lies between receipts: open for long, or the clock jumped."""
    part: list[tuple[int, Record]] = []
    earliest = latest = size_bytes = 0
    for at, record in enumerate(records):
        earliest, latest = min(earliest, record.received_at_ns), max(latest, record.received_at_ns)
        size_bytes += len(record.payload)
        if part and (latest - earliest > _TOGETHER_NS or size_bytes > _TOGETHER_BYTES):
            yield part
            part = []
        if not part:
            earliest, latest, size_bytes = record.received_at_ns, record.received_at_ns, len(record.payload)
        part.append((at, record))
    if part:
        yield part
