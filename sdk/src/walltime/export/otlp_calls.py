"""The calls of a kept transaction as OTLP spans, children of its own. docs/wire.md says what the attributes mean."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from walltime.core.bill import STORES
from walltime.core.call import CONTINUED, LINES, SKIPPED, address
from walltime.export.otlp_span import CLIENT, ERROR, INTERNAL, IS_REMOTE_KNOWN, Children, kind, named
from walltime.export.protobuf import attribute, count, few, word
from walltime.redaction.cache import size_bounded_cache
from walltime.redaction.redact import redact_sql, redact_url
from walltime.redaction.sanitize import decoded

if TYPE_CHECKING:
    from walltime.core.call import Line
    from walltime.core.caller import Place
    from walltime.core.transaction import Transaction
    from walltime.redaction.redact import Redaction


_AFTER: Final = attribute("walltime.after_response", True)
_GUESSED: Final = attribute("walltime.code.guessed", True)
MAX_DETAIL_BYTES: Final = 2 * 1024 * 1024
"""Of one transaction, about: 1,000 calls with statements of 2 KB. A request stays far below the collector's 20 MiB."""
MAX_STATEMENTS: Final = 2048
"""Whose last place is remembered."""
MAX_DESCRIBED: Final = 2048
MAX_DESCRIBED_CHARS: Final = 256
"""Of a subject: of calls with longer ones, the bytes are not kept."""


class CallEncoder:
    """
    Encodes the calls of one process's transactions.

    Most calls repeat: but for their ids, times and places they have the same bytes, which are kept.
    """

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._last_places: dict[str, bytes] = {}
        """Statement → where it was last seen to come from."""
        self._described_before = lru_cache(maxsize=MAX_DESCRIBED)(self._described)

    def spans(self, transaction: Transaction) -> tuple[bytes, int]:
        """
        Return the transaction's calls, in the order they ended, then those after its response.

        And the number of its calls that are left out: those beyond MAX_DETAIL_BYTES.
        """
        ids = transaction.ids
        children = Children(
            ids.trace_id.to_bytes(16, "big"), ids.span_id.to_bytes(8, "big"), ids.trace_flags | IS_REMOTE_KNOWN
        )
        offset_ns = transaction.started_at_ns - transaction.started_ns
        number = ids.span_id
        spans: list[bytes] = []
        left_bytes = MAX_DETAIL_BYTES
        places = transaction.places or {}
        in_time = sum(call[1] is not CONTINUED for call in transaction.calls)
        after = [] if transaction.after is None else transaction.after.calls
        for call in [*transaction.calls, *after] if after else transaction.calls:
            line, subject, started_ns, ended_ns, own_ns, failure, requested, matched = call
            if subject is not CONTINUED:
                # Ids of calls only have to differ within the trace; an odd step visits all 2^64 of them.
                number = (number + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF or 1
                about = self._about(line, subject, failure, requested, matched, places.get(started_ns))
                about += count("walltime.own_ns", own_ns)
                if len(spans) >= in_time:
                    about += _AFTER
                spans.append(children.span(number, started_ns + offset_ns, ended_ns + offset_ns, about))
                left_bytes -= len(about)
                if left_bytes < 0:
                    break
        return b"".join(spans), max(0, in_time - len(spans))

    def _about(
        self, line: Line, subject: object, failure: str | None, requested: int, matched: int, place: Place | None
    ) -> bytes:
        """Return the fields of a call's span that are not its ids and times."""
        of_line = _of_line(line)
        if of_line.is_sql:
            sql = subject[0] if type(subject) is tuple else subject
            if sql is not None:
                text = redact_sql(sql)
                about = of_line.about + (_query(text) if text else of_line.name) + self._code(text, place)
                about += count("db.response.returned_rows", matched) if failure is None else _failed(failure, of_line)
                return about + count("walltime.mysql.connection_id", requested) if requested else about
            return self._described(line, None, failure, requested, matched)
        if _is_short(subject):
            return self._described_before(line, subject, failure, requested, matched)
        return self._described(line, subject, failure, requested, matched)

    def _described(self, line: Line, subject: object, failure: str | None, requested: int, matched: int) -> bytes:
        """Return the same of a call that is not a statement's."""
        component, target = LINES[line]
        of_line = _of_line(line)
        about, name, is_sql = of_line
        if is_sql:
            if requested:
                about += count("walltime.mysql.connection_id", requested)
        elif component.startswith("memcache."):
            if requested:
                about += word("walltime.memcache.key", self._key(subject, requested))
                about += few("walltime.memcache.result", _cache_result(component, failure, requested, matched))
        elif component.startswith("redis."):
            about += self._redis(component, subject, failure, requested, matched)
        elif component == "http.request" and isinstance(subject, tuple):
            method, scheme, url = map(decoded, subject)
            name = named(method)
            full = f"{scheme}://{address(target)}{url}" if target is not None and url.startswith("/") else url
            about += few("http.request.method", method) + attribute("url.full", redact_url(full))
            if matched:
                about += few("http.response.status_code", matched)
            if requested:
                about += few("http.request.resend_count", requested)
        return name + about + (b"" if failure is None else _failed(failure, of_line))

    def _code(self, statement: str, place: Place | None) -> bytes:
        """Where the application made the call, or else where it made the same statement before."""
        known = self._last_places
        if place is None:
            last = known.get(statement)
            return b"" if last is None else last + _GUESSED
        if statement not in known and len(known) >= MAX_STATEMENTS:
            del known[next(iter(known))]
        about = known[statement] = _about_place(place)
        return about

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


class _OfLine(NamedTuple):
    """What all calls of a line share."""

    about: bytes
    name: bytes
    """For those without a better one."""
    is_sql: bool


@lru_cache(maxsize=1024)
def _of_line(line: Line) -> _OfLine:
    component, target = LINES[line]
    about = kind(INTERNAL if target is None else CLIENT) + attribute("walltime.component", component)
    system, _, operation = component.partition(".")
    if system == "mysql":
        about += attribute("db.system.name", "mysql")
    elif operation == "query":
        about += attribute("db.system.name", system)
    elif system in {"memcache", "redis"}:
        name = "memcached" if system == "memcache" else system
        about += attribute("db.system.name", name) + attribute("db.operation.name", operation)
    if isinstance(target, str):
        about += attribute("server.address", target)
    elif target is not None:
        about += attribute("server.address", str(target[0])) + attribute("server.port", target[1])
    return _OfLine(about, named(component), system == "mysql" or operation == "query")


@size_bounded_cache(max_chars=1_000_000)
def _query(sql: str) -> bytes:
    """The name of the span and the text of a statement."""
    return named(sql[:40].partition(" ")[0].upper()) + attribute("db.query.text", sql)


def _failed(failure: str, of_line: _OfLine) -> bytes:
    code = few("db.response.status_code", failure) if of_line.is_sql and failure.isdigit() else b""
    return code if failure is SKIPPED else code + few("error.type", failure) + ERROR


def _is_short(subject: object) -> bool:
    """Say whether it is only texts, none of them long: another object may be anything, and must not be kept."""
    if type(subject) is str:
        return len(subject) <= MAX_DESCRIBED_CHARS
    return subject is None or (
        type(subject) is tuple and all(type(text) is str and _is_short(text) for text in subject)
    )


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
