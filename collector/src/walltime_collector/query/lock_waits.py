"""Waits for locks as the database showed them: who waited, and who held the lock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LockWait:
    """One wait, from one of its two sides; a deadlock is one for each of its transactions."""

    is_holder: bool
    """This transaction held the lock, and the other one waited."""
    sort: str
    """`row`, `metadata`, `table` or `deadlock`."""
    server: str
    started_at: str
    waited_ns: int
    """Until it ended, or was last seen; 0 of a deadlock."""
    is_over: bool
    """It was seen to end."""
    is_rolled_back: bool
    """Of a deadlock: the server ended the transaction that waited."""
    object: str
    """The table, `shop.products`; empty when it is unknown."""
    index_name: str
    key: str
    """Of the row: whole numbers, and `?` for what is none."""
    statement: str
    """That waited, without its values."""
    holder_statement: str
    """That took the lock, as far as it is known."""
    holder_running: str
    """That the holder ran meanwhile; empty while it was idle."""
    holder_idle_ns: int
    """How long the holder had sent nothing when the wait ended; 0 while it worked, and unknown."""
    holder_transaction_ns: int
    """How long its database transaction had lasted; 0: unknown."""
    other_connection_id: int
    """0: who held the lock is unknown."""
    other_trace_id: str
    """Empty when its statement carries no request id."""
    other_span_id: str
    other_service: str
    other_name: str
    """Its kind, or as long as it is not stored the route of its comment."""
