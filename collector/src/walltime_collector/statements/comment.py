"""The sender of a statement according to its comment: request, service, route."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from ..trace_id import parse_trace_id
from .sql_lexer.lexer import lex

# the SDK's is at the very end; other tools' comments may follow or precede it
_MOST_COMMENTS = 16
_VALUE = r"(?:'(?:[^'\\]|\\.)*'|[^\s,;'\"=*]+)"
_PAIRS = re.compile(rf"\s*[\w.%-]+\s*[=:]\s*{_VALUE}(?:\s*,\s*[\w.%-]+\s*[=:]\s*{_VALUE})*\s*", re.DOTALL)
_PAIR = re.compile(rf"(?<![\w.%-])([\w.%-]+)\s*[=:]\s*({_VALUE})", re.DOTALL)
_SERVICE = ("service", "application", "ddps")
_ROUTE = ("route", "action")


class Sender(NamedTuple):
    """Who sent a statement; each part is empty if the comment lacks it. Ids are lower-case hexadecimal."""

    trace_id: str = ""
    span_id: str = ""
    service: str = ""
    route: str = ""


UNKNOWN_SENDER = Sender()


def sender(statement: str) -> Sender:
    """The sender of a statement, see `sender_of`."""
    return sender_of(lex(statement).comments)


def sender_of(comments: Sequence[str]) -> Sender:
    """
    The sender according to the last comment that carries a `traceparent`, else the last one of keys and values.

    Understands sqlcommenter (`/*key='value',…*/` at the end), the same in front as other tracers write it, and
    marginalia's `key:value`. Anything else is ignored.

    Args:
        comments: Of `lexer.lex`, so none is a part of a literal.
    """
    last = UNKNOWN_SENDER
    for content in (*comments[: -_MOST_COMMENTS - 1 : -1], *comments[:_MOST_COMMENTS]):
        pairs = _pairs(content)
        if not pairs:
            continue
        sent_by = Sender(
            *_ids(pairs.get("traceparent", "")),
            next((pairs[key] for key in _SERVICE if pairs.get(key)), ""),
            next((pairs[key] for key in _ROUTE if pairs.get(key)), ""),
        )
        if sent_by.trace_id:
            return sent_by
        last = last if any(last) else sent_by
    return last


def _pairs(content: str) -> dict[str, str]:
    if not _PAIRS.fullmatch(content):
        return {}
    return {_decoded(key).lower(): _decoded(value.strip("'")) for key, value in _PAIR.findall(content)}


def _decoded(text: str) -> str:
    # tagged before the driver put the values in, a percent sign is doubled, and stays so when there were no values
    return unquote(text.replace("%%", "%").replace("\\'", "'"), errors="replace")[:256]


def _ids(traceparent: str) -> tuple[str, str]:
    try:
        trace_id, span_id = parse_trace_id(traceparent)
    except ValueError:
        return "", ""
    return (trace_id, span_id) if span_id.strip("0") else ("", "")
