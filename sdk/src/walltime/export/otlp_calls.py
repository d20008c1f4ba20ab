"""The calls of a kept transaction as OTLP spans, children of its own. docs/wire.md says what the attributes mean."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from walltime.core.bill import STORES, address
from walltime.core.call import CONTINUED, LINES, SKIPPED
from walltime.export.otlp_span import CLIENT, INTERNAL, IS_REMOTE_KNOWN, span
from walltime.export.protobuf import attribute, count, few, word
from walltime.redaction.cache import size_bounded_cache
from walltime.redaction.redact import redact_sql, redact_url
from walltime.redaction.sanitize import decoded

if TYPE_CHECKING:
    from walltime.core.call import Call, Line
    from walltime.core.caller import Place
    from walltime.core.transaction import Transaction
    from walltime.redaction.redact import Redaction


_AFTER: Final = attribute("walltime.after_response", True)
MAX_STATEMENTS: Final = 2048
"""Whose last place is remembered."""


class CallEncoder:
    """Encodes the calls of one process's transactions."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._last_places: dict[str, Place] = {}
        """Statement → where it was last seen to come from."""

    def spans(self, transaction: Transaction) -> bytes:
        """Return the transaction's calls, in the order they ended, then those after its response."""
        ids = transaction.ids
        trace_id, parent = ids.trace_id.to_bytes(16, "big"), ids.span_id.to_bytes(8, "big")
        offset_ns = transaction.started_at_ns - transaction.started_ns
        flags = ids.trace_flags | IS_REMOTE_KNOWN
        number = ids.span_id
        spans: list[bytes] = []
        places = transaction.places or {}
        in_time = sum(call[1] is not CONTINUED for call in transaction.calls)
        after = [] if transaction.after is None else transaction.after.calls
        for call in [*transaction.calls, *after] if after else transaction.calls:
            if call[1] is not CONTINUED:
                # Ids of calls only have to differ within the trace; an odd step visits all 2^64 of them.
                number = (number + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF or 1
                place = places.get(call[2])
                more = _AFTER if len(spans) >= in_time else b""
                span_id = number.to_bytes(8, "big")
                spans.append(self._encode(call, trace_id, span_id, parent, offset_ns, flags, place, more))
        return b"".join(spans)

    def _encode(
        self, call: Call, trace_id: bytes, span_id: bytes, parent: bytes, offset_ns: int, flags: int,
        place: Place | None, more: bytes,
    ) -> bytes:  # fmt: skip
        line, subject, started_ns, ended_ns, own_ns, failure, requested, matched = call
        component, target = LINES[line]
        attributes = _about_calls(line) + count("walltime.own_ns", max(0, own_ns)) + more
        name, kind = component, INTERNAL if target is None else CLIENT
        if component.startswith("mysql.") or component.endswith(".query"):
            sql = subject[0] if type(subject) is tuple else subject
            if sql is not None:
                text = redact_sql(sql)
                name = text[:40].partition(" ")[0].upper() or component
                attributes += _query_text(text) + self._code(text, place)
                if failure is None:
                    attributes += count("db.response.returned_rows", matched)
            if failure is not None and failure.isdigit():
                attributes += few("db.response.status_code", failure)
            if requested:
                attributes += count("walltime.mysql.connection_id", requested)
        elif component.startswith("memcache."):
            if requested:
                attributes += word("walltime.memcache.key", self._key(subject, requested))
                attributes += few("walltime.memcache.result", _cache_result(component, failure, requested, matched))
        elif component.startswith("redis."):
            attributes += self._redis(component, subject, failure, requested, matched)
        elif component == "http.request" and isinstance(subject, tuple):
            name, scheme, url = map(decoded, subject)
            full = f"{scheme}://{address(target)}{url}" if target is not None and url.startswith("/") else url
            attributes += few("http.request.method", name) + attribute("url.full", redact_url(full))
            if matched:
                attributes += few("http.response.status_code", matched)
            if requested:
                attributes += few("http.request.resend_count", requested)
        is_error = failure is not None and failure is not SKIPPED
        if is_error:
            attributes += few("error.type", failure)
        return span(
            trace_id, span_id, parent, name, kind, started_ns + offset_ns, ended_ns + offset_ns,
            attributes, is_error, flags,
        )  # fmt: skip

    def _code(self, statement: str, place: Place | None) -> bytes:
        """Where the application made the call, or else where it made the same statement before."""
        known = self._last_places
        if place is None:
            last = known.get(statement)
            return b"" if last is None else _about_place(last) + few("walltime.code.guessed", True)
        if statement not in known and len(known) >= MAX_STATEMENTS:
            del known[next(iter(known))]
        known[statement] = place
        return _about_place(place)

    def _redis(self, component: str, subject: object, failure: str | None, requested: int, matched: int) -> bytes:
        attributes = b""
        if subject is not None:
            several_keys = requested if component != "redis.hmget" else 1  # its fields are of one
            attributes += word("walltime.redis.key", self._key(subject, several_keys))
        if component in {"redis.pipeline", "redis.transaction"}:
            if requested > 1:
                attributes += few("db.operation.batch.size", requested)
        elif requested and (failure is not None or matched >= 0):
            attributes += few("walltime.redis.result", _cache_result(component, failure, requested, matched))
        return attributes

    def _key(self, key: object, requested: int) -> str:
        text = self._redaction.key(key)
        return text if requested <= 1 else f"{text} and {requested - 1} more"


@lru_cache(maxsize=1024)
def _about_place(place: Place) -> bytes:
    return (
        attribute("code.file.path", place.path)
        + attribute("code.line.number", place.line)
        + attribute("code.function.name", place.function)
    )


@lru_cache(maxsize=1024)
def _about_calls(line: Line) -> bytes:
    """The attributes that all calls of a line share."""
    component, target = LINES[line]
    attributes = attribute("walltime.component", component)
    system, _, operation = component.partition(".")
    if system == "mysql":
        attributes += attribute("db.system.name", "mysql")
    elif operation == "query":
        attributes += attribute("db.system.name", system)
    elif system in {"memcache", "redis"}:
        name = "memcached" if system == "memcache" else system
        attributes += attribute("db.system.name", name) + attribute("db.operation.name", operation)
    if isinstance(target, str):
        attributes += attribute("server.address", target)
    elif target is not None:
        attributes += attribute("server.address", str(target[0])) + attribute("server.port", target[1])
    return attributes


@size_bounded_cache(max_chars=1_000_000)
def _query_text(sql: str) -> bytes:
    return attribute("db.query.text", sql)


def _cache_result(component: str, failure: str | None, requested: int, matched: int) -> str:
    if failure is not None:
        return SKIPPED if failure is SKIPPED else "error"
    if matched < 0:
        return "sent"
    if requested > 1:
        return f"{matched}/{requested}"
    if component in STORES:
        return "stored" if matched else "not_stored"
    return "hit" if matched else "miss"
