"""Health of the collector: the counters add up, troubles are reported, and every minute is a row."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from walltime_collector.config.settings import Settings
from walltime_collector.config.tls import Tls
from walltime_collector.errors import EngineUnavailable, InsertRefused, QueryFailed
from walltime_collector.health.counters import REASONS, Health, Trouble
from walltime_collector.health.metrics import Metrics
from walltime_collector.health.minutes import TABLE, HealthMinutes
from walltime_collector.health.upkeep import Upkeep
from walltime_collector.health.watch import STUCK_S, Watch
from walltime_collector.spool.directory import room
from walltime_collector.spool.segment import Record
from walltime_collector.spool.spool import Spool

from tests.collector.clickhouse.spans import request, span
from tests.servers import Collector, eventually, over_http

ENDS = ("stored", "rejected", "spooled", "dead", "lost")


def sent(collector: Collector, spans: int, bad: int = 0) -> None:
    good = [span({"walltime.schema": 1}) for _ in range(spans)]
    odd = [span({}, trace_id=b"short") for _ in range(bad)]
    assert collector.send(request(*good, *odd).SerializeToString()).status_code == 200


def in_tables(collector: Collector) -> int:
    query = {"sql": "SELECT (SELECT count() FROM transactions) + (SELECT count() FROM spans)"}
    return int(over_http("POST", f"{collector.web_url}/api/sql", json=query).json()["rows"][0][0])


def on_disk(collector: Collector) -> int:
    """Spans that wait, as another reader of the spool's files counts them."""
    copy = collector.directory.with_name("copy")
    copy.mkdir(exist_ok=True)
    for segment in (collector.directory / "spool").glob("*.segment"):
        (copy / segment.name).write_bytes(segment.read_bytes())
    spool = Spool(copy, max_bytes=1 << 30, segment_bytes=1 << 20, segment_age_s=1)
    spans = sum(record.spans for segment in spool.sealed() for record in spool.read(segment).records)
    spool.close()
    return spans


def test_the_counters_add_up_to_the_spans_sent_also_after_a_restart(
    tmp_path: Path,
) -> None:
    with Collector(tmp_path / "data", segment_age_s=3600.0, drain_s=0) as collector:
        sent(collector, 5)
        collector.wait_until_loaded(5)  # the first segment at once, what follows waits an hour
        sent(collector, 7, bad=2)
        sent(collector, 11)
        spans = collector.health()["spans"]
        assert spans == {"received": 25, "stored": 5, "rejected": 2, "spooled": 18, "dead": 0, "lost": 0}
        assert (in_tables(collector), on_disk(collector)) == (5, 18)
        assert collector.stop() == 0  # it stores nothing more, but the row of its last minute
    with Collector(tmp_path / "data") as again:
        query = {"sql": "SELECT received, stored, rejected, spooled, host != '' FROM walltime_health"}
        rows = over_http("POST", f"{again.web_url}/api/sql", json=query).json()["rows"]
        assert rows == [[25, 5, 2, 18, True]]
        sent(again, 3)
        eventually(lambda: again.health()["spans"]["stored"] == 21)
        spans = again.health()["spans"]
        assert spans == {"received": 21, "stored": 21, "rejected": 0, "spooled": 0, "dead": 0, "lost": 0}
        assert in_tables(again) == 26
        metrics = scraped(over_http("GET", f"{again.web_url}/metrics").text)
        assert metrics["walltime_received_spans_total"] == metrics["walltime_stored_spans_total"] == 21
        assert metrics["walltime_ok"] == 1
        assert metrics["process_resident_memory_bytes"] > 0


def scraped(text: str) -> dict[str, float]:
    """The samples, as Prometheus' own parser reads them; those with labels as name{value}."""
    return {
        sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.nightly
def test_a_full_spool_is_unhealthy_within_seconds_with_its_reason_until_there_is_space(tmp_path: Path) -> None:
    with Collector(tmp_path / "data", max_spool_bytes=60_000, segment_age_s=8.0) as collector:
        sent(collector, 1)
        collector.wait_until_loaded(1)
        eventually(lambda: collector.send(request(span({"a": "x" * 20_000})).SerializeToString()).status_code == 503)
        eventually(lambda: over_http("GET", f"{collector.web_url}/readyz").status_code == 503)
        answer = over_http("GET", f"{collector.web_url}/healthz")
        assert answer.status_code == 503
        assert "spool_full" in [trouble["reason"] for trouble in answer.json()["troubles"]]
        assert scraped(over_http("GET", f"{collector.web_url}/metrics").text)["walltime_trouble{spool_full}"] == 1
        eventually(lambda: over_http("GET", f"{collector.web_url}/readyz").status_code == 200)
        assert collector.health()["ok"]


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Kept:
    """Rows as the engine would get them; it can be away, or refuse."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, dict[str, Any]]] = []
        self.error: Exception | None = None

    def query(self, sql: str) -> list[Any]:
        if self.error is not None:
            raise self.error
        return []

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        if self.error is not None:
            raise self.error
        assert table == TABLE
        self.rows.append((token, json.loads(rows)))


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    spool = Spool(tmp_path / "spool", max_bytes=1 << 20, segment_bytes=1 << 20, segment_age_s=1)
    yield spool
    spool.close()


def watch(spool: Spool, health: Health, clock: Clock) -> Watch:
    settings = Settings(max_spool_bytes=1 << 20)
    return Watch(settings, spool, health, Tls(settings), clock)


def reasons(health: Health) -> list[str]:
    return [trouble.reason for trouble in health.troubles()]


def test_data_that_waits_while_none_is_stored_is_a_stuck_loader(spool: Spool) -> None:
    clock, health = Clock(), Health()
    watching = watch(spool, health, clock)
    clock.now_s += 1000
    watching.look()
    assert reasons(health) == []  # nothing waits
    spool.append([Record(time.time_ns(), 5, b"x" * 100)])
    health.add("received", 5)
    watching.look()
    clock.now_s += STUCK_S + 0.5
    watching.look()
    assert reasons(health) == []
    clock.now_s += 1
    watching.look()
    assert reasons(health) == ["loader_stuck"]
    assert health.is_ready()  # what is sent is still taken
    assert not health.report()["ok"]
    health.add("stored", 1)
    watching.look()
    assert reasons(health) == []


def test_the_age_of_the_oldest_waiting_data_is_measured(spool: Spool) -> None:
    health = Health()
    watching = watch(spool, health, Clock())
    watching.look()
    assert health.report()["gauges"]["spool_oldest_s"] == 0
    spool.append([Record(time.time_ns(), 1, b"x")])
    spool.seal()
    time.sleep(0.02)
    watching.look()
    gauges = health.report()["gauges"]
    assert 0.02 <= gauges["spool_oldest_s"] < 60
    assert gauges["spool_bytes"] == spool.size_bytes > 0
    assert gauges["spool_limit_bytes"] == 1 << 20


def test_a_full_spool_is_not_ready_and_an_unavailable_engine_is(spool: Spool) -> None:
    health = Health()
    health.loader_failed("refused at 10.0.0.1")
    assert (reasons(health), health.is_ready(), health.report()["ok"]) == (["engine"], True, False)
    health.loader_works()
    assert (reasons(health), health.report()["ok"]) == ([], True)
    for reason in ("spool_full", "spool_failed"):
        health.watched([Trouble(reason, "")], {})
        assert not health.is_ready()
    health.watched([], {})
    health.add("refused_spool_failed")
    watch(spool, health, Clock()).look()
    assert reasons(health) == ["spool_failed"]
    health.watched([], {})
    health.stopping()
    assert (reasons(health), health.is_ready()) == (["stopping"], False)


def test_an_engine_that_does_not_answer_is_unhealthy_also_without_traffic(tmp_path: Path) -> None:
    kept, health, done = Kept(), Health(), list[str]()
    minutes = HealthMinutes(kept, health, tmp_path)  # type: ignore[arg-type]  # an engine of rows alone
    upkeep = Upkeep(
        kept,  # type: ignore[arg-type]  # the same
        health,
        minutes,
        lambda: done.append("kept"),
        [lambda: done.append("looked")],
    )
    kept.error = EngineUnavailable("refused at 10.0.0.1")
    upkeep.step()
    assert [(trouble.reason, trouble.what) for trouble in health.troubles()] == [("engine", "refused at 10.0.0.1")]
    assert done == []
    kept.error = QueryFailed("too many queries")
    upkeep.step()
    assert reasons(health) == []
    assert done == ["kept"]
    kept.error = None
    upkeep.step()
    assert done == ["kept", "looked"]


def test_every_metric_has_a_description_and_labels_are_constants() -> None:
    health = Health()
    health.add("received", 3)
    health.add("stored", 2)
    health.add("refused_too_large")
    health.add("something_new", 4)
    health.slow_log('/var/log/a"b\\c\n.log', "gone")
    health.watched([Trouble("loader_stuck", "")], {"spool_bytes": 10.0, "spool_oldest_s": 1.5})
    content, content_type = Metrics(health).render("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(content.decode())}
    assert content_type.startswith("text/plain")
    assert all(family.documentation for family in families.values())
    samples = scraped(content.decode())
    assert samples["walltime_received_spans_total"] == 3
    assert samples["walltime_spooled_spans"] == 1
    assert samples["walltime_refused_requests_total{too_large}"] == 1
    assert samples["walltime_something_new_total"] == 4
    assert samples["walltime_spool_oldest_seconds"] == 1.5
    assert samples['walltime_slow_log_ok{/var/log/a"b\\c\n.log}'] == 0
    assert {name for name in samples if "walltime_trouble" in name} == {
        f"walltime_trouble{{{each}}}" for each in REASONS
    }
    assert sum(value for name, value in samples.items() if "walltime_trouble" in name) == 1
    assert b"# EOF" in Metrics(health).render("application/openmetrics-text; version=1.0.0")[0]


def test_rows_of_minutes_add_up_wait_for_the_engine_and_keep_their_tokens(tmp_path: Path) -> None:
    health, kept = Health(), Kept()
    minutes = HealthMinutes(kept, health, tmp_path, lambda: 119.0)  # type: ignore[arg-type]  # an engine of rows alone
    health.add("received", 10)
    health.add("dead", 4)
    minutes.write()
    kept.error = EngineUnavailable("away")
    health.add("stored", 6)
    minutes.write()
    health.add("dead", -4)
    health.add("refused_late", 2)
    health.add("load_retries", 3)
    minutes.write()
    assert len(kept.rows) == 1
    kept.error = None
    minutes.write()
    rows = [row for _, row in kept.rows]
    assert [row["received"] for row in rows] == [10, 0, 0, 0]
    assert [row["dead"] for row in rows] == [4, 0, -4, 0]
    assert [row["refused"] for row in rows] == [0, 0, 2, 0]
    assert [row["spooled"] for row in rows] == [6, 0, 4, 4]
    free_bytes, disk_bytes = room(tmp_path)
    disk = {"disk_free_bytes": pytest.approx(free_bytes, rel=0.5), "disk_bytes": disk_bytes}
    assert rows[2]["others"] == {"refused_late": 2, "load_retries": 3, **disk}
    assert {row["minute"] for row in rows} == {60}
    assert len({token for token, _ in kept.rows}) == 4
    names = {row["collector"] for row in rows}
    assert names == {(tmp_path / "collector-id").read_text()}
    kept.error = InsertRefused("a column is missing")
    minutes.write()
    kept.error = None
    minutes.write()
    assert len(kept.rows) == 5
    again = HealthMinutes(kept, health, tmp_path)  # type: ignore[arg-type]  # an engine of rows alone
    again.write()
    assert {row["collector"] for _, row in kept.rows} == names
    assert len({token for token, _ in kept.rows}) == 6


def test_several_collectors_on_one_database_have_ids_of_their_own(tmp_path: Path) -> None:
    kept = Kept()
    for name, stored in (("one", 3), ("two", 5)):
        (tmp_path / name).mkdir()
        health = Health()
        health.add("received", stored)
        health.add("stored", stored)
        HealthMinutes(kept, health, tmp_path / name).write()  # type: ignore[arg-type]  # an engine of rows alone
    ids = {(tmp_path / name / "collector-id").read_text() for name in ("one", "two")}
    assert {row["collector"] for _, row in kept.rows} == ids
    assert len(ids) == 2
    assert sum(row["stored"] for _, row in kept.rows) == 8
