"""Converts entries to rows of slow_log_entries, without the literals of their statements."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Final, Literal

from ...statements.comment import UNKNOWN_SENDER, sender_of
from ...statements.fingerprint import MAX_SAMPLE_CHARS, fingerprint_id, of_redacted
from ...statements.sql_lexer.lexer import lex
from .entry import Entry
from .header import FLAGS
from .statement import Statement

TABLE: Final = "slow_log_entries"
Source = Literal["slow_log", "performance_schema"]
MAX_FINGERPRINT_CHARS: Final = 8_192
CUT: Final = ("cut", "the statement is longer than what was read of it")
"""In `fields` of such entries."""
_MAX_CACHED: Final = 8_192
_texts: dict[str, str] = {}
"""Part of a row by redacted statement: statements that differ in their literals alone share it."""


def rows(entries: Iterable[Entry], server: str, read_at_s: int, source: Source = "slow_log") -> bytes:
    """JSON objects, one a line, for `Engine.insert_rows(TABLE, …)`."""
    of_all = f'"read_at":{read_at_s},"server":{_text(server)},"source":"{source}"'
    common = f'{{{of_all},"position":'.encode("utf-8", "replace")
    now_us = read_at_s * 1_000_000
    made = []
    for entry in entries:
        statement = entry.read or Statement(entry.statement, lex(entry.statement))
        started_us = now_us if entry.started_us is None else entry.started_us
        made.append(
            b'%b%d,"started_us":%d,%b,%b}\n'
            % (
                common,
                entry.position,
                started_us,
                entry.encoded or encoded_header(entry),
                statement.encoded or _encoded_statement(statement),
            )
        )
    return b"".join(made)


def encoded_header(entry: Entry) -> bytes:
    """The columns that come from the lines above the statement."""
    fields = dict(entry.fields)
    if entry.tail:
        fields.update([CUT])
    pairs = ",".join([f"{_text(name)}:{_text(value)}" for name, value in fields.items()])
    return (
        f'"query_ns":{entry.query_ns},"lock_ns":{entry.lock_ns},"row_lock_ns":{entry.row_lock_ns},'
        f'"io_wait_ns":{entry.io_wait_ns},"cpu_ns":{entry.cpu_ns},"rows_sent":{entry.rows_sent},"rows_examined":{entry.rows_examined},'
        f'"rows_affected":{entry.rows_affected},"bytes_sent":{entry.bytes_sent},"database":{_text(entry.database)},'
        f'"user":{_text(entry.user)},"client_host":{_text(entry.client_host)},"connection_id":{entry.connection_id},'
        f'"weight":{entry.weight},"errno":{entry.errno},{_encoded_flags(entry.flags)},"fields":{{{pairs}}}'
    ).encode("utf-8", "replace")


@lru_cache(maxsize=1024)
def _encoded_flags(flags: frozenset[str]) -> str:
    return ",".join([f'"{column}":{"true" if column in flags else "false"}' for column in FLAGS.values()])


def _encoded_statement(statement: Statement) -> bytes:
    redacted, comments, _ = statement.lexed
    text = _texts.get(redacted)
    if text is None:
        text = _encoded_text(redacted)
        if len(_texts) >= _MAX_CACHED:
            _texts.clear()
        _texts[redacted] = text
    sent_by = sender_of(comments) if comments else UNKNOWN_SENDER
    text += (
        f',"trace_id":"{sent_by.trace_id}","span_id":"{sent_by.span_id}",'
        f'"service":{_text(sent_by.service)},"route":{_text(sent_by.route)}'
    )
    statement.encoded = text.encode("utf-8", "replace")
    return statement.encoded


def _encoded_text(redacted: str) -> str:
    fingerprint = of_redacted(redacted)
    return (
        f'"fingerprint":{_text(fingerprint[:MAX_FINGERPRINT_CHARS])},"fingerprint_id":{fingerprint_id(fingerprint)},'
        f'"sample":{_text(redacted[:MAX_SAMPLE_CHARS])}'
    )


def _text(text: str) -> str:
    return str(encode_basestring(text))
