"""`walltime incidents` against a collector that has some, and notices one in what arrives."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.format import iso_time
from walltime_collector.health.incidents.current import Current

from tests.collector.cli.command import assert_one_sentence, run
from tests.collector.conftest import Collector as Querying
from tests.collector.health.incidents.stored import slower, store
from tests.collector.simulated_shop import MINUTE_NS, USUAL, simulate
from tests.collector.traffic import DATABASE, MS, Sent, SentCall, export_request
from tests.servers import Collector, eventually, with_tables

USUAL_MINUTES, LOOK_S = 20, 5
LIVE = "GET /live"


@dataclass
class Watching:
    """A collector that looks every five seconds, with an incident that is over, one that is open, and a usual kind."""

    collector: Collector
    over: Current
    open: Current

    def incidents(self, *arguments: str) -> str:
        done = run("incidents", *arguments, "--url", self.collector.web_url)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def watching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watching]:
    folder: Path = tmp_path_factory.mktemp("incidents") / "data"
    over, is_open = slower("GET /over", ago_s=3_600), slower("GET /open\x1b[31m", service="batch")
    over.ended_because, over.severity, over.explained_s = "over", "critical", over.opened_s + 60
    engine = EmbeddedEngine(with_tables(folder / "chdb"), "walltime")
    store(engine, over, is_open)
    length_ns = USUAL_MINUTES * MINUTE_NS
    simulate(
        engine, USUAL, seed=1, transactions=2_000, from_ns=time.time_ns() - length_ns, length_ns=length_ns, name=LIVE
    )
    engine.close()
    with Collector(folder, incident_look_s=LOOK_S) as collector:
        yield Watching(collector, over, is_open)


def test_open_and_recent_ones_are_listed_without_control_characters(watching: Watching) -> None:
    listed = watching.incidents("--since", "2h")
    assert listed.startswith("1 incident is open, 2 in all\n")
    assert listed.index(watching.open.id) < listed.index(watching.over.id)
    assert "open, warning" in listed
    assert "it is as usual again" in listed
    assert "\x1b" not in listed


def test_options_choose_and_json_is_the_answer_of_the_api(watching: Watching) -> None:
    def ids(*arguments: str) -> list[str]:
        return [each["id"] for each in json.loads(watching.incidents("--json", *arguments))["incidents"]]

    assert ids("--since", "2h") == [watching.open.id, watching.over.id]
    assert ids("--since", "10m") == ids("--open") == ids("--service", "batch") == [watching.open.id]
    assert ids("--since", "2h", "--limit", "1") == [watching.open.id]
    assert watching.incidents("--service", "batch", "--open").startswith("1 incident is open, 1 in all\n")


def test_one_has_its_explanation_what_changed_and_the_question_that_explains_it(watching: Watching) -> None:
    shown = watching.incidents(watching.over.id)
    assert shown.startswith("GET /over  shop   it is as usual again\n")
    assert watching.over.headline in shown
    assert "time of a transaction" in shown
    explained_at = iso_time(watching.over.explained_s * 10**9)[:19].replace("T", " ")
    assert f"\nas of {explained_at} UTC" in shown
    assert "4.0 ms → 9.0 ms" in shown.replace("4.00", "4.0").replace("9.00", "9.0")
    assert "memcache.get hits on 10.0.0.11:11211" in shown
    assert "walltime why 'GET /over' --service 'shop' --during " in shown
    assert json.loads(watching.incidents(watching.over.id, "--json"))["severity"] == "critical"


def test_an_unknown_id_is_one_sentence(watching: Watching) -> None:
    done = run("incidents", "0123", "--url", watching.collector.web_url)
    assert_one_sentence(done, 1, "there is no incident '0123'")


@pytest.mark.nightly
def test_a_fault_in_what_arrives_is_noticed_by_the_running_collector(watching: Watching) -> None:
    def opened() -> bool:
        now_ns = time.time_ns()
        call = SentCall("mysql.query", 0, 400 * MS, {"server.address": "10.0.0.5", "server.port": 3306})
        sent = [
            Sent(secrets.token_hex(16), secrets.token_hex(8), LIVE, now_ns - 500 * MS, 450 * MS, calls=[call])
            for _ in range(20)
        ]
        assert watching.collector.send(export_request(sent)).status_code == 200
        time.sleep(0.5)
        return LIVE in watching.incidents("--open")

    eventually(opened, 120)
    answer = json.loads(watching.incidents("--open", "--json"))
    (incident,) = (each for each in answer["incidents"] if each["name"] == LIVE)
    assert incident["severity"] == "critical"
    assert DATABASE in " ".join(incident["sentences"]) or "mysql.query" in incident["headline"]
    status = json.loads(run("status", "--json", "--url", watching.collector.web_url).stdout)
    assert status["counts"]["incidents_opened"] >= 1


def test_without_an_incident_the_answer_says_what_was_looked_for(collector: Querying) -> None:
    assert run("incidents", "--open", "--url", collector.url).stdout == "No incident is open.\n"
    assert run("incidents", "--url", collector.url).stdout.startswith("No incident since ")


@pytest.mark.parametrize("written", ["'; rm -rf ~ #", "a?b=c", "\x1b[31m\n", "é"])
def test_any_text_can_be_asked_for_as_an_incident(collector: Querying, written: str) -> None:
    assert_one_sentence(run("incidents", written, "--url", collector.url), 1, "no incident ")
