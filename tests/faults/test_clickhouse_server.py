"""A collector that stores in a ClickHouse server, and everything that happens on the way there: all is stored, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from walltime_collector.clickhouse.server.engine import ServerEngine

from tests.by_day import by_day
from tests.clickhouse_server import ClickHouseServer, Fault
from tests.collector.traffic import Sent, Shop, export_request
from tests.servers import Collector, CollectorDied, eventually

MINUTE_NS = 60_000_000_000
INSERT = "INSERT INTO otlp_traces"
STORED = "SELECT lower(hex(span_id)) AS id, count() AS n FROM transactions GROUP BY id"


@dataclass
class Storing:
    """A collector on a ClickHouse server, and what it was sent."""

    clickhouse: ClickHouseServer
    collector: Collector
    engine: ServerEngine
    makes: Shop = field(default_factory=lambda: Shop(seed=21))
    sent: list[Sent] = field(default_factory=list)

    def send(self, requests: int = 5) -> None:
        """All of it acknowledged."""
        for _ in range(requests):
            some = [each for _ in range(4) for each in self.makes.visit(time.time_ns() - MINUTE_NS)]
            assert self.collector.send(export_request(some)).status_code == 200
            self.sent += some

    def wait_until_loaded(self) -> None:
        eventually(lambda: self.collector.health()["spans"]["spooled"] == 0, 120)

    def assert_all_is_stored_once(self) -> None:
        stored = {row["id"]: row["n"] for row in self.engine.query(STORED)}
        assert stored == dict.fromkeys((each.span_id for each in self.sent), 1)
        eventually(lambda: self.collector.health()["ok"])
        health = self.collector.health()
        assert (health["spans"]["dead"], health["spans"]["lost"]) == (0, 0)


def serve(directory: Path, clickhouse: ClickHouseServer, database: str = "walltime") -> Collector:
    return Collector(
        directory,
        clickhouse=clickhouse.url,
        clickhouse_user=clickhouse.user,
        clickhouse_password=clickhouse.password,
        clickhouse_timeout_s=2,
        database=database,
    )


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    with ClickHouseServer(tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


@pytest.fixture(scope="module")
def engine(clickhouse: ClickHouseServer) -> Iterator[ServerEngine]:
    engine = clickhouse.engine()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def storing(
    clickhouse: ClickHouseServer, engine: ServerEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Storing]:
    """Started while the server is away, which is how the tests below find it working."""
    clickhouse.stop()
    with serve(tmp_path_factory.mktemp("collector"), clickhouse) as collector:
        storing = Storing(clickhouse, collector, engine)
        storing.send()
        eventually(lambda: not collector.health()["ok"])
        health = collector.health()
        assert "Connection refused" in health["error"]
        assert health["spans"]["spooled"] == health["spans"]["received"] > 0
        clickhouse.start()
        storing.wait_until_loaded()
        yield storing
        assert collector.stop() == 0
    said = collector.log()
    assert "cannot load now, will try again: " in said
    for nothing_of in (clickhouse.password, "format_schema", "urllib3", "Traceback"):
        assert nothing_of not in said


def test_what_came_before_the_server_did_is_stored_when_it_does(storing: Storing) -> None:
    storing.assert_all_is_stored_once()


@pytest.mark.parametrize(
    "fault",
    by_day(
        [
            Fault(INSERT, run=True, then="reset", times=2),
            Fault(INSERT, run=False, then="reset", times=2),
            Fault(INSERT, run=True, then="error", times=2),
            Fault(INSERT, run=False, then="error", code=242, times=2),
            Fault(INSERT, run=True, then="error", code=999, times=2),
            Fault(INSERT, run=False, then="error", code=252, status=503, times=2),
            Fault(INSERT, run=True, then="half", times=2),
            Fault(INSERT, run=False, then="page", times=2),
            Fault(INSERT, run=False, then="redirect", times=2),
            Fault(INSERT, run=False, then="error", code=60, status=200, times=2),
            Fault(INSERT, run=True, then="error", code=319, times=2),
            Fault(INSERT, run=True, delay_s=3),
            Fault(INSERT, run=False, delay_s=3, then="reset"),
        ],
        4,
    ),
    ids=[
        "stored, then reset",
        "reset",
        "stored, then 500",
        "read-only",
        "stored, then Keeper's error",
        "too many parts",
        "stored, then half an answer",
        "somebody else's page",
        "sent elsewhere",
        "an error that says 200",
        "stored, and whether the quorum has it is unknown",
        "stored, but later than we wait",
        "never answered",
    ],
)
def test_the_loader_goes_on_and_all_is_stored_once(storing: Storing, fault: Fault) -> None:
    storing.clickhouse.goes_wrong(fault)
    storing.send()
    eventually(lambda: storing.clickhouse.seen()["faults_left"] == 0, 60)
    storing.wait_until_loaded()
    storing.assert_all_is_stored_once()


@pytest.mark.nightly
def test_a_server_that_restarts_in_the_middle_loses_nothing(storing: Storing) -> None:
    storing.send()
    storing.clickhouse.kill()
    storing.send()
    assert storing.collector.health()["spans"]["spooled"] > 0
    storing.clickhouse.start()
    storing.send()
    storing.wait_until_loaded()
    storing.assert_all_is_stored_once()


def test_a_server_that_takes_connections_and_never_answers_holds_up_nobody(storing: Storing) -> None:
    assert storing.clickhouse.process is not None
    storing.clickhouse.process.send_signal(signal.SIGSTOP)
    try:
        storing.send()
        eventually(lambda: "timed out" in storing.collector.health()["error"])
        storing.send()
        health = storing.collector.health()
        assert health["spans"]["spooled"] > 0
    finally:
        storing.clickhouse.process.send_signal(signal.SIGCONT)
    storing.wait_until_loaded()
    storing.assert_all_is_stored_once()


@pytest.mark.nightly
def test_two_collectors_start_at_once_on_a_server_without_tables_and_need_nothing_from_each_other(
    tmp_path: Path, clickhouse: ClickHouseServer
) -> None:
    with ThreadPoolExecutor() as starting:
        collectors = list(
            starting.map(lambda name: serve(tmp_path / name, clickhouse, database="shared"), ["one", "two"])
        )
    engine = clickhouse.engine("shared")
    both = [Storing(clickhouse, each, engine, Shop(seed=31 + at)) for at, each in enumerate(collectors)]
    clickhouse.goes_wrong(Fault(INSERT, run=True, then="reset", times=4))
    for _ in range(3):
        for each in both:
            each.send(2)
    for each in both:
        each.wait_until_loaded()
    sent = [one for each in both for one in each.sent]
    for each in both:
        each.sent = sent
        each.assert_all_is_stored_once()
        assert each.collector.stop() == 0
    engine.close()


def test_a_request_the_server_refuses_is_put_aside_alone(
    clickhouse: ClickHouseServer, engine: ServerEngine, storing: Storing
) -> None:
    storing.clickhouse.goes_wrong(Fault("no such span of any request", then="error", code=33, status=400, times=99))
    storing.send(3)
    poisoned = storing.makes.visit(time.time_ns() - MINUTE_NS)
    poisoned[0].attributes["note"] = "no such span of any request"
    assert storing.collector.send(export_request(poisoned)).status_code == 200
    storing.send(3)
    storing.wait_until_loaded()
    storing.clickhouse.goes_wrong()
    stored = {row["id"] for row in engine.query(STORED)}
    assert stored == {each.span_id for each in storing.sent}
    health = storing.collector.health()
    assert health["spans"]["lost"] == 0
    assert health["spans"]["dead"] >= 1
    dead = list((storing.collector.directory / "spool" / "dead").iterdir())
    assert any(b"no such span of any request" in letter.read_bytes() for letter in dead)


@pytest.mark.parametrize("url", ["clickhouse:8123", "http://walltime:s3cret@127.0.0.1:8123"])
def test_an_address_that_cannot_work_is_one_sentence_and_no_start(tmp_path: Path, url: str) -> None:
    with pytest.raises(CollectorDied) as died:
        Collector(tmp_path, clickhouse=url)
    assert died.value.status == 1
    assert died.value.log.startswith("walltime: WALLTIME_CLICKHOUSE ")
    assert len(died.value.log.splitlines()) == 1
    assert "s3cret" not in died.value.log


def test_top_answers_from_the_server_what_was_sent(storing: Storing) -> None:
    walltime = Path(sys.executable).with_name("walltime")
    environment = {**os.environ, "WALLTIME_URL": storing.collector.web_url}
    said = subprocess.run([walltime, "top", "--json"], env=environment, capture_output=True, text=True, check=True)
    top: dict[str, Any] = json.loads(said.stdout)
    assert top["transactions"] == len(storing.sent)
    assert {kind["name"] for kind in top["kinds"]} == {each.name for each in storing.sent}


def test_a_killed_collector_stores_what_it_acknowledged_once(
    clickhouse: ClickHouseServer, engine: ServerEngine, storing: Storing, tmp_path: Path
) -> None:
    clickhouse.goes_wrong(Fault(INSERT, run=True, delay_s=1, then="reset", times=99))
    collector = serve(tmp_path, clickhouse)
    other = Storing(clickhouse, collector, engine, Shop(seed=22))
    other.send()
    eventually(lambda: count_of(engine, other) > 0)
    collector.kill()
    clickhouse.goes_wrong()
    with serve(tmp_path, clickhouse) as collector:
        other.collector = collector
        other.send(1)
        other.wait_until_loaded()
        other.sent += storing.sent
        other.assert_all_is_stored_once()
        assert collector.stop() == 0
        assert clickhouse.password not in collector.log()


def count_of(engine: ServerEngine, storing: Storing) -> int:
    ids = [each.span_id for each in storing.sent]
    return len(
        engine.query("SELECT span_id FROM transactions WHERE lower(hex(span_id)) IN {ids:Array(String)}", {"ids": ids})
    )
