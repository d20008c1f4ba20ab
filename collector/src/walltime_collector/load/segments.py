"""Stores the records of one segment, in one INSERT if possible; each record that the database refuses goes to dead/."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from ..clickhouse.engine import Engine
from ..errors import InsertRefused
from ..receive.check import usual
from ..spool.segment import Record
from ..spool.spool import Content, Segment, Spool
from .poison import Numbered, search

log = logging.getLogger(__name__)

_TOGETHER_NS = 24 * 3600 * 1_000_000_000
"""Starts are stored at most 29 days before and a day after receipt; so an INSERT touches at most 32 days."""


def store(spool: Spool, engine: Engine, segment: Segment, content: Content, deadly: Collection[int]) -> Counter[str]:
    """
    Store the records of a segment and return how many spans are `stored`, `dead` and `lost`.

    Doing it again stores nothing twice: every INSERT has the same token as before.

    Args:
        deadly: The positions of the records that end the database's process; they go to dead/ untried.

    Raises:
        EngineUnavailable: Some records may be stored; do it again.
    """
    outcome: Counter[str] = Counter()
    reasons = dict.fromkeys(deadly, "the database's process ends at every try to store it")
    # without deadly records the token stays that of the whole: part of it may be stored since the process ended
    whole = content.token + "".join(f"-{at}" for at in sorted(deadly))

    def is_refused(part: Numbered) -> bool:
        try:
            if part:
                engine.insert([record for _, record in part], token if part is group else _part_token(whole, part))
        except InsertRefused as error:
            reasons[part[0][0]] = str(error)
            return True
        outcome["stored"] += sum(record.spans for _, record in part)
        return False

    for received_together in _together(content.records):
        is_all = len(received_together) == len(content.records)
        token = content.token if is_all else _part_token(content.token, received_together)
        group = [each for each in received_together if each[0] not in deadly]
        if not is_refused(group):
            continue
        # protobuf allows encodings that ClickHouse refuses; to look for them at receipt would double its cost
        again = [(at, record._replace(payload=usual(record.payload))) for at, record in group]
        is_known, group = again == group, again
        for at in search(group, is_refused, is_known=is_known):
            outcome += _put_aside(spool, segment, at, content.records[at], reasons[at])
    for at in sorted(deadly):
        outcome += _put_aside(spool, segment, at, content.records[at], reasons[at])
    return outcome


def _put_aside(spool: Spool, segment: Segment, at: int, record: Record, reason: str) -> Counter[str]:
    is_kept = spool.dead_letter(segment, [record], at, reason)
    log.error("the database refused a request, %s: %s", "kept in dead/" if is_kept else "lost", reason)
    return Counter({"dead" if is_kept else "lost": record.spans})


def _part_token(whole: str, part: Numbered) -> str:
    return f"{whole}:{part[0][0]}+{len(part)}"


def _together(records: Sequence[Record]) -> Iterator[Numbered]:
    """Split where more than a day lies between receipts: the segment was open for long, or the clock jumped."""
    part: list[tuple[int, Record]] = []
    earliest = latest = records[0].received_at_ns if records else 0
    for at, record in enumerate(records):
        earliest, latest = min(earliest, record.received_at_ns), max(latest, record.received_at_ns)
        if latest - earliest > _TOGETHER_NS:
            yield part
            part, earliest, latest = [], record.received_at_ns, record.received_at_ns
        part.append((at, record))
    yield part
