"""
Finished transactions as the bytes of an OTLP `ExportTraceServiceRequest`, written directly.

Building the same request from protobuf objects costs four times as much (docs/decisions/001-otlp-by-hand.md). Field
numbers are those of opentelemetry-proto `trace/v1/trace.proto` and `common/v1/common.proto`; tests parse every request
with the generated classes. docs/wire.md says what the attributes mean.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from walltime.bill import STORES, address
from walltime.call import CONTINUED, LINES, SKIPPED
from walltime.redact import redact_key, redact_sql, redact_url

if TYPE_CHECKING:
    from walltime.bill import Bill
    from walltime.call import Call, Line
    from walltime.hotpath import Transaction

Value: TypeAlias = "str | bool | int | float | Sequence[str] | Sequence[int]"

MAX_TEXT_CHARS: Final = 4096
_INTERNAL, _SERVER, _CLIENT, _CONSUMER = 1, 2, 3, 5
_SPAN_KINDS: Final = {"internal": _INTERNAL, "server": _SERVER, "consumer": _CONSUMER}
_IS_REMOTE_KNOWN, _IS_REMOTE = 0x100, 0x200  # SpanFlags: whether the parent is in another process


# ---- protobuf's wire format (https://protobuf.dev/programming-guides/encoding/) ----

_LAST: Final = [bytes((n,)) for n in range(128)]


def varint(n: int) -> bytes:
    """Encode 0 ≤ n < 2^64, 7 bits a byte, lowest first."""
    if n < 1 << 7:
        return _LAST[n]
    if n < 1 << 14:
        return bytes((n & 127 | 128, n >> 7))
    if n < 1 << 21:
        return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14))
    if n < 1 << 28:
        return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14 & 127 | 128, n >> 21))
    return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14 & 127 | 128, n >> 21 & 127 | 128)) + varint(n >> 28)


def _block(tag: bytes, body: bytes) -> bytes:
    """A length-delimited field."""
    return tag + varint(len(body)) + body


def _text(text: str) -> bytes:
    return text[:MAX_TEXT_CHARS].encode("utf-8", "replace")


@lru_cache(maxsize=4096)
def _key(key: str) -> bytes:
    """KeyValue.key = 1"""
    return _block(b"\x0a", key[:255].encode("utf-8", "replace"))


def _any(value: Value) -> bytes:
    """AnyValue: string 1, bool 2, int 3, double 4, array 5."""
    if isinstance(value, str):
        return _block(b"\x0a", _text(value))
    if isinstance(value, bool):
        return b"\x10\x01" if value else b"\x10\x00"
    if isinstance(value, int):
        return b"\x18" + varint(min(max(value, -(1 << 63)), (1 << 63) - 1) & ((1 << 64) - 1))
    if isinstance(value, float):
        return b"\x21" + struct.pack("<d", value)
    return _block(b"\x2a", b"".join([_block(b"\x0a", _any(item)) for item in value]))


def _attribute(key: str, value: Value) -> bytes:
    """Span.attributes = 9, KeyValue.value = 2"""
    body = _key(key) + _block(b"\x12", _any(value))
    return b"\x4a" + varint(len(body)) + body


@lru_cache(maxsize=4096)
def _head(key: str, size: int) -> bytes:
    """An attribute up to the varint of its integer, which takes `size` bytes."""
    body = _key(key) + b"\x12" + _LAST[1 + size] + b"\x18"
    return b"\x4a" + varint(len(body) + size) + body


def _count(key: str, n: int) -> bytes:
    """`_attribute` of an integer ≥ 0, three times as fast."""
    value = varint(n)
    return _head(key, len(value)) + value


_few = lru_cache(maxsize=4096)(_attribute)
"""`_attribute` for values that are the same in most transactions: names, addresses, small counts."""


def resource_attribute(key: str, value: object) -> bytes:
    """Resource.attributes = 1"""
    return _block(b"\x0a", _key(key) + _block(b"\x12", _any(_plain(value))))


def _span(
    trace_id: bytes,
    span_id: bytes,
    parent: bytes,
    name: str,
    kind: int,
    started_at_ns: int,
    ended_at_ns: int,
    attributes: bytes,
    is_error: bool,
    flags: int,
    trace_state: str = "",
) -> bytes:
    """ScopeSpans.spans = 2, with the Span's fields in order of their numbers."""
    head = b"\x0a\x10" + trace_id + b"\x12\x08" + span_id
    if trace_state:
        head += _block(b"\x1a", _text(trace_state))
    if parent:
        head += b"\x22\x08" + parent
    return _block(
        b"\x12",
        head
        + _block(b"\x2a", _text(name))
        + b"\x30" + _LAST[kind]
        + b"\x39" + started_at_ns.to_bytes(8, "little")
        + b"\x41" + ended_at_ns.to_bytes(8, "little")
        + attributes
        + (b"\x7a\x02\x18\x02" if is_error else b"")  # Status.code = 3: ERROR = 2
        + b"\x85\x01" + flags.to_bytes(4, "little"),
    )  # fmt: skip


# ---- a transaction ----


class Encoder:
    """Encodes the transactions of one process, whose resource is the same for all."""

    def __init__(self, resource: bytes, version: str, probability: float, key_salt: bytes | None) -> None:
        """
        Args:
            resource: an encoded opentelemetry.proto.resource.v1.Resource.
            key_salt: for hashing memcache keys; None sends them as they are.
        """
        scope = _block(b"\x0a", b"walltime") + _block(b"\x12", version.encode())
        self._resource = _block(b"\x0a", resource)
        self._scope = _block(b"\x0a", scope)
        self._constant = _attribute("walltime.schema", 1) + _attribute(
            "walltime.sample_probability", float(probability)
        )
        self._key_salt = key_salt

    def request(self, spans: bytes) -> bytes:
        """Return a whole request around encoded spans (ResourceSpans.scope_spans = 2)."""
        return _block(b"\x0a", self._resource + _block(b"\x12", self._scope + spans))

    def transaction(self, transaction: Transaction, bill: Bill, kept: str) -> bytes:
        """Return the root span with its bill, and the calls behind it when they are kept."""
        context = transaction.span_context
        trace_id, span_id = context.trace_id.to_bytes(16, "big"), context.span_id.to_bytes(8, "big")
        parent = transaction.parent_span_id.to_bytes(8, "big") if transaction.parent_span_id else b""
        flags = context.trace_flags | _IS_REMOTE_KNOWN | (_IS_REMOTE if parent else 0)
        spans = _span(
            trace_id, span_id, parent, transaction.name, _SPAN_KINDS[transaction.kind],
            transaction.started_at_ns, transaction.started_at_ns + transaction.duration_ns,
            self._constant + _about(transaction) + _bill(bill) + (_attribute("walltime.kept", kept) if kept else b""),
            transaction.is_error, flags, context.trace_state.to_header() if context.trace_state else "",
        )  # fmt: skip
        if kept:
            offset_ns = transaction.started_at_ns - transaction.started_ns
            flags = context.trace_flags | _IS_REMOTE_KNOWN
            number = context.span_id
            for call in transaction.calls:
                if call[1] is not CONTINUED:
                    # Ids of calls only have to differ within the trace; an odd step visits all 2^64 of them.
                    number = (number + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF or 1
                    spans += self._call(call, trace_id, number.to_bytes(8, "big"), span_id, offset_ns, flags)
        return spans

    def _call(self, call: Call, trace_id: bytes, span_id: bytes, parent: bytes, offset_ns: int, flags: int) -> bytes:
        line, subject, started_ns, ended_ns, own_ns, failure, asked, found = call
        component, target = LINES[line]
        attributes = _about_calls(line) + _count("walltime.own_ns", max(0, own_ns))
        name, kind = component, _INTERNAL if target is None else _CLIENT
        if component.startswith("mysql."):
            if subject is not None:
                text = redact_sql(subject)
                name = _verb(text) or component
                attributes += _few("db.query.text", text)
                if failure is None:
                    attributes += _count("db.response.returned_rows", found)
            if failure is not None and failure.isdigit():
                attributes += _few("db.response.status_code", failure)
            if asked:
                attributes += _count("walltime.mysql.connection_id", asked)
        elif component.startswith("memcache."):
            if asked:
                result = _memcache_result(component, failure, asked, found)
                attributes += _attribute("walltime.memcache.key", self._memcache_key(subject, asked))
                attributes += _few("walltime.memcache.result", result)
        elif component == "http.request" and isinstance(subject, tuple):
            name, scheme, url = map(str, subject)
            full = f"{scheme}://{address(target)}{url}" if target is not None and url.startswith("/") else url
            attributes += _few("http.request.method", name) + _attribute("url.full", redact_url(full))
            if found:
                attributes += _few("http.response.status_code", found)
        is_error = failure is not None and failure is not SKIPPED
        if is_error:
            attributes += _few("error.type", failure)
        return _span(
            trace_id, span_id, parent, name, kind, started_ns + offset_ns, ended_ns + offset_ns,
            attributes, is_error, flags,
        )  # fmt: skip

    def _memcache_key(self, key: object, asked: int) -> str:
        if not isinstance(key, (str, bytes)):
            text = f"({type(key).__name__})"
        elif self._key_salt is not None:
            text = redact_key(key, self._key_salt)
        else:
            text = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
        return text if asked == 1 else f"{text} and {asked - 1} more"


def _about(transaction: Transaction) -> bytes:
    """What is known of the request itself."""
    parts = []
    if transaction.method:
        route = transaction.name.removeprefix(transaction.method).strip()
        parts += [
            _few("http.request.method", transaction.method),
            _few("http.route", route) if route else _attribute("url.path", transaction.path),
            _few("url.scheme", transaction.scheme),
            _few("http.response.status_code", transaction.http_status),
        ]
    if transaction.user:
        parts.append(_attribute("user.id", transaction.user))
    if transaction.error_type:
        parts.append(_few("error.type", transaction.error_type))
    if transaction.queue_ns is not None:
        parts.append(_count("walltime.queue_ns", transaction.queue_ns))
    if transaction.cpu_user_ns is not None and transaction.cpu_system_ns is not None:
        parts.append(_count("walltime.cpu_user_ns", transaction.cpu_user_ns))
        parts.append(_count("walltime.cpu_system_ns", transaction.cpu_system_ns))
    if transaction.peak_rss_growth_bytes > 0:
        parts.append(_count("walltime.peak_rss_growth_bytes", transaction.peak_rss_growth_bytes))
    if transaction.annotations:
        parts += [_attribute(key, _plain(value)) for key, value in transaction.annotations.items()]
    return b"".join(parts)


def _plain(value: object) -> Value:
    # Only the built-in types are looked at: another object's __str__ may be slow or fail.
    return value if isinstance(value, (str, bool, int, float)) else f"({type(value).__name__})"


def _bill(bill: Bill) -> bytes:
    parts = [_count("walltime.covered_ns", bill.covered_ns)]
    for component, cell in bill.components.items():
        keys = _component_keys(component)
        parts += [_count(keys[0], cell.calls), _count(keys[1], cell.time_ns), _count(keys[2], cell.max_ns)]
        if cell.errors or cell.keys or cell.rows or cell.not_stored or cell.skipped:
            rest = (
                cell.errors, cell.keys, cell.hits, cell.misses, cell.not_stored, cell.rows, cell.deadlocks,
                cell.lock_timeouts, cell.skipped,
            )  # fmt: skip
            parts += [_count(key, count) for key, count in zip(keys[3:], rest, strict=True) if count]
    if bill.targets:
        components, addresses = zip(*bill.targets, strict=True)
        cells = bill.targets.values()
        parts += [
            _few("walltime.target.component", components),
            _few("walltime.target.address", addresses),
            _few("walltime.target.calls", tuple([cell.calls for cell in cells])),
            _attribute("walltime.target.time_ns", [cell.time_ns for cell in cells]),
            _few("walltime.target.errors", tuple([cell.errors for cell in cells])),
            _few("walltime.target.hits", tuple([cell.hits for cell in cells])),
            _few("walltime.target.misses", tuple([cell.misses for cell in cells])),
        ]
    if bill.statements:
        lines = bill.statements.values()
        parts += [
            _few("walltime.statement.text", tuple(bill.statements)),
            _few("walltime.statement.calls", tuple([cell.calls for cell in lines])),
            _attribute("walltime.statement.time_ns", [cell.time_ns for cell in lines]),
            _few("walltime.statement.errors", tuple([cell.errors for cell in lines])),
        ]
    if bill.undetailed:
        parts.append(_count("walltime.calls_dropped", bill.undetailed))
    return b"".join(parts)


_COUNTS: Final = (
    "calls", "time_ns", "max_ns", "errors", "keys", "hits", "misses", "not_stored", "rows", "deadlocks",
    "lock_timeouts", "skipped",
)  # fmt: skip


@lru_cache(maxsize=1024)
def _component_keys(component: str) -> tuple[str, ...]:
    return tuple([f"walltime.{component}.{name}" for name in _COUNTS])


@lru_cache(maxsize=1024)
def _about_calls(line: Line) -> bytes:
    """The attributes that all calls of a line share."""
    component, target = LINES[line]
    attributes = _attribute("walltime.component", component)
    system, _, operation = component.partition(".")
    if system == "mysql":
        attributes += _attribute("db.system.name", "mysql")
    elif system == "memcache":
        attributes += _attribute("db.system.name", "memcached") + _attribute("db.operation.name", operation)
    if isinstance(target, str):
        attributes += _attribute("server.address", target)
    elif target is not None:
        attributes += _attribute("server.address", str(target[0])) + _attribute("server.port", target[1])
    return attributes


@lru_cache(maxsize=2048)
def _verb(sql: str) -> str:
    return sql.partition(" ")[0].upper()[:40]


def _memcache_result(component: str, failure: str | None, asked: int, found: int) -> str:
    if failure is not None:
        return SKIPPED if failure is SKIPPED else "error"
    if found < 0:
        return "sent"
    if asked > 1:
        return f"{found}/{asked}"
    if component in STORES:
        return "stored" if found else "not_stored"
    return "hit" if found else "miss"
