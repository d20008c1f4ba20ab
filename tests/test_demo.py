"""`make demo`: it shows what it promises, ends as it should, and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The demo as the leader of a session of its own, so that every process it leaves behind can be found."""
    command = [sys.executable, "-m", "shop.demo", "--seconds", "3", "--folder", str(folder), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "examples"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def session(leader: int) -> list[str]:
    """Command lines of the living processes of a session."""
    alive = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, _, _, of_session = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:4]
                if int(of_session) == leader and state != "Z":
                    alive.append((entry / "cmdline").read_text().replace("\0", " "))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return alive


def read_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            break
    else:
        pytest.fail("".join(lines))
    return "".join(lines)


def test_once_shows_top_and_one_bill_and_leaves_nothing_running(tmp_path: Path) -> None:
    with demo(tmp_path / "demo", "--once") as process:
        output, _ = process.communicate(timeout=150)
    assert process.returncode == 0, output
    truth = json.loads((tmp_path / "demo" / "truth.json").read_text())
    top, lock_wait = output.split("walltime top", 1)[1].split(f"walltime show {truth['lock_wait']['trace_id']}", 1)
    assert "GET /product/{id}" in top
    assert "POST /checkout" in lock_wait
    assert "FOR UPDATE" in lock_wait
    assert session(process.pid) == []


def test_ctrl_c_stops_everything_and_is_no_failure(tmp_path: Path) -> None:
    with demo(tmp_path / "demo") as process:
        read_until(process, "Ctrl-C stops everything")
        assert len(session(process.pid)) > 5
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert session(process.pid) == []


def test_kill_9_of_the_demo_takes_its_servers_with_it(tmp_path: Path) -> None:
    with demo(tmp_path / "demo") as process:
        read_until(process, "shop ")
        assert len(session(process.pid)) > 5
        process.kill()
        process.wait()
        deadline = time.monotonic() + 30
        while session(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert session(process.pid) == []


def test_a_folder_that_is_not_the_demos_is_never_emptied(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with demo(tmp_path, "--once") as process:
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "holds something that is not a demo's" in output
    assert "Traceback" not in output
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_second_demo_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with demo(tmp_path / "demo") as first:
        read_until(first, "collector")
        with demo(tmp_path / "demo") as second:
            output, _ = second.communicate(timeout=30)
        assert second.returncode == 1
        assert "another demo runs" in output
