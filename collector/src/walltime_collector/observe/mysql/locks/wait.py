"""A wait for a lock as a server shows it: who waits for whom, and the sessions of both."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from ....statements.comment import UNKNOWN_SENDER, Sender, sender_of
from ....statements.fingerprint import MAX_SAMPLE_CHARS, fingerprint_id, of_redacted
from ....statements.sql_lexer.lexer import lex
from ...writer import Row

TABLE: Final = "lock_wait_entries"
Sort = Literal["row", "metadata", "table", "deadlock"]
_WHOLE: Final = re.compile(r"-?\d+|supremum pseudo-record")


class Said(NamedTuple):
    """A statement without its values."""

    redacted: str = ""
    sender: Sender = UNKNOWN_SENDER


@dataclass(frozen=True)
class Lock:
    """What is waited for. Nothing of it is secret."""

    sort: Sort
    object: str = ""
    index: str = ""
    key: str = ""
    mode: str = ""
    holder_mode: str = ""
    taken_at: int | None = None
    """The statement of the holder that took it is the last one with a smaller event id; None: unknown."""


@dataclass(frozen=True)
class Pair:
    """A connection that waits for another one; a holder of 0 is unknown."""

    waiter: int
    holder: int
    lock: Lock
    is_granted: bool = True
    """False: the holder itself waits for this lock, further ahead in the queue."""


@dataclass(frozen=True)
class Session:
    """A connection: what it does, and what it did in its transaction."""

    statements: Sequence[tuple[int, str]] = ()
    """Event id and text of the last ones that are known, oldest first."""
    first: int = 0
    """Event id of the first one of its transaction."""
    running_ns: int | None = None
    """Since its statement began; None: it runs none."""
    idle_ns: int = 0
    """Since its last statement ended; 0 while it runs one, and unknown."""
    transaction_ns: int = 0
    paused_ns: int = 0
    """How long it was idle before its last statement, where that is a short COMMIT or ROLLBACK."""

    def last(self) -> Said:
        """Its last statement."""
        return said(self.statements[-1][1]) if self.statements else Said()

    def took(self, lock: Lock) -> Said:
        """
        The statement that took a lock, or the likeliest one; its sender may be that of another one of its transaction.

        A transaction of the application is one request's, and a text that was cut has lost its comment.
        """
        known = [(at, said(text)) for at, text in self.statements]
        mine = [each for at, each in known if at >= self.first]
        before = [each for at, each in known if lock.taken_at is not None and at < lock.taken_at]
        table = lock.object.rpartition(".")[2]
        of_table = [each for each in mine if table and table in each.redacted]
        took = (before or of_table or mine or [Said()])[-1]
        senders = (each.sender for each in (took, *reversed(mine)))
        return Said(took.redacted, next((each for each in senders if each.trace_id), took.sender))


@lru_cache(maxsize=512)
def said(text: str) -> Said:
    """Read a statement; servers cut long ones, so that its end may be inside a literal."""
    lexed = lex(text, is_cut=True)
    return Said(lexed.redacted[:MAX_SAMPLE_CHARS], sender_of(lexed.comments) if lexed.comments else UNKNOWN_SENDER)


def key_of(lock_data: str | None) -> str:
    """
    The key of a row without its texts: `21`, `?, 22`.

    Whole numbers count only behind the last quote: those before it may be inside a text.
    """
    if not lock_data:
        return ""
    if lock_data.count("'") % 2 or lock_data.count('"') % 2:
        return "?"
    in_quotes, quote, behind = lock_data.rpartition("'")
    parts = [each.strip() for each in behind.split(",")]
    if in_quotes or quote:
        parts[0] = "?"
    return ", ".join(each if _WHOLE.fullmatch(each) else "?" for each in parts)


def party(prefix: str, connection_id: int, statement: Said) -> Mapping[str, object]:
    """The columns of one of the two."""
    sender = statement.sender
    return {
        f"{prefix}connection_id": connection_id,
        f"{prefix}statement": statement.redacted,
        f"{prefix}fingerprint_id": fingerprint_id(of_redacted(statement.redacted)) if statement.redacted else 0,
        f"{prefix}trace_id": sender.trace_id,
        f"{prefix}span_id": sender.span_id,
        f"{prefix}service": sender.service,
        f"{prefix}route": sender.route,
    }


def wait_row(
    server: str,
    started_s: float,
    now_s: float,
    lock: Lock,
    waiter: Mapping[str, object],
    holder: Mapping[str, object],
    **more: object,
) -> Row:
    """
    A row of the table; one with the same server, start and connections replaces it.

    Args:
        waiter: As `holder`, see `party`.
        more: Further columns.
    """
    return {
        "started_at": f"{started_s:.6f}",
        "updated_at": f"{now_s:.3f}",
        "server": server,
        "sort": lock.sort,
        "object": lock.object,
        "index_name": lock.index,
        "key": lock.key,
        "mode": lock.mode,
        "holder_mode": lock.holder_mode,
        **waiter,
        **holder,
        **more,
    }
