"""A complete collector: start, restart, stop, and messages when it cannot start."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.collector.clickhouse.spans import request, span
from tests.forked import Forked
from tests.servers import FREE_PORTS, Collector, CollectorDied, Program, eventually

WALLTIME = Path(sys.executable).with_name("walltime")


class FirstStart(Program):
    """Makes its tables itself."""

    is_first_start = True


def body(spans: int = 1, **attributes: object) -> bytes:
    return request(*[span({"walltime.schema": 1, **attributes}) for _ in range(spans)]).SerializeToString()


def stored(collector: Collector) -> int:
    connection = http.client.HTTPConnection(urlsplit(collector.web_url).netloc, timeout=30)
    connection.request("GET", "/api/top?since=1h")
    answer = connection.getresponse().read()
    connection.close()
    return int(json.loads(answer)["transactions"])


def refused(*options: str, **variables: str) -> str:
    """The message of `walltime serve` when it does not start."""
    start = Forked if Collector.is_forked else subprocess.Popen
    with start(
        [WALLTIME, "serve", *options],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as ended:
        stdout, stderr = ended.communicate(timeout=30)
    assert ended.returncode in (1, 2)
    assert stdout == ""
    assert "Traceback" not in stderr
    assert len(stderr.strip().splitlines()) == 1
    return stderr


def test_acknowledged_data_is_visible_at_once(tmp_path: Path) -> None:
    with FirstStart(tmp_path / "data") as collector:
        for _ in range(3):
            before = stored(collector)
            assert collector.send(body()).status_code == 200
            eventually(lambda: stored(collector) > before)  # noqa: B023 it is called in the same turn
        assert collector.health()["spans"] == {
            "received": 3,
            "stored": 3,
            "rejected": 0,
            "spooled": 0,
            "dead": 0,
            "lost": 0,
        }


def test_stdout_is_one_ready_line(tmp_path: Path) -> None:
    collector = Program(tmp_path / "data")
    assert collector.ready.startswith("ready grpc=127.0.0.1:")
    assert " web=127.0.0.1:" in collector.ready
    collector.send(body())
    collector.process.send_signal(signal.SIGTERM)
    assert collector.process.stdout is not None
    assert collector.process.stdout.read() == ""
    assert collector.stop() == 0
    assert collector.log() == ""


def test_on_sigterm_the_spool_is_loaded_first(tmp_path: Path) -> None:
    with Collector(tmp_path / "data", segment_age_s=3600.0) as collector:
        for _ in range(5):
            assert collector.send(body(7)).status_code == 200
        assert collector.stop() == 0
    assert list((tmp_path / "data" / "spool").glob("*.segment")) == []
    with Collector(tmp_path / "data") as again:
        assert stored(again) == 35


def test_what_is_left_in_the_spool_is_loaded_after_the_next_start(tmp_path: Path) -> None:
    with Collector(tmp_path / "data", segment_age_s=3600.0, drain_s=0) as collector:
        for _ in range(5):
            assert collector.send(body(7)).status_code == 200
        collector.kill()
    assert list((tmp_path / "data" / "spool").glob("*.segment")) != []
    with Collector(tmp_path / "data") as again:
        again.wait_until_loaded(35)
        assert stored(again) == 35
        assert again.health()["spans"]["spooled"] == 0


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("after_write", marks=pytest.mark.nightly),
        "after_fsync",
        pytest.param("before_answer", marks=pytest.mark.nightly),
        "after_insert",
    ],
)
def test_a_kill_at_the_worst_moments_neither_loses_nor_duplicates_data(tmp_path: Path, place: str) -> None:
    acknowledged = 0
    with Collector(tmp_path / "data", crashpoint=place) as collector:
        try:
            for _ in range(50):
                acknowledged += collector.send(body()).status_code == 200
                time.sleep(0.05)
        except Exception:  # noqa: BLE001 it died with the connection open
            collector.process.wait(10)
        assert collector.process.poll() == -signal.SIGKILL
    with Collector(tmp_path / "data") as again:
        eventually(lambda: again.health()["spans"]["spooled"] == 0)
        # one request was on its way: written, perhaps, but not acknowledged
        assert acknowledged <= stored(again) <= acknowledged + 1
        assert again.send(body()).status_code == 200


def test_a_second_collector_on_the_directory_reports_it_and_exits(tmp_path: Path) -> None:
    with Collector(tmp_path / "data") as collector:
        with pytest.raises(CollectorDied) as died:
            Collector(tmp_path / "data")
        assert died.value.status == 1
        assert f"another collector (process {collector.process.pid}) owns it" in died.value.log
        assert collector.send(body()).status_code == 200


def test_the_directory_is_free_at_once_after_a_kill(tmp_path: Path) -> None:
    Collector(tmp_path / "data").kill()
    with Collector(tmp_path / "data") as again:
        assert again.health()["ok"] is True


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    collector = Collector(tmp_path / "data")
    where = urlsplit(collector.otlp_url)
    slow = http.client.HTTPConnection(where.netloc, timeout=60)
    slow.putrequest("POST", "/v1/traces")  # a request in flight, for which the first signal waits
    slow.putheader("Content-Type", "application/x-protobuf")
    slow.putheader("Content-Length", "100")
    slow.endheaders(b"x")
    time.sleep(0.2)
    collector.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    assert collector.process.poll() is None
    assert collector.stop() == 1
    slow.close()


def test_only_loopback_addresses_unless_insecure(tmp_path: Path) -> None:
    for option, where in (("--grpc", "0.0.0.0:0"), ("--http", "[::]:0"), ("--web", "192.0.2.1:0")):
        assert "--insecure" in refused("--data", str(tmp_path), option, where)


def test_invalid_settings_are_one_sentence(tmp_path: Path) -> None:
    assert "not an address" in refused("--data", str(tmp_path), "--grpc", "127.0.0.1:0", "--http", "4318")
    assert "WALLTIME_SEGMENT_AGE_S" in refused("--data", str(tmp_path), WALLTIME_SEGMENT_AGE_S="-1")
    with Collector(tmp_path / "data") as collector:
        taken = urlsplit(collector.otlp_url).netloc
        message = refused("--data", str(tmp_path / "other"), "--grpc", "127.0.0.1:0", "--http", taken)
        assert "cannot listen there" in message
    (tmp_path / "file").write_text("")
    assert "cannot make this directory" in refused("--data", str(tmp_path / "file"), *FREE_PORTS)


def test_only_the_owner_can_read_the_data(tmp_path: Path) -> None:
    with FirstStart(tmp_path / "data") as collector:
        collector.send(body())
        collector.wait_until_loaded(1)
    for path in [tmp_path / "data", *(tmp_path / "data").rglob("*")]:
        assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0 or path.is_symlink(), path


def test_damage_in_the_spool_does_not_prevent_the_start_and_is_counted(tmp_path: Path) -> None:
    with Collector(tmp_path / "data", segment_age_s=3600.0) as collector:
        collector.send(body())
        collector.wait_until_loaded(1)  # the first segment is loaded at once, the next one waits
        for _ in range(10):
            assert collector.send(body()).status_code == 200
        collector.kill()
    spool = tmp_path / "data" / "spool"
    (segment,) = spool.glob("*.segment")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    (spool / "00-foreign.segment").write_bytes(b"not ours")
    (spool / "00-empty.segment").write_bytes(b"")
    with Collector(tmp_path / "data") as again:
        eventually(lambda: stored(again) == 10)
        report: Any = again.health()
        assert report["counts"]["unreadable_segments"] == 2
        assert report["counts"]["quarantined_bytes"] > 0
        assert report["spans"]["stored"] == 9
    assert len(list((spool / "quarantine").iterdir())) == 3
