"""Takes the place of a ClickHouse server: stores a token once, and keeps every payload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from walltime_collector.errors import InsertRefused
from walltime_collector.load.loader import Loader
from walltime_collector.spool.segment import Record
from walltime_collector.spool.spool import Spool

POISON = b"poison"


def load_all(loader: Loader, spool: Spool, most_steps: int = 100) -> None:
    """A step tries each segment, and makes one INSERT of the search for what was refused; so there are several."""
    loader.step()
    while spool.sealed() and most_steps:
        loader.step()
        most_steps -= 1


class Database:
    """Stores a token once, refuses poison; it is another machine, so it loses no power."""

    def __init__(self) -> None:
        self.stored: dict[str, list[bytes]] = {}

    def migrate(self) -> None:
        """There is nothing to migrate."""

    def insert(self, records: Sequence[Record], token: str) -> None:
        payloads = [bytes(record.payload) for record in records]
        if any(payload.startswith(POISON) for payload in payloads):
            raise InsertRefused("poison")
        self.stored.setdefault(token, payloads)

    @property
    def counts(self) -> Counter[bytes]:
        """How often each payload is stored."""
        return Counter(payload for payloads in self.stored.values() for payload in payloads)
