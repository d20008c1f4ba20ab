"""The test transaction of `walltime doctor`: known numbers, a service of its own, one kept call."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ..otlp import export_request, pairs

SERVICE = "walltime.doctor"
NAME = "canary"
DURATION_NS = 12_345_678
QUERY_NS = 2_345_678
STATEMENT = "SELECT canary FROM walltime"


@dataclass(frozen=True)
class Canary:
    """A transaction with one call: two spans."""

    trace_id: str
    span_id: str
    started_ns: int

    def request(self) -> bytes:
        """The OTLP request for it, in protobuf."""
        trace_id, span_id = bytes.fromhex(self.trace_id), bytes.fromhex(self.span_id)
        root = Span(
            trace_id=trace_id,
            span_id=span_id,
            name=NAME,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=self.started_ns,
            end_time_unix_nano=self.started_ns + DURATION_NS,
            attributes=pairs(
                {
                    "walltime.schema": 1,
                    "walltime.kept": "forced",
                    "walltime.sample_probability": 1.0,
                    "walltime.covered_ns": QUERY_NS,
                    "walltime.mysql.query.calls": 1,
                    "walltime.mysql.query.time_ns": QUERY_NS,
                    "walltime.mysql.query.max_ns": QUERY_NS,
                }
            ),
        )
        call = Span(
            trace_id=trace_id,
            span_id=os.urandom(8),
            parent_span_id=span_id,
            name="SELECT",
            kind=Span.SPAN_KIND_CLIENT,
            start_time_unix_nano=self.started_ns + 1_000,
            end_time_unix_nano=self.started_ns + 1_000 + QUERY_NS,
            attributes=pairs(
                {
                    "walltime.component": "mysql.query",
                    "walltime.own_ns": QUERY_NS,
                    "db.system.name": "mysql",
                    "db.query.text": STATEMENT,
                }
            ),
        )
        return export_request({"service.name": SERVICE}, [root, call])

    def differences(self, trace: Mapping[str, Any]) -> list[str]:
        """What the API returns for its trace that is not as sent; empty when all is equal."""
        bills = trace["transactions"]
        if len(bills) != 1:
            return [f"it is stored {len(bills)} times"]
        bill = bills[0]
        query: dict[str, int] = next((each for each in bill["components"] if each["name"] == "mysql.query"), {})
        expected = {
            "span_id": (bill["span_id"], self.span_id),
            "service": (bill["service"], SERVICE),
            "name": (bill["name"], NAME),
            "duration_ns": (bill["duration_ns"], DURATION_NS),
            "other_ns": (bill["other_ns"], DURATION_NS - QUERY_NS),
            "kept": (bill["kept"], "forced"),
            "mysql.query.calls": (query.get("calls"), 1),
            "mysql.query.time_ns": (query.get("time_ns"), QUERY_NS),
            "kept calls": ([call["text"] for call in bill["calls"]], [STATEMENT]),
        }
        return [f"{name} is {stored!r}, not {sent!r}" for name, (stored, sent) in expected.items() if stored != sent]


def hatch() -> Canary:
    """A new canary that ends now."""
    return Canary(os.urandom(16).hex(), os.urandom(8).hex(), time.time_ns() - DURATION_NS)
