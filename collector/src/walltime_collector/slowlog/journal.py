"""
The journal of one log: entries that are not yet stored, and the next position; one small file, replaced whole.

    write(batch) ──fsync──► insert under the batch's token ──► stored() ──► write(next batch) …

A crash between any two of them repeats the insert of the same rows under the same token, which is harmless. The rows
are not read again: the log may be gone.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import SettingsRefused
from ..spool.disk import Disk, write_whole
from .entry import Carried


@dataclass(frozen=True)
class Checkpoint:
    """Where to read on, and how to know that the file is still the same one."""

    device: int = 0
    inode: int = 0
    head_bytes: int = 0
    """So many of the file's first bytes are what `head` is the SHA-256 of."""
    head: str = ""
    offset: int = 0
    carried: Carried = field(default_factory=Carried)


@dataclass(frozen=True)
class Batch:
    """Rows that are stored together or not at all, and the checkpoint behind them."""

    token: str
    checkpoint: Checkpoint
    rows: bytes
    count: int


class Journal:
    """
    The journal of one log; its file is readable by its owner alone.

    Raises:
        OSError: The file cannot be read or written.
        SettingsRefused: The file is not a journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._id, self._number = uuid.uuid4().hex, 0
        self.checkpoint: Checkpoint | None = None
        """Behind the last batch written; None before the first."""
        self.unstored: Batch | None = None
        """The batch whose rows are perhaps not stored."""
        if path.exists():
            self._read()

    def write(self, checkpoint: Checkpoint, rows: bytes, count: int) -> None:
        """Make the next batch durable; it is `unstored` until `stored` is called. No rows: only read on from there."""
        self._number += 1
        self.checkpoint = checkpoint
        self.unstored = Batch(self._token(), checkpoint, rows, count) if rows else None
        self._replace(checkpoint, rows, count)

    def stored(self) -> None:
        """The batch's rows are in the engine."""
        if self.unstored is not None:
            self._replace(self.unstored.checkpoint, b"", 0)
            self.unstored = None

    def _token(self) -> str:
        return f"slowlog-{self._id}-{self._number}"

    def _read(self) -> None:
        first, _, rows = self.path.read_bytes().partition(b"\n")
        try:
            state = json.loads(first)
            self._id, self._number = state["id"], state["number"]
            written = state["checkpoint"]
            self.checkpoint = Checkpoint(**{**written, "carried": Carried(**written["carried"])})
        except (ValueError, LookupError, TypeError) as error:
            raise SettingsRefused(
                f"{self.path}: damaged ({error}); move it away, and its log is read once more from the beginning"
            ) from error
        if rows:
            self.unstored = Batch(self._token(), self.checkpoint, rows, state["count"])

    def _replace(self, checkpoint: Checkpoint, rows: bytes, count: int) -> None:
        first = {"id": self._id, "number": self._number, "count": count, "checkpoint": asdict(checkpoint)}
        write_whole(Disk(), self.path, [json.dumps(first).encode() + b"\n", rows])
