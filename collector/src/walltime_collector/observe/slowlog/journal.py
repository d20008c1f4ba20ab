"""
The journal of a log or a server: entries that are not yet stored, and where to read on; a small file, replaced whole.

    write(batch) ──fsync──► insert under the batch's token ──► stored() ──► write(next batch) …

A crash between any two of them repeats the insert of the same rows under the same token, which is harmless. The rows
are not read again: the log may be gone.
"""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...errors import SettingsRefused
from ...spool.disk import Disk, write_whole
from .entry import Carried

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

At = TypeVar("At", bound="DataclassInstance")


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
class Batch(Generic[At]):
    """Rows that are stored together or not at all, and the checkpoint behind them."""

    token: str
    checkpoint: At
    rows: bytes
    count: int


class BatchJournal(ABC, Generic[At]):
    """
    A journal whose checkpoints are of one kind; its file is readable by its owner alone.

    Raises:
        OSError: The file cannot be read or written.
        SettingsRefused: The file is not a journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._id, self._number = uuid.uuid4().hex, 0
        self.checkpoint: At | None = None
        """Behind the last batch written; None before the first."""
        self.unstored: Batch[At] | None = None
        """The batch whose rows are perhaps not stored."""
        if path.exists():
            self._read()

    @abstractmethod
    def read_checkpoint(self, written: Any) -> At:
        """A checkpoint of its JSON; raises TypeError, ValueError or LookupError if it is none."""

    def write(self, checkpoint: At, rows: bytes, count: int) -> None:
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
            self.checkpoint = self.read_checkpoint(state["checkpoint"])
            count = state["count"]
        except (ValueError, LookupError, TypeError) as error:
            raise SettingsRefused(f"{self.path}: damaged ({error}); move it away, and reading begins anew") from error
        if rows:
            self.unstored = Batch(self._token(), self.checkpoint, rows, count)

    def _replace(self, checkpoint: At, rows: bytes, count: int) -> None:
        first = {"id": self._id, "number": self._number, "count": count, "checkpoint": asdict(checkpoint)}
        write_whole(Disk(), self.path, [json.dumps(first).encode() + b"\n", rows])


class Journal(BatchJournal[Checkpoint]):
    """The journal of one log."""

    def read_checkpoint(self, written: Any) -> Checkpoint:
        """See BatchJournal."""
        return Checkpoint(**{**written, "carried": Carried(**written["carried"])})
