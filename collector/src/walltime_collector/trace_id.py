"""Reads the ids people paste: from a log line, an SQL comment or a header."""

from __future__ import annotations

import re
from urllib.parse import unquote

_TRACE_ID = re.compile(r"([0-9a-f]{32})")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_SPAN_ID = re.compile(r"[0-9a-f]{16}")
_WHOLE = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_SAID = re.compile(r"\b(?:trace|request)[-_. ]?(?:id)?[\"'\]]?\s*(?:[:=]|\s)\s*[\"'\[]?([0-9a-f]{32})(?![0-9a-f])")
_DASHED = re.compile(
    r"\b(?:([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})|1-([0-9a-f]{8})-([0-9a-f]{24}))\b"
)
"""As a UUID, and as AWS X-Ray writes trace ids."""
_BEGINNING = re.compile(r"[0-9a-f]{4,31}")


def parse_trace_id(text: str) -> tuple[str, str]:
    """
    Read a trace id, or a whole `traceparent`, as (trace id, span id or '').

    Raises:
        ValueError: It is neither.
    """
    written = text.strip().strip("'").lower()
    match = _TRACE_ID.fullmatch(written) or _TRACEPARENT.fullmatch(written)
    if not match or not match[1].strip("0"):
        raise ValueError(
            "a trace id is 32 hexadecimal digits, not all 0; its first four or more are enough when they are unique,"
            " and a whole traceparent (00-…-…-01), an SQL comment or a log line is fine too"
        )
    return match[1], match[2] if match.re is _TRACEPARENT else ""


def find_trace_id(text: str) -> tuple[str, str]:
    """
    Read the trace id out of what people paste: (trace id or at least four digits of its beginning, span id or '').

    It may be the id alone, cut or whole, a `traceparent`, an SQL comment or a log line; what is called a trace id goes
    before what only looks like one.

    Raises:
        ValueError: There is none in it, or there are several.
    """
    written = text.strip().strip("'\"`“”‘’[]()").lower()
    if _BEGINNING.fullmatch(short := written.removesuffix("…").rstrip(".")):
        return short, ""
    for pattern in (_TRACEPARENT, _SAID, _WHOLE, _DASHED):
        found = {}
        for match in pattern.finditer(unquote(written)):
            span = match[2] if pattern is _TRACEPARENT else ""
            trace = match[1] if span else "".join(filter(None, match.groups())) or match[0]
            if trace.strip("0"):
                found[trace] = span
        if len(found) > 1:
            raise ValueError(f"there are {len(found)} ids in this text: {', '.join(found)}; take one of them")
        if found:
            return found.popitem()
    return parse_trace_id(text)


def parse_span_id(text: str) -> str:
    """
    Read a span id.

    Raises:
        ValueError: It is not one.
    """
    written = text.strip().lower()
    if not _SPAN_ID.fullmatch(written):
        raise ValueError("a span id is 16 hexadecimal digits; its first four or more are enough when they are unique")
    return written


def find_span_id(text: str) -> str:
    """
    Read a span id, or at least four digits of its beginning.

    Raises:
        ValueError: It is neither.
    """
    written = text.strip().strip("'\"…").lower()
    return written if len(written) < 16 and _BEGINNING.fullmatch(written) else parse_span_id(written)
