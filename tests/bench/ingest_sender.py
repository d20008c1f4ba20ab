"""
The sender of `make bench-ingest`, a process of its own on a core of its own: sends ready bodies, measures the answers.

    python -m tests.bench.ingest_sender < PLAN

Standard input: one `Order` as JSON. Standard output: one `Sent` as JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import struct
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import httpx
import uvloop

from tests.bench.ingest_http1 import Http1Connection
from tests.bench.ingest_http2 import Http2Connection

LOOK_EVERY_S: Final = 0.25
BEHIND_S: Final = 2.5
PAUSE_AFTER_REFUSAL_S: Final = 0.5


@dataclass(frozen=True)
class Body:
    """One export request, as it goes over the wire."""

    spans: int
    content: bytes


@dataclass(frozen=True)
class Order:
    """What to send."""

    address: str
    health_url: str
    bodies: str
    """A file of `write_bodies`."""
    is_grpc: bool = False
    encoding: str = ""
    connections: int = 32
    seconds: float = 10.0
    spans_per_s: float = 0.0
    """At this rate, whatever the answers do; 0: the next request of a connection follows its last answer."""
    faster_by: float = 1.0
    """The rate is multiplied by this every `step_s`."""
    step_s: float = 2.0
    until_refused: bool = False
    """Stop at the first answer that is not 200, or when sending falls a second behind."""
    window_spans: int = 400_000
    """Nothing is sent while more than this is acknowledged and not yet stored: a sender that a collector can bear."""


@dataclass
class Sent:
    """What came of it."""

    requests: int = 0
    spans: int = 0
    """Acknowledged, both."""
    refused: dict[str, int] = field(default_factory=dict)
    """Answers that were not 200, by status; 0 is a connection that ended."""
    seconds: float = 0.0
    """From the first request to the last answer."""
    ack_p50_ms: float = 0.0
    ack_p99_ms: float = 0.0
    """From when a request was due; without a rate that is when it was sent."""
    spans_per_s: float = 0.0
    """The rate at the end, for an Order with a rate."""
    kept_up_per_s: float = 0.0
    """The highest rate of a whole step after which no more than `BEHIND_S` of it was still to be stored."""


class Connection(Protocol):
    def send(self, body: bytes) -> None: ...
    def close(self) -> None: ...


def write_bodies(path: Path, bodies: Sequence[Body]) -> None:
    """Each: its length and its spans, both 32 bits, and the bytes."""
    path.write_bytes(b"".join(struct.pack("<II", len(each.content), each.spans) + each.content for each in bodies))


def read_bodies(path: Path) -> list[Body]:
    """What `write_bodies` wrote."""
    content, at, bodies = path.read_bytes(), 0, []
    while at < len(content):
        size, spans = struct.unpack_from("<II", content, at)
        bodies.append(Body(spans, content[at + 8 : at + 8 + size]))
        at += 8 + size
    return bodies


class Sender:
    """Carries out one order."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._bodies: Iterator[Body] = itertools.cycle(read_bodies(Path(order.bodies)))
        self._idle: deque[Connection] = deque()
        self._under_way: dict[Connection, tuple[int, float]] = {}
        self._latencies_s: list[float] = []
        self._sent = Sent(spans_per_s=order.spans_per_s)
        self._refused: Counter[str] = Counter()
        self._is_over = False
        self._waiting_spans = 0
        self._last_answer_s = 0.0

    async def run(self) -> Sent:
        """Send until the time is over, then wait for the answers under way."""
        looking = asyncio.create_task(self._look())
        await asyncio.gather(*(self._connect() for _ in range(self._order.connections)))
        started_s = time.perf_counter()
        try:
            await (self._send_at_rate() if self._order.spans_per_s else self._send_in_turn())
            deadline_s = time.perf_counter() + 30
            while self._under_way and time.perf_counter() < deadline_s:
                await asyncio.sleep(0.005)
        finally:
            looking.cancel()
        for connection in (*self._idle, *self._under_way):
            connection.close()
        self._sent.refused = dict(self._refused)
        self._sent.seconds = max(self._last_answer_s - started_s, 0.0)
        if len(self._latencies_s) > 1:
            percentiles = statistics.quantiles(self._latencies_s, n=100, method="inclusive")
            self._sent.ack_p50_ms, self._sent.ack_p99_ms = percentiles[49] * 1000, percentiles[98] * 1000
        return self._sent

    async def _send_in_turn(self) -> None:
        ends_s = time.perf_counter() + self._order.seconds
        while time.perf_counter() < ends_s:
            while self._idle and self._waiting_spans <= self._order.window_spans:
                self._send(time.perf_counter())
            await asyncio.sleep(0.001 if self._waiting_spans <= self._order.window_spans else 0.02)
        self._is_over = True

    async def _send_at_rate(self) -> None:
        order, due_s = self._order, time.perf_counter()
        ends_s = due_s + order.seconds
        faster_s = due_s + order.step_s
        while (now_s := time.perf_counter()) < ends_s and not (order.until_refused and self._refused):
            while due_s <= now_s and self._idle:
                spans = self._send(due_s)
                due_s += spans / self._sent.spans_per_s
            if order.until_refused and now_s - due_s > 1.0:
                break
            if now_s >= faster_s:
                if self._waiting_spans <= BEHIND_S * self._sent.spans_per_s:
                    self._sent.kept_up_per_s = self._sent.spans_per_s
                self._sent.spans_per_s *= order.faster_by
                faster_s += order.step_s
            await asyncio.sleep(max(min(due_s - now_s, 0.005), 0.0005))
        self._is_over = True

    def _send(self, due_s: float) -> int:
        body, connection = next(self._bodies), self._idle.popleft()
        self._under_way[connection] = body.spans, due_s
        connection.send(body.content)
        return body.spans

    def _answered(self, connection: Connection, status: int) -> None:
        self._last_answer_s = time.perf_counter()
        spans, due_s = self._under_way.pop(connection)
        if status == 200:
            self._latencies_s.append(self._last_answer_s - due_s)
            self._sent.requests += 1
            self._sent.spans += spans
            self._waiting_spans += spans  # until the next look
            self._idle.append(connection)
            if not self._order.spans_per_s and not self._is_over and self._waiting_spans <= self._order.window_spans:
                self._send(self._last_answer_s)
            return
        self._refused[str(status)] += 1
        if status and not self._is_over:
            asyncio.get_running_loop().call_later(PAUSE_AFTER_REFUSAL_S, self._idle.append, connection)
        elif not self._is_over:
            self._reconnecting = asyncio.create_task(self._connect())

    async def _connect(self) -> None:
        host, _, port = self._order.address.rpartition(":")
        make: Callable[..., Any] = Http2Connection if self._order.is_grpc else Http1Connection
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: make(self._order.address, self._order.encoding, self._answered), host, int(port)
        )
        self._idle.append(connection)

    async def _look(self) -> None:
        """How far the collector is behind, from itself."""
        async with httpx.AsyncClient(timeout=30) as client:
            while True:
                report = (await client.get(self._order.health_url)).json()
                self._waiting_spans = report["spans"]["spooled"]
                await asyncio.sleep(LOOK_EVERY_S)


def main() -> None:
    sent = uvloop.run(Sender(Order(**json.load(sys.stdin))).run())
    print(json.dumps(asdict(sent)))


if __name__ == "__main__":
    main()
