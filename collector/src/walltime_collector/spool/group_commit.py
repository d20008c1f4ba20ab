"""Shares one fsync among all waiting requests: requests that arrive during a write go into the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

from .segment import Record, stored_bytes
from .spool import Spool


class GroupCommit:
    """
    Appends to the spool from the event loop; one write with fsync runs at a time, in a thread of its own.

    Args:
        count_spooled: Called with the spans of each write as soon as they are on disk, also when the requests that
            brought them have been cancelled meanwhile.
    """

    def __init__(self, spool: Spool, count_spooled: Callable[[int], None]) -> None:
        self._spool, self._count_spooled = spool, count_spooled
        self._thread = ThreadPoolExecutor(1, "spool")
        self._waiting: list[tuple[Record, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def append(self, record: Record) -> None:
        """Store one record; it is on disk when this returns. Raises what Spool.append raises."""
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((record, stored))
        if self._task is None:
            self._task = asyncio.create_task(self._commit())
        await stored

    def close(self) -> None:
        """Wait for the running write."""
        self._thread.shutdown()

    async def _commit(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._next_batch()
            error: Exception | None = None
            try:
                await loop.run_in_executor(self._thread, self._append, [record for record, _ in batch])
            except Exception as failure:  # noqa: BLE001 each waiting request gets it
                error = failure
            for _, stored in batch:
                if stored.done():
                    continue  # its request was cancelled; the record stays stored
                if error is None:
                    stored.set_result(None)
                else:
                    stored.set_exception(error)
        self._task = None

    def _next_batch(self) -> list[tuple[Record, asyncio.Future[None]]]:
        """What fills a segment: while a disk stalls, more than that may come."""
        sizes = accumulate((stored_bytes(record) for record, _ in self._waiting), initial=0)
        most_bytes = self._spool.segment_room_bytes
        fitting = sum(size < most_bytes for size in sizes)
        batch, self._waiting = self._waiting[:fitting], self._waiting[fitting:]
        return batch

    def _append(self, records: list[Record]) -> None:
        self._spool.append(records)
        self._count_spooled(sum(record.spans for record in records))
