"""Waits for rows, and for whole tables of InnoDB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..capabilities import Capabilities, rows
from ..connection import Connection
from .wait import Lock, Pair, key_of

# The thread of a lock is the one that made it: of a row that was inserted and not locked yet, the thread that waits.
# So the transaction says who holds it.
_MYSQL: Final = """
SELECT COALESCE(rx.trx_mysql_thread_id, rt.processlist_id, 0), COALESCE(bx.trx_mysql_thread_id, bt.processlist_id, 0),
    CONCAT('`', r.object_schema, '`.`', r.object_name, '`'), r.index_name, r.lock_type, r.lock_data, r.lock_mode,
    b.lock_mode, b.lock_status = 'GRANTED',
    IF(bt.processlist_id = COALESCE(bx.trx_mysql_thread_id, bt.processlist_id), b.event_id, NULL)
FROM performance_schema.data_lock_waits w
JOIN performance_schema.data_locks r ON r.engine_lock_id = w.requesting_engine_lock_id
JOIN performance_schema.data_locks b ON b.engine_lock_id = w.blocking_engine_lock_id
LEFT JOIN information_schema.innodb_trx rx ON rx.trx_id = w.requesting_engine_transaction_id
LEFT JOIN information_schema.innodb_trx bx ON bx.trx_id = w.blocking_engine_transaction_id
LEFT JOIN performance_schema.threads rt ON rt.thread_id = w.requesting_thread_id
LEFT JOIN performance_schema.threads bt ON bt.thread_id = w.blocking_thread_id
LIMIT 2000
"""
_MARIADB: Final = """
SELECT rx.trx_mysql_thread_id, bx.trx_mysql_thread_id, r.lock_table, r.lock_index, r.lock_type, r.lock_data,
    r.lock_mode, b.lock_mode, NOT bx.trx_requested_lock_id <=> w.blocking_lock_id, NULL
FROM information_schema.innodb_lock_waits w
JOIN information_schema.innodb_locks r ON r.lock_id = w.requested_lock_id
JOIN information_schema.innodb_locks b ON b.lock_id = w.blocking_lock_id
JOIN information_schema.innodb_trx rx ON rx.trx_id = w.requesting_trx_id
JOIN information_schema.innodb_trx bx ON bx.trx_id = w.blocking_trx_id
LIMIT 2000
"""


def has_data_locks(has: Capabilities) -> bool:
    """MySQL from 8.0 on."""
    return not has.is_mariadb and has.version >= (8,)


def pairs(connection: Connection, has: Capabilities) -> Sequence[Pair]:
    """Who waits for whom now."""
    return [*nearest(map(_pair, rows(connection, _MYSQL if has_data_locks(has) else _MARIADB)))]


def _pair(row: Sequence[Any]) -> Pair:
    waiter, holder, table, index, sort, data, mode, holder_mode, is_granted, taken_at = row
    lock = Lock(
        "row" if sort == "RECORD" else "table",
        table_of(table or ""),
        index or "",
        key_of(data),
        mode,
        holder_mode,
        taken_at,
    )
    return Pair(int(waiter), int(holder), lock, bool(is_granted))


def table_of(quoted: str) -> str:
    """`` `shop`.`products` `` as `shop.products`."""
    schema, dot, rest = quoted.removeprefix("`").partition("`.`")
    table = rest.partition("` ")[0].removesuffix("`")  # a partition may follow
    return f"{schema}.{table}".replace("``", "`") if dot else ""


def nearest(found: Iterable[Pair]) -> Iterable[Pair]:
    """For each waiter those that have the lock; only where there is none, those ahead of it in the queue."""
    by_waiter: dict[int, dict[int, Pair]] = {}
    for each in found:
        mine = by_waiter.setdefault(each.waiter, {})
        if each.holder != each.waiter and (each.holder not in mine or each.is_granted):
            mine[each.holder] = each
    for mine in by_waiter.values():
        has_granted = any(each.is_granted for each in mine.values())
        yield from (each for each in mine.values() if each.is_granted or not has_granted)
