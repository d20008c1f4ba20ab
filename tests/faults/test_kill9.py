"""kill -9 of the collector under load: what it acknowledged is stored, once."""

from __future__ import annotations

import http.client
import random
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from walltime_collector.engine import Rows, open_engine
from walltime_collector.settings import Settings

from tests.collector.test_schema import request, span
from tests.servers import PROTOBUF, Collector, eventually

KILLS = 10
SENDERS = 3
SPANS = 20
SEED = 20261121
STORED = """
SELECT lower(hex(trace_id)) AS id, count() AS n
FROM (SELECT trace_id FROM transactions UNION ALL SELECT trace_id FROM spans)
GROUP BY id
"""


class Sender(threading.Thread):
    """Sends requests of known trace ids, one id each, and remembers which ones were acknowledged."""

    def __init__(self, name: int) -> None:
        super().__init__(daemon=True)
        self._random = random.Random(name)
        self._stop_now = threading.Event()
        self.address = ""
        self.sent: set[str] = set()
        self.acknowledged: set[str] = set()

    def run(self) -> None:
        connection: http.client.HTTPConnection | None = None
        while not self._stop_now.is_set():
            trace_id = self._random.randbytes(16)
            spans = [span({"walltime.schema": 1} if at == 0 else {}, trace_id=trace_id) for at in range(SPANS)]
            self.sent.add(trace_id.hex())
            try:
                connection = connection or http.client.HTTPConnection(self.address, timeout=5)
                connection.request("POST", "/v1/traces", request(*spans).SerializeToString(), PROTOBUF)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    self.acknowledged.add(trace_id.hex())
            except (OSError, http.client.HTTPException):
                if connection:
                    connection.close()
                connection = None
                time.sleep(0.02)
        if connection:
            connection.close()

    def stop(self) -> None:
        self._stop_now.set()
        self.join(20)


def test_what_was_acknowledged_is_stored_once_after_ten_kills(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    data = tmp_path / "data"
    # small segments, so that the kills meet inserts, seals and acknowledgements as well as appends
    settings = {"segment_bytes": 200_000, "segment_age_s": 0.3}
    senders = [Sender(SEED + at) for at in range(SENDERS)]
    collector = Collector(data, **settings)
    try:
        for sender in senders:
            sender.address = urlsplit(collector.otlp_url).netloc
            sender.start()
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.05, 1.5))
            collector.kill()
            collector = Collector(data, **settings)
            for sender in senders:
                sender.address = urlsplit(collector.otlp_url).netloc
        time.sleep(0.5)
        for sender in senders:
            sender.stop()
        eventually(lambda: collector.health()["spans"]["spooled"] == 0 and not list(data.glob("spool/*.segment")), 60)
    finally:
        for sender in senders:
            sender.stop()
        assert collector.stop() == 0

    sent = set().union(*(sender.sent for sender in senders))
    acknowledged = set().union(*(sender.acknowledged for sender in senders))
    stored = read(data, STORED)
    counts = {row["id"]: int(row["n"]) for row in stored}
    assert len(acknowledged) > 100
    assert acknowledged - set(counts) == set(), "lost"
    assert set(counts) - sent == set(), "forged"
    assert set(counts.values()) == {SPANS}, "doubled, or a request stored in part"


def read(data: Path, sql: str) -> Rows:
    """Ask the embedded database of a collector that has ended."""
    engine = open_engine(Settings(data=data))
    try:
        return engine.query(sql)
    finally:
        engine.close()
