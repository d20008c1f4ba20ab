"""What an error of ClickHouse may say to the one who asked: nothing of other databases, of files or of machines."""

from __future__ import annotations

import re

_HINT = re.compile(r" ?Maybe you meant:? (?!\[)[`\"']?([^\s`\"'.?]+)[`\"']?\.[^\s?]+\?")
_PART = re.compile(r"\(while reading from part \S+ in table (\S+) [^()]*(?:\([^()]*\)[^()]*)*\)")
_STORED_FILE = re.compile(r"[^\s'\"(),:]*\bstore/[0-9a-f]{3}/[0-9a-f-]{36}[^\s'\"(),:]*")
_TABLE_ID = re.compile(r" \([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)")
_MACHINE = re.compile(r"Received from \S+:\d+\. (?:DB::Exception: )?")


def public(text: str, database: str) -> str:
    """
    Return ClickHouse's text without what the asker may not read.

    Args:
        database: The one whose tables may be read, and named.
    """
    text = _HINT.sub(lambda found: found[0] if found[1] == database else "", text)
    text = _PART.sub(r"(while reading from a part of \1)", text)
    return _MACHINE.sub("", _TABLE_ID.sub("", _STORED_FILE.sub("…", text)))
