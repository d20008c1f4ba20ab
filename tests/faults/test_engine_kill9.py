"""kill -9 of the embedded database, in the middle of inserts and merges: nothing is lost, nothing is doubled."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded import child
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import EngineUnavailable
from walltime_collector.spool.segment import Record

from tests.collector.clickhouse.engine_processes import answers, engines_of
from tests.collector.traffic import Sent, Shop, export_request
from tests.servers import eventually

KILLS = 100
VISITS = 60
SEED = 20261122
STORED = "SELECT lower(hex(span_id)) AS id, count() AS n FROM {table:Identifier} GROUP BY id"
MERGES = "SELECT sum(value) AS n FROM system.events WHERE event = 'Merge'"


class Loading(threading.Thread):
    """Inserts one batch after the other, each under its own token until it is stored, as the loader does."""

    def __init__(self, engine: EmbeddedEngine) -> None:
        super().__init__(daemon=True)
        self._engine, self._is_enough = engine, threading.Event()
        self.batches: list[list[Sent]] = []
        self.tried_again = 0

    def run(self) -> None:
        while not self._is_enough.is_set():
            makes, now_ns = Shop(seed=SEED + len(self.batches)), time.time_ns()
            batch = [each for at in range(VISITS) for each in makes.visit(now_ns - 10**9 + at)]
            record = Record(now_ns, len(batch), export_request(batch))
            while not self._insert(record):
                self.tried_again += 1
                time.sleep(0.05)
            self.batches.append(batch)

    def wait_for(self, more: int) -> None:
        """Until so many more are stored."""
        enough = len(self.batches) + more
        eventually(lambda: len(self.batches) >= enough, 60)

    def stop(self) -> None:
        self._is_enough.set()
        self.join(60)

    def _insert(self, record: Record) -> bool:
        try:
            self._engine.insert([record], f"batch {len(self.batches)}")
        except EngineUnavailable:
            return False
        return True


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_hundred_kills_of_the_database_lose_and_double_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "_WELL_S", 0.0)  # frequent kills must not lengthen the wait before a restart
    chance, merges = random.Random(SEED), 0
    engine = EmbeddedEngine(tmp_path, "walltime")
    engine.migrate()
    loading = Loading(engine)
    loading.start()
    try:
        for _ in range(KILLS):
            loading.wait_for(chance.randrange(1, 4))
            time.sleep(chance.uniform(0, 0.1))
            with contextlib.suppress(EngineUnavailable):
                merges += int(engine.query(MERGES)[0]["n"])
            for process in engines_of(os.getpid()):
                os.kill(process, signal.SIGKILL)
            eventually(lambda: answers(engine), 60)
        loading.stop()
        sent = [each for batch in loading.batches for each in batch]
        stored = {row["id"]: row["n"] for row in engine.query(STORED, {"table": "transactions"})}
        calls = {row["n"] for row in engine.query(STORED, {"table": "spans"})}
        print(f"\n{KILLS} kills, {len(loading.batches)} inserts, {loading.tried_again} tried again, {merges} merges")
        assert len(loading.batches) > KILLS
        assert loading.tried_again > 0
        assert stored == dict.fromkeys((each.span_id for each in sent), 1)
        assert calls == {1}
    finally:
        engine.close()
