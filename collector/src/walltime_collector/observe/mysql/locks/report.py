"""Reads the last deadlock of SHOW ENGINE INNODB STATUS, as MySQL and MariaDB write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Final

from .row_locks import table_of
from .wait import Lock, Said, said

_SECTION: Final = re.compile(r"^-+\nLATEST DETECTED DEADLOCK\n-+\n(.*?)^-+\n[A-Z /]+\n-+\n", re.M | re.S)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_TRANSACTION: Final = re.compile(r"^\*\*\* \((\d+)\) TRANSACTION:\nTRANSACTION (\d+), ACTIVE (\d+) sec", re.M)
_THREAD: Final = re.compile(r"^(?:MySQL|MariaDB) thread id (\d+), [^\n]*\n", re.M)
_RECORDS: Final = re.compile(
    # a name ends at its quote, and a quote in it is written twice: one way to read a line, however long
    r"^(?:RECORD LOCKS space id (\d+) page no (\d+) n bits \d+ index ([^`\n]+?) of|TABLE LOCK) table "
    r"(`(?:[^`\n]|``)*`\.`(?:[^`\n]|``)*`).*?"
    r" trx id (\d+) lock[_ ]mode (.*?)( waiting)?$",
    re.M,
)
_HEAP: Final = re.compile(r"^Record lock, heap no (\d+)", re.M)
_KEY: Final = re.compile(r"^ 0: len (\d+); hex ([0-9a-f]+);", re.M)
_ROLLED_BACK: Final = re.compile(r"^\*\*\* WE ROLL BACK TRANSACTION \((\d+)\)", re.M)


@dataclass
class Party:
    """A transaction of a deadlock."""

    number: int
    transaction_id: int
    active_s: int
    connection_id: int
    statement: Said
    waits_for: Lock = field(default_factory=lambda: Lock("deadlock"))
    holder: int = 0
    """`number` of the one that has the lock."""


@dataclass(frozen=True)
class Deadlock:
    """The last one. Nothing of it is secret."""

    at_s: float
    """Unix time: whole seconds, and a fraction of its first transaction's id, so that two of a second differ."""
    parties: Sequence[Party]
    rolled_back: int
    """`number` of the transaction that the server ended."""


def deadlock(status: str, now_s: float) -> Deadlock | None:
    """
    The last one, if there is any in the text.

    Args:
        now_s: When the text was written, Unix time: its own first line has the same in the server's zone.
    """
    section = _SECTION.search(status)
    header, when = _TIME.search(status), section and _TIME.match(section[1])
    if section is None or header is None or when is None:
        return None
    text = section[1]
    begins = [*_TRANSACTION.finditer(text)]
    ends = [each.start() for each in begins[1:]] + [len(text)]
    parties = [_party(begin, text[begin.start() : end]) for begin, end in zip(begins, ends, strict=True)]
    known = [each for each in parties if each is not None]
    if len(known) < 2:
        return None
    _find_holders(known, text)
    rolled_back = _ROLLED_BACK.search(text)
    zone_s = round((_seconds(header[0]) - now_s) / 900) * 900
    fraction_s = known[0].transaction_id % 1_000 / 1_000
    return Deadlock(_seconds(when[0]) - zone_s + fraction_s, known, int(rolled_back[1]) if rolled_back else 0)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def _party(begin: re.Match[str], text: str) -> Party | None:
    thread = _THREAD.search(text)
    if thread is None:
        return None
    # the statement ends at the next heading of the report; a text in it that looks like one cuts it, inside a literal
    statement = text[thread.end() :].partition("\n*** ")[0]
    number, transaction_id, active_s = (int(each) for each in begin.groups())
    return Party(number, transaction_id, active_s, int(thread[1]), said(statement.strip()))


def _find_holders(parties: Sequence[Party], text: str) -> None:
    """Who has the row that a transaction waits for: another one with a lock on the same place that does not wait."""
    found = [*_RECORDS.finditer(text)]
    ends = [each.start() for each in found[1:]] + [len(text)]
    held: list[tuple[str, tuple[str, ...], re.Match[str]]] = []
    for each, end in zip(found, ends, strict=True):
        space, page, _, table, transaction_id, _, waits = each.groups()
        body = text[each.end() : end]
        places = [(space or table, page or "", heap) for heap in _HEAP.findall(body)] or [(table, "", "")]
        held += [(transaction_id, place, each) for place in places if not waits]
    by_id = {str(each.transaction_id): each for each in parties}
    for each, end in zip(found, ends, strict=True):
        space, page, index, table, transaction_id, mode, waits = each.groups()
        mine = by_id.get(transaction_id)
        if not waits or mine is None:
            continue
        body = text[each.end() : end]
        heap = _HEAP.search(body)
        place = (space or table, page or "", heap[1] if heap else "")
        others = [(by_id[of], lock) for of, at, lock in held if at == place and of != transaction_id and of in by_id]
        holder, lock = others[0] if others else (parties[mine.number % len(parties)], None)
        mine.holder = holder.number
        key = _whole_number(body) if index == "PRIMARY" else ""
        mine.waits_for = Lock("deadlock", table_of(table), index or "", key, mode, lock[6] if lock else "")


def _whole_number(record: str) -> str:
    """The first column of a key of 4 or 8 bytes, if it may be a signed whole number: others are not shown."""
    key = _KEY.search(record)
    if key is None or key[1] not in ("4", "8"):
        return ""
    size = int(key[1]) * 8
    number = int(key[2], 16) - (1 << (size - 1))
    return str(number) if 0 <= number < 1 << 31 else "?"
