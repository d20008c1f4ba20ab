"""Reads the ids people paste: from a log line, an SQL comment or a header."""

from __future__ import annotations

import re

_TRACE_ID = re.compile(r"([0-9a-f]{32})")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_SPAN_ID = re.compile(r"[0-9a-f]{16}")


def parse_trace_id(text: str) -> tuple[str, str]:
    """
    Read a trace id, or a whole `traceparent`, as (trace id, span id or '').

    Raises:
        ValueError: It is neither.
    """
    written = text.strip().strip("'").lower()
    match = _TRACE_ID.fullmatch(written) or _TRACEPARENT.fullmatch(written)
    if not match or not match[1].strip("0"):
        raise ValueError("a trace id is 32 hexadecimal digits, not all 0; a whole traceparent (00-…-…-01) is fine too")
    return match[1], match[2] if match.re is _TRACEPARENT else ""


def parse_span_id(text: str) -> str:
    """
    Read a span id.

    Raises:
        ValueError: It is not one.
    """
    written = text.strip().lower()
    if not _SPAN_ID.fullmatch(written):
        raise ValueError("a span id is 16 hexadecimal digits")
    return written
