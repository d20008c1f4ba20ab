"""A disk or a memory with no room left; the collector refuses, stays, and goes on by itself."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from walltime_collector.clickhouse.opening import open_engine
from walltime_collector.config.settings import Settings
from walltime_collector.spool.reserve import BALLAST_BYTES, reserve_bytes

from tests.clickhouse_server import ClickHouseServer
from tests.collector.clickhouse.spans import request, span
from tests.faults.oracle import STORED, Oracle, wait_until_loaded
from tests.servers import PROTOBUF, Collector, eventually
from tests.small_disk import small_disk

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]
SEED = 20261121
MIB = 1024 * 1024
STORED_BY_ORACLE = f"{STORED} HAVING max(digest) != ''"
"""Without what only fills the disk."""


def test_a_full_disk_of_the_spool_refuses_and_resumes_by_itself(tmp_path: Path) -> None:
    """64 MiB, and a server that is away until the disk is full."""
    with (
        small_disk(tmp_path / "disk", 64 * MIB) as small,
        ClickHouseServer(tmp_path / "clickhouse") as clickhouse,
        Collector(
            small / "data",
            clickhouse=clickhouse.url,
            clickhouse_user=clickhouse.user,
            clickhouse_password=clickhouse.password,
            segment_bytes=4 * MIB,
        ) as collector,
    ):
        clickhouse.kill()
        oracle = Oracle(SEED, tmp_path)
        oracle.point_at(collector)
        filler = request(*[span({"fill": "x" * 4_000}) for _ in range(250)]).SerializeToString()
        filled = 0
        while collector.send(filler).status_code == 200:
            filled += 1
            assert oracle.send_one() in (200, 503)
        full_s = time.monotonic()
        eventually(lambda: collector.health()["ok"] is False)
        red_s = time.monotonic() - full_s
        left = shutil.disk_usage(small).free
        refused = [oracle.send_one() for _ in range(200)]
        # somebody takes what is left, to the last byte
        subprocess.run(["dd", "if=/dev/zero", f"of={small}/theirs", "bs=64k"], capture_output=True, check=False)
        refused += [collector.send(filler).status_code for _ in range(5)]
        assert collector.process.poll() is None
        (small / "theirs").unlink()
        clickhouse.start()
        free_s = time.monotonic()
        eventually(lambda: collector.send(filler).status_code == 200, 60)
        resumed_s = time.monotonic() - free_s
        wait_until_loaded(collector)
        assert oracle.send_one() == 200
        wait_until_loaded(collector)
        with closing(clickhouse.engine()) as engine:
            verdict = oracle.verdict(engine.query(STORED_BY_ORACLE))
    print(
        f"\n{filled} requests of 1 MB, then 503; {left / MIB:.1f} MiB left alone; red after {red_s:.1f} s; taken "
        f"again {resumed_s:.1f} s after the server was back; {verdict} (seed {SEED})"
    )
    assert verdict.is_clean, verdict
    assert left >= 64 * MIB // 20 - MIB
    assert {503} <= set(refused) <= {200, 503}  # a small one may fit where a large one does not


def test_a_full_disk_of_the_database_gives_up_its_ballast_and_resumes_by_itself(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 512 * MIB) as small:
        with Collector(small / "data") as collector:
            ballast = small / "data" / "ballast"
            assert ballast.stat().st_size == BALLAST_BYTES
            oracle = Oracle(SEED, tmp_path)
            oracle.point_at(collector)
            for _ in range(50):
                assert oracle.send_one() == 200
            wait_until_loaded(collector)
            subprocess.run(["dd", "if=/dev/zero", f"of={small}/theirs", "bs=1M"], capture_output=True, check=False)
            answers = [oracle.send_one() for _ in range(20)]
            assert set(answers) == {503}
            eventually(lambda: not ballast.exists() and collector.health()["ok"] is False)
            assert collector.process.poll() is None
            free = shutil.disk_usage(small).free
            (small / "theirs").unlink()
            free_s = time.monotonic()
            eventually(lambda: oracle.send_one() == 200)
            wait_until_loaded(collector)
            resumed_s = time.monotonic() - free_s
            assert oracle.send_one() == 200
            wait_until_loaded(collector)
            eventually(ballast.exists)
        engine = open_engine(Settings(data=small / "data"))
        try:
            verdict = oracle.judge(engine)
        finally:
            engine.close()
    print(f"\nthe ballast gave {free / MIB:.0f} MiB; stored again after {resumed_s:.1f} s; {verdict} (seed {SEED})")
    assert verdict.is_clean, verdict


def test_a_small_disk_that_the_database_fills_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Spans that hardly compress, until the disk is full and for some time after: INSERTs and merges lack space."""
    with small_disk(tmp_path / "disk", 160_000_000) as small:
        with Collector(small / "data") as collector:
            acknowledged, until_s = 0, time.monotonic() + 60
            while time.monotonic() < until_s:
                fat = request(*[span({"fill": os.urandom(600).hex()}) for _ in range(400)])
                if collector.send(fat.SerializeToString()).status_code == 200:
                    acknowledged += 400
                else:
                    until_s = min(until_s, time.monotonic() + 10)
            wait_until_loaded(collector)
            spans = collector.health()["spans"]
        engine = open_engine(Settings(data=small / "data"))
        try:
            stored = engine.query("SELECT count() AS n, uniqExact(span_id) AS ids, count(attributes) AS all FROM spans")
        finally:
            engine.close()
    print(f"\n{acknowledged} acknowledged; {spans}; stored {stored}")
    assert acknowledged > 40_000
    assert stored == [{"n": acknowledged, "ids": acknowledged, "all": acknowledged}]
    assert (spans["stored"], spans["lost"], spans["dead"]) == (acknowledged, 0, 0)


def test_where_the_oldest_day_may_go_a_full_disk_takes_data_again_by_itself(tmp_path: Path) -> None:
    """Where nobody makes room: the spool stops at the reserve, days go until it need not."""
    day_ns = 86_400 * 1_000_000_000
    with (
        small_disk(tmp_path / "disk", 512 * MIB) as small,
        Collector(small / "data", when_disk_full="drop_oldest_day") as collector,
    ):
        for age in (5, 4, 3, 0):
            started_ns = time.time_ns() - age * day_ns
            times = {"start_time_unix_nano": started_ns, "end_time_unix_nano": started_ns}
            for _ in range(4):
                fat = request(*[span({"fill": os.urandom(8_000).hex()}, **times) for _ in range(500)])
                assert collector.send(fat.SerializeToString()).status_code == 200
        wait_until_loaded(collector)
        reserve = reserve_bytes(512 * MIB)
        took = shutil.disk_usage(small).free - reserve + 2 * MIB
        subprocess.run(["fallocate", "-l", str(took), small / "theirs"], check=True)
        full_s = time.monotonic()
        oracle = Oracle(SEED, tmp_path)
        oracle.point_at(collector)
        answers = {oracle.send_one()}
        eventually(lambda: collector.health()["counts"].get("full_disk_days"), 30)
        eventually(lambda: oracle.send_one() == 200)
        wait_until_loaded(collector)
        taken_s = time.monotonic() - full_s
        counts = collector.health()["counts"]
        asked = {
            "sql": "SELECT dateDiff('day', started_at, now()) AS age, count() FROM spans GROUP BY age ORDER BY age"
        }
        left = dict(httpx.post(f"{collector.web_url}/api/sql", json=asked, timeout=60).json()["rows"])
        eventually(lambda: collector.health()["ok"] is True, 30)
    went = f"{counts['full_disk_rows']} rows of {counts['full_disk_days']} day"
    print(f"\n{answers} when full; {went} went, taken again after {taken_s:.1f} s")
    assert answers == {503}
    assert (counts["full_disk_days"], counts["full_disk_rows"]) == (1, 2_000)
    assert 5 not in left
    assert (left[4], left[3]) == (2_000, 2_000)
    assert left[0] >= 2_000


def test_without_memory_requests_are_refused_and_the_collector_stays(tmp_path: Path) -> None:
    """Room for 200 MiB more, and 40 requests of 20 MB at once."""
    with ClickHouseServer(tmp_path / "clickhouse") as clickhouse:
        collector = Collector(
            tmp_path / "data",
            clickhouse=clickhouse.url,
            clickhouse_user=clickhouse.user,
            clickhouse_password=clickhouse.password,
            max_in_flight_bytes=2**40,  # what the setting is for must not help here
        )
        oracle = Oracle(SEED, tmp_path)
        oracle.point_at(collector)
        status = Path(f"/proc/{collector.process.pid}/status").read_text()
        limit = int(status.partition("VmSize:")[2].split()[0]) * 1024 + 200 * MIB
        resource.prlimit(collector.process.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        large = request(*[span({"fill": "x" * 60_000}) for _ in range(320)]).SerializeToString()

        def send(_: int) -> int:
            try:
                return httpx.post(collector.otlp_url, content=large, headers=PROTOBUF, timeout=120).status_code
            except httpx.TransportError:
                return 0

        with ThreadPoolExecutor(40) as senders:
            answers = list(senders.map(send, range(80)))
        assert collector.process.poll() is None
        resource.prlimit(collector.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert [oracle.send_one() for _ in range(20)] == [200] * 20
        wait_until_loaded(collector)
        spans = collector.health()["spans"]
        collector.stop()
        with closing(clickhouse.engine()) as engine:
            verdict = oracle.verdict(engine.query(STORED_BY_ORACLE))
    said = {status: answers.count(status) for status in sorted(set(answers))}
    print(f"\n80 requests of {len(large) / MIB:.0f} MiB in 200 MiB: {said}; {spans}; {verdict}")
    assert verdict.is_clean, verdict
    assert spans["stored"] >= 320 * said.get(200, 0)
    assert set(said) <= {0, 200, 503}
