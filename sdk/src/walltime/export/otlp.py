"""
Finished transactions as the bytes of an OTLP `ExportTraceServiceRequest`, written directly.

Building the same request from protobuf objects costs four times as much (docs/decisions/001-otlp-by-hand.md). Field
numbers are those of opentelemetry-proto `trace/v1/trace.proto`; tests parse every request with the generated classes.
docs/wire.md says what the attributes mean.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from walltime.bill import shape, total
from walltime.export.otlp_calls import CallEncoder
from walltime.export.otlp_span import CONSUMER, INTERNAL, IS_REMOTE, IS_REMOTE_KNOWN, SERVER, span
from walltime.export.protobuf import attribute, block, count, counts, few, heads, scope_attribute, varint
from walltime.export.remembered import remembered
from walltime.redact import redact_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from walltime.bill import Bill, Cell
    from walltime.call import Line
    from walltime.hotpath import Transaction
    from walltime.redact import Redaction

_SPAN_KINDS: Final = {"internal": INTERNAL, "server": SERVER, "consumer": CONSUMER}


class Encoder:
    """Encodes the transactions of one process, whose resource is the same for all."""

    def __init__(self, resource: bytes, version: str, probability: float, redaction: Redaction) -> None:
        """`resource`: an encoded opentelemetry.proto.resource.v1.Resource."""
        self._resource = block(b"\x0a", resource)
        self._scope = block(b"\x0a", b"walltime") + block(b"\x12", version.encode())
        self._constant = attribute("walltime.schema", 1) + attribute("walltime.sample_probability", float(probability))
        self._calls = CallEncoder(redaction)
        self._redaction = redaction

    def request(self, spans: bytes, missing: Mapping[str, int]) -> bytes:
        """
        Return a whole request around encoded spans (ResourceSpans.scope_spans = 2).

        Args:
            missing: what is on no bill, as attributes of the scope; what is zero is left out.
        """
        scope = self._scope + b"".join([scope_attribute(name, count) for name, count in missing.items() if count])
        return block(b"\x0a", self._resource + block(b"\x12", block(b"\x0a", scope) + spans))

    def transaction(self, transaction: Transaction, bill: Bill, kept: str) -> bytes:
        """Return the root span with its bill, and the calls behind it when they are kept; about 10 µs without them."""
        context = transaction.span_context
        parent = transaction.parent_span_id.to_bytes(8, "big") if transaction.parent_span_id else b""
        root = span(
            context.trace_id.to_bytes(16, "big"), context.span_id.to_bytes(8, "big"), parent, transaction.name,
            _SPAN_KINDS[transaction.kind],
            transaction.started_at_ns, transaction.started_at_ns + transaction.duration_ns,
            self._constant + _about(transaction, self._redaction) + _bill(bill)
            + (few("walltime.kept", kept) if kept else b""),
            transaction.is_error, context.trace_flags | IS_REMOTE_KNOWN | (IS_REMOTE if parent else 0),
            context.trace_state.to_header() if context.trace_state else "",
        )  # fmt: skip
        return root + self._calls.spans(transaction) if kept else root


def _about(transaction: Transaction, redaction: Redaction) -> bytes:
    """What is known of the request itself."""
    about = b""
    if transaction.method:
        about = _request(transaction.name, transaction.method, transaction.scheme, transaction.http_status)
        if transaction.name == transaction.method:  # no route is known
            about += attribute("url.path", redact_path(transaction.path))
    if transaction.user:
        about += attribute("user.id", redaction.user(transaction.user))
    if transaction.session:
        about += attribute("session.id", redaction.session(transaction.session))
    if transaction.error_type:
        about += few("error.type", transaction.error_type)
    if transaction.queue_ns is not None:
        about += count("walltime.queue_ns", transaction.queue_ns)
    if transaction.cpu_user_ns is not None and transaction.cpu_system_ns is not None:
        about += count("walltime.cpu_user_ns", transaction.cpu_user_ns)
        about += count("walltime.cpu_system_ns", transaction.cpu_system_ns)
    if transaction.peak_rss_growth_bytes > 0:
        about += count("walltime.peak_rss_growth_bytes", transaction.peak_rss_growth_bytes)
    if transaction.annotations:
        facts = transaction.annotations.items()
        about += b"".join([attribute(key, redaction.annotation(key, value)) for key, value in facts])
    return about


@lru_cache(maxsize=1024)
def _request(name: str, method: str, scheme: str, status: int) -> bytes:
    """The attributes that all requests of a route with the same outcome share."""
    route = name.removeprefix(method).strip()
    return (
        attribute("http.request.method", method)
        + (attribute("http.route", route) if route else b"")
        + attribute("url.scheme", scheme)
        + attribute("http.response.status_code", status)
    )


# ---- the bill ----


class _Layout(NamedTuple):
    """All of a bill that its numbers do not change, so the same for most transactions of a route."""

    components: list[tuple[tuple[int, ...], tuple[tuple[bytes, ...], ...]]]
    """For each component: the places of its lines, and the beginnings of its attributes."""
    targets: list[tuple[int, ...]]
    target_names: bytes


@lru_cache(maxsize=1024)
def _layout(lines: tuple[Line, ...]) -> _Layout:
    components, targets = shape(lines)
    names = b""
    if targets:
        names = attribute("walltime.target.component", [component for component, _ in targets])
        names += attribute("walltime.target.address", [address for _, address in targets])
    return _Layout(
        [(places, _component_heads(component)) for component, places in components.items()], [*targets.values()], names
    )


_SELDOM: Final = (
    "errors", "keys", "hits", "misses", "not_stored", "rows", "deadlocks", "lock_timeouts", "skipped",
)  # fmt: skip


@lru_cache(maxsize=1024)
def _component_heads(component: str) -> tuple[tuple[bytes, ...], ...]:
    return tuple([heads(f"walltime.{component}.{name}") for name in ("calls", "time_ns", "max_ns", *_SELDOM)])


def _bill(bill: Bill) -> bytes:
    components, targets, target_names = _layout(tuple(bill.lines))
    cells = list(bill.lines.values())
    parts = [count("walltime.covered_ns", max(0, bill.covered_ns))]
    for places, beginnings in components:
        cell = total(cells, places)
        calls, time, longest = varint(cell.calls), varint(cell.time_ns), varint(cell.max_ns)
        parts += (
            beginnings[0][len(calls)], calls, beginnings[1][len(time)], time, beginnings[2][len(longest)], longest,
        )  # fmt: skip
        if cell.errors or cell.keys or cell.rows or cell.not_stored or cell.skipped:
            _seldom(parts, beginnings, cell)
    if targets:
        parts.append(target_names)
        _arrays(parts, "target", [total(cells, places) for places in targets])
    if bill.statements:
        parts.append(_statement_texts(tuple(bill.statements)))
        _arrays(parts, "statement", list(bill.statements.values()))
    if bill.undetailed:
        parts.append(count("walltime.calls_dropped", bill.undetailed))
    return b"".join(parts)


@remembered(max_chars=1_000_000)
def _statement_texts(texts: tuple[str, ...]) -> bytes:
    return attribute("walltime.statement.text", texts)


def _seldom(parts: list[bytes], beginnings: tuple[tuple[bytes, ...], ...], cell: Cell) -> None:
    numbers = (
        cell.errors, cell.keys, cell.hits, cell.misses, cell.not_stored, cell.rows, cell.deadlocks, cell.lock_timeouts,
        cell.skipped,
    )  # fmt: skip
    for beginning, n in zip(beginnings[3:], numbers, strict=True):
        if n:
            value = varint(n)
            parts.append(beginning[len(value)] + value)


def _arrays(parts: list[bytes], of: str, cells: list[Cell]) -> None:
    """Calls and times of each, and what else is not zero for all of them."""
    parts.append(counts(f"walltime.{of}.calls", [cell.calls for cell in cells]))
    parts.append(counts(f"walltime.{of}.time_ns", [cell.time_ns for cell in cells]))
    errors = [cell.errors for cell in cells]
    if any(errors):
        parts.append(counts(f"walltime.{of}.errors", errors))
    if of == "target" and any(cell.keys for cell in cells):
        parts.append(counts("walltime.target.hits", [cell.hits for cell in cells]))
        parts.append(counts("walltime.target.misses", [cell.misses for cell in cells]))
    skipped = [cell.skipped for cell in cells]
    if any(skipped):  # which server is the dead one
        parts.append(counts(f"walltime.{of}.skipped", skipped))
