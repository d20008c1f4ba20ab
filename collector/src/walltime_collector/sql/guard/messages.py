"""Removes names of other databases, files and machines from ClickHouse's error messages."""

from __future__ import annotations

import re

from ...clickhouse.dialect import NO_MEMORY

_HINT = re.compile(r" ?Maybe you meant:? (?!\[)[`\"']?([^\s`\"'.?]+)[`\"']?\.[^\s?]+\?")
_PART = re.compile(r"\(while reading from part \S+ in table (\S+) [^()]*(?:\([^()]*\)[^()]*)*\)")
_STORED_FILE = re.compile(r"(?<![^\s'\"(),:])[^\s'\"(),:]*\bstore/[0-9a-f]{3}/[0-9a-f-]{36}[^\s'\"(),:]*")
_TABLE_ID = re.compile(r" \([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)")
_MACHINE = re.compile(r"Received from \S+:\d+\. (?:DB::Exception: )?")


def public(text: str, database: str) -> str:
    """ClickHouse's message without what the client may not read; tables of `database` may be named."""
    if NO_MEMORY.match(text):
        what = "the database has no more memory for it now; reduce the statement, or ask again"
        return f"Code: 241. DB::Exception: Memory limit exceeded: {what}. (MEMORY_LIMIT_EXCEEDED)"
    text = _HINT.sub(lambda hint: hint[0] if hint[1] == database else "", text)
    text = _PART.sub(r"(while reading from a part of \1)", text)
    return _MACHINE.sub("", _TABLE_ID.sub("", _STORED_FILE.sub("…", text)))
