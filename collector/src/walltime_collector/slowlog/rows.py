"""Entries become rows of slow_log_entries; here their literals leave, so that nothing behind this place holds any."""

from __future__ import annotations

import json
from collections.abc import Iterable

from .comment import sender_of
from .fingerprint import MAX_SAMPLE_CHARS, fingerprint_id, of_redacted
from .header import FLAGS, Entry
from .lexer import lex

TABLE = "slow_log_entries"
MAX_FINGERPRINT_CHARS = 8_192


def rows(entries: Iterable[Entry], server: str, read_at_s: int) -> bytes:
    """JSON objects, one a line, for `Engine.insert_rows(TABLE, …)`."""
    return b"".join(_row(entry, server, read_at_s) for entry in entries)


def _row(entry: Entry, server: str, read_at_s: int) -> bytes:
    lexed = entry.lexed or lex(entry.statement)
    sample = lexed.redacted
    fingerprint = of_redacted(sample)
    sent_by = sender_of(lexed.comments)
    fields = dict(entry.fields)
    if entry.tail:
        fields["cut"] = "the statement is longer than what was read of it"
    row = {
        "started_us": read_at_s * 1_000_000 if entry.started_us is None else entry.started_us,
        "read_at": read_at_s,
        "query_ns": entry.query_ns,
        "lock_ns": entry.lock_ns,
        "row_lock_ns": entry.row_lock_ns,
        "io_wait_ns": entry.io_wait_ns,
        "rows_sent": entry.rows_sent,
        "rows_examined": entry.rows_examined,
        "rows_affected": entry.rows_affected,
        "bytes_sent": entry.bytes_sent,
        "server": server,
        "database": entry.database,
        "user": entry.user,
        "client_host": entry.client_host,
        "connection_id": entry.connection_id,
        "position": entry.position,
        "fingerprint": fingerprint[:MAX_FINGERPRINT_CHARS],
        "fingerprint_id": fingerprint_id(fingerprint),
        "sample": sample[:MAX_SAMPLE_CHARS],
        "trace_id": sent_by.trace_id,
        "span_id": sent_by.span_id,
        "service": sent_by.service,
        "route": sent_by.route,
        "weight": entry.weight,
        "errno": entry.errno,
        **{column: column in entry.flags for column in FLAGS.values()},
        "fields": fields,
    }
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
