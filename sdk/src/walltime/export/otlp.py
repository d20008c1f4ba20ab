"""
Finished transactions as the bytes of an OTLP `ExportTraceServiceRequest`, written directly.

Building the same request from protobuf objects costs four times as much (docs/decisions/001-otlp-by-hand.md). Field
numbers are those of opentelemetry-proto `trace/v1/trace.proto`; tests parse every request with the generated classes.
docs/wire.md says what the attributes mean.
"""

from __future__ import annotations

import os
import secrets
import socket
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk import version as otel_version
from opentelemetry.sdk.resources import OTELResourceDetector

from walltime.export import otlp_bill
from walltime.export.otlp_calls import CallEncoder
from walltime.export.otlp_span import CONSUMER, INTERNAL, IS_REMOTE, IS_REMOTE_KNOWN, SERVER, span
from walltime.export.protobuf import attribute, block, few, resource_attribute, scope_attribute
from walltime.redaction.cache import size_bounded_cache
from walltime.redaction.redact import redact_path
from walltime.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from walltime.core.bill import Bill
    from walltime.core.transaction import Transaction
    from walltime.redaction.redact import Redaction
    from walltime.settings.settings import Settings

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
        ids = transaction.ids
        calls, left_out = self._calls.spans(transaction) if kept else (b"", 0)
        bill.undetailed += left_out
        parent = transaction.parent_span_id.to_bytes(8, "big") if transaction.parent_span_id else b""
        root = span(
            ids.trace_id.to_bytes(16, "big"), ids.span_id.to_bytes(8, "big"), parent, transaction.name,
            _SPAN_KINDS[transaction.kind],
            transaction.started_at_ns, transaction.started_at_ns + transaction.duration_ns,
            self._constant + _about(transaction, self._redaction) + otlp_bill.encode(transaction, bill)
            + (_after(transaction) if transaction.after is not None or transaction.after_error_type else b"")
            + (few("walltime.kept", kept) if kept else b""),
            transaction.is_error, ids.trace_flags | IS_REMOTE_KNOWN | (IS_REMOTE if parent else 0),
            ids.trace_state.to_header() if ids.trace_state is not None else "",
        )  # fmt: skip
        return root + calls


def _about(transaction: Transaction, redaction: Redaction) -> bytes:
    """What is known of the request itself."""
    about = b""
    if transaction.method:
        about = _request(transaction.name, transaction.method, transaction.scheme, transaction.http_status)
        if transaction.name == transaction.method:  # no route is known
            about += _path(transaction.path)
    if transaction.user:
        about += attribute("user.id", redaction.user(transaction.user))
    if transaction.session:
        about += attribute("session.id", redaction.session(transaction.session))
    if transaction.error_type:
        about += few("error.type", transaction.error_type)
    if transaction.annotations:
        facts = transaction.annotations.copy().items()  # a thread may add one at this moment
        about += b"".join([attribute(key, redaction.annotation(key, value)) for key, value in facts])
    return about


def _after(transaction: Transaction) -> bytes:
    """What it did after its response."""
    about = attribute("walltime.after_response.duration_ns", transaction.after_ns)
    if transaction.after_error_type:
        about += few("walltime.after_response.error_type", transaction.after_error_type)
    if transaction.after is not None:
        components = transaction.after.add_up().components
        about += attribute("walltime.after_response.component", list(components))
        for name in ("calls", "time_ns", "errors"):
            about += attribute(f"walltime.after_response.{name}", [getattr(cell, name) for cell in components.values()])
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


@size_bounded_cache(max_chars=100_000)
def _path(path: str) -> bytes:
    return attribute("url.path", redact_path(path))


def resource(settings: Settings) -> bytes:
    """Return this process as an encoded OTLP Resource (attributes = 1), with OTEL_RESOURCE_ATTRIBUTES."""
    # Not Resource.create: it starts a thread pool, which fails while the interpreter exits.
    detected = OTELResourceDetector().detect().attributes
    attributes: dict[str, object] = {
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": otel_version.__version__,
        "telemetry.distro.name": "walltime",
        "telemetry.distro.version": VERSION,
        "service.name": "unknown_service",
        "service.instance.id": secrets.token_hex(8),
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
        **detected,
    }
    if settings.service_name:
        attributes["service.name"] = settings.service_name
    return b"".join([resource_attribute(key, value) for key, value in attributes.items()])
