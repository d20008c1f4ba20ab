"""Finds trace and span ids in pasted text: a log line, an SQL comment, a header."""

from __future__ import annotations

import re
from urllib.parse import unquote

_TRACE_ID = re.compile(r"([0-9a-f]{32})")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_SPAN_ID = re.compile(r"[0-9a-f]{16}")
_WHOLE = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_LABELLED = re.compile(r"\b(?:trace|request)[-_. ]?(?:id)?[\"'\]]?(?:\s*[:=]\s*|\s+)[\"'\[]?([0-9a-f]{32})(?![0-9a-f])")
_DASHED = re.compile(
    r"\b(?:([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})|1-([0-9a-f]{8})-([0-9a-f]{24}))\b"
)
"""As a UUID, and as AWS X-Ray writes trace ids."""
_PREFIX = re.compile(r"[0-9a-f]{4,31}")


def parse_trace_id(text: str) -> tuple[str, str]:
    """
    Parse a trace id or a `traceparent`: (trace id, span id or '').

    Raises:
        ValueError: It is neither.
    """
    text = text.strip().strip("'").lower()
    match = _TRACE_ID.fullmatch(text) or _TRACEPARENT.fullmatch(text)
    if not match or not match[1].strip("0"):
        raise ValueError(
            "a trace id is 32 hexadecimal digits, not all 0; its first four or more are enough when they are unique,"
            " and a whole traceparent (00-…-…-01), an SQL comment or a log line is fine too"
        )
    return match[1], match[2] if match.re is _TRACEPARENT else ""


def find_trace_id(text: str) -> tuple[str, str]:
    """
    Find a trace id in pasted text: (the id or at least four digits of its beginning, span id or '').

    The text is an id, a part of one, a `traceparent`, an SQL comment or a log line. A labelled id (`trace_id=…`) wins
    over other text that looks like one.

    Raises:
        ValueError: There is none in it, or there are several.
    """
    cleaned = text.strip().strip("'\"`“”‘’[]()").lower()
    if _PREFIX.fullmatch(short := cleaned.removesuffix("…").rstrip(".")):
        return short, ""
    for pattern in (_TRACEPARENT, _LABELLED, _WHOLE, _DASHED):
        matches = {}
        for match in pattern.finditer(unquote(cleaned)):
            span = match[2] if pattern is _TRACEPARENT else ""
            trace = match[1] if span else "".join(filter(None, match.groups())) or match[0]
            if trace.strip("0"):
                matches[trace] = span
        if len(matches) > 1:
            raise ValueError(f"there are {len(matches)} ids in this text: {', '.join(matches)}; take one of them")
        if matches:
            return matches.popitem()
    return parse_trace_id(text)


def parse_span_id(text: str) -> str:
    """
    Parse a span id.

    Raises:
        ValueError: It is not one.
    """
    text = text.strip().lower()
    if not _SPAN_ID.fullmatch(text):
        raise ValueError("a span id is 16 hexadecimal digits; its first four or more are enough when they are unique")
    return text


def find_span_id(text: str) -> str:
    """
    Parse a span id, or at least four digits of its beginning.

    Raises:
        ValueError: It is neither.
    """
    text = text.strip().strip("'\"…").lower()
    return text if len(text) < 16 and _PREFIX.fullmatch(text) else parse_span_id(text)
