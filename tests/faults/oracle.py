"""
Knows what must be in the database: sends traces that follow from their id, and remembers which were acknowledged.

    lost      acknowledged, and not stored whole
    forged    stored, and never sent
    altered   stored otherwise than sent
    doubled   stored more than once
"""

from __future__ import annotations

import hashlib
import http.client
import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from opentelemetry.proto.trace.v1.trace_pb2 import Span
from walltime_collector.clickhouse.engine import Engine, Rows

from tests.collector.clickhouse.spans import request, span
from tests.servers import PROTOBUF, Collector

SPANS = 20

# The span's digest is made again from its ids, by the database.
STORED = """
WITH lower(hex(MD5(concat(trace_id, span_id)))) AS made
SELECT
    lower(hex(trace_id)) AS id,
    toUInt32(count()) AS stored,
    toUInt32(uniqExact(span_id)) AS different,
    toUInt32(countIf(digest != made OR name != concat('op ', substring(made, 1, 2))
        OR duration_ns != reinterpretAsUInt32(unhex(substring(made, 1, 8))))) AS altered
FROM
(
    SELECT trace_id, span_id, name, duration_ns, attributes['digest'] AS digest FROM transactions
    UNION ALL
    SELECT trace_id, span_id, name, duration_ns, attributes['digest'] AS digest FROM spans
)
GROUP BY trace_id
"""


def body_of(trace_id: bytes, started_ns: int = 0) -> bytes:
    """The request of this trace: a transaction and its calls; `started_ns` 0 is now, minus a minute."""
    started_ns = started_ns or time.time_ns() - 60 * 10**9
    spans: list[Span] = []
    for at in range(SPANS):
        span_id = hashlib.sha256(trace_id + bytes([at])).digest()[:8]
        digest = hashlib.md5(trace_id + span_id).digest()  # noqa: S324 the database has it too
        is_root = at == 0
        made = span(
            {"digest": digest.hex(), **({"walltime.schema": 1} if is_root else {})},
            trace_id=trace_id,
            span_id=span_id,
            parent_span_id=b"" if is_root else spans[0].span_id,
            kind=Span.SPAN_KIND_SERVER if is_root else Span.SPAN_KIND_CLIENT,
            name=f"op {digest.hex()[:2]}",  # few: of more than 10,000 names the rarest become _OTHER
            start_time_unix_nano=started_ns,
            end_time_unix_nano=started_ns + int.from_bytes(digest[:4], "little"),
        )
        spans.append(made)
    return request(*spans).SerializeToString()


@dataclass
class Verdict:
    """What the database has, beside what it should have; ids in hex."""

    acknowledged: int
    stored: int
    lost: set[str] = field(default_factory=set)
    forged: set[str] = field(default_factory=set)
    altered: set[str] = field(default_factory=set)
    doubled: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        found = (f"{name} {len(getattr(self, name))}" for name in ("lost", "forged", "altered", "doubled"))
        return f"{self.acknowledged} requests acknowledged, {self.stored} stored: {', '.join(found)}"

    @property
    def is_clean(self) -> bool:
        """Nothing is wrong; un-acknowledged ones may be stored or not."""
        return not (self.lost or self.forged or self.altered or self.doubled)


def wait_until_loaded(collector: Collector, stall_s: float = 300) -> None:
    """
    Wait until nothing is in the spool, on disk or by the counters, and check that the counters agree.

    A busy machine loads slowly: it fails only when no segment was loaded for `stall_s`.
    """
    spool = collector.directory / "spool"
    left, deadline_s = -1, 0.0
    while (segments := len(list(spool.glob("*.segment")))) or collector.health()["spans"]["spooled"]:
        if segments != left:
            left, deadline_s = segments, time.monotonic() + stall_s
        assert time.monotonic() < deadline_s, f"{left} segments are left; none was loaded within {stall_s} s"
        time.sleep(0.1)
    spans = collector.health()["spans"]
    assert spans["received"] == spans["stored"] + spans["rejected"] + spans["dead"]
    assert spans["lost"] == 0


class Oracle:
    """
    Ids, and what became of them; the acknowledged ones are in a file that no fault touches.

    Args:
        seed: Makes the ids; printed by the tests, so that a run can be made again.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._acknowledged_path = folder / "acknowledged"
        self._acknowledged_path.touch()
        self._senders: list[Sender] = []
        self.sent: set[str] = set()
        self.refused: dict[int, int] = {}
        self.address = ""

    def next_id(self) -> bytes:
        """A trace id that was never given before."""
        with self._lock:
            trace_id = self._random.randbytes(16)
            self.sent.add(trace_id.hex())
            return trace_id

    def answered(self, trace_id: bytes, status: int) -> None:
        """Write down that the collector took it, or did not."""
        with self._lock:
            if status == 200:
                with self._acknowledged_path.open("ab") as file:
                    file.write(trace_id)
            else:
                self.refused[status] = self.refused.get(status, 0) + 1

    @property
    def acknowledged(self) -> set[str]:
        """The ids that were answered with 200."""
        content = self._acknowledged_path.read_bytes()
        return {content[at : at + 16].hex() for at in range(0, len(content), 16)}

    def point_at(self, collector: Collector) -> None:
        """Where the senders send from now on."""
        self.address = urlsplit(collector.otlp_url).netloc

    def start(self, senders: int, pause_s: float = 0.0) -> None:
        """Threads that send one request after the other, each `pause_s` apart."""
        started = [Sender(self, pause_s) for _ in range(senders)]
        self._senders += started
        for sender in started:
            sender.start()

    def stop(self) -> None:
        """End the senders; again is harmless."""
        for sender in self._senders:
            sender.stop_now.set()
        for sender in self._senders:
            sender.join(30)
        self._senders.clear()

    def send_one(self) -> int:
        """One request now; its status, 0 when there was no answer."""
        sender = Sender(self, 0)
        try:
            return sender.send_one()
        finally:
            sender.close()

    def judge(self, engine: Engine) -> Verdict:
        """Ask the database."""
        return self.verdict(engine.query(STORED))

    def verdict(self, rows: Rows) -> Verdict:
        """Compare the answer to STORED."""
        stored = {row["id"]: row for row in rows}
        acknowledged = self.acknowledged
        return Verdict(
            len(acknowledged),
            len(stored),
            lost={each for each in acknowledged if each not in stored or stored[each]["different"] < SPANS},
            forged=set(stored) - self.sent,
            altered={each for each, row in stored.items() if row["altered"]},
            doubled={each for each, row in stored.items() if row["stored"] > row["different"]},
        )


class Sender(threading.Thread):
    """One connection."""

    def __init__(self, oracle: Oracle, pause_s: float) -> None:
        super().__init__(daemon=True)
        self._oracle, self._pause_s = oracle, pause_s
        self._connection: http.client.HTTPConnection | None = None
        self.stop_now = threading.Event()

    def run(self) -> None:
        while not self.stop_now.wait(self._pause_s):
            if self.send_one() == 0:
                time.sleep(0.02)
        self.close()

    def send_one(self) -> int:
        trace_id = self._oracle.next_id()
        try:
            self._connection = self._connection or http.client.HTTPConnection(self._oracle.address, timeout=30)
            self._connection.request("POST", "/v1/traces", body_of(trace_id), PROTOBUF)
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            return 0
        self._oracle.answered(trace_id, answer.status)
        return answer.status

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None
