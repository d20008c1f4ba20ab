"""`make demo`: it shows what it promises, ends as it should, and leaves no process behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]


@contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The demo as the leader of a session of its own, so that every process it leaves behind can be found."""
    command = [sys.executable, "-m", "shop.demo", "--seconds", "3", "--folder", str(folder), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "examples"), "PYTHONUNBUFFERED": "1"}
    environment["WALLTIME_SEGMENT_AGE_S"] = "2"  # by default an INSERT a second, each with 0.2 s of CPU
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


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The output of one demo that ended by itself, its truth, and the answer of its `why`."""
    folder = tmp_path_factory.mktemp("told") / "demo"
    with demo(folder, "--once", "--seconds", "4") as process:
        output, _ = process.communicate(timeout=150)
    assert process.returncode == 0, output
    assert session(process.pid) == []
    truth, why = (json.loads((folder / f"{name}.json").read_text()) for name in ("truth", "why"))
    return output, truth, why


def test_once_tells_the_story_and_leaves_nothing_running(told: tuple[str, dict[str, Any], dict[str, Any]]) -> None:
    output, truth, _ = told
    top, why = output.split("walltime top", 1)[1].split("walltime why", 1)
    why, shown = why.split("walltime show", 1)
    _, lock_wait = shown.split(f"walltime show {truth['lock_wait']['trace_id']}", 1)
    assert "GET /product/{id}" in top
    assert "mysql.query" in why
    assert truth["restart"]["address"] in why
    assert "mysql.query" in shown
    assert "POST /checkout" in lock_wait
    assert "row lock" in lock_wait


def test_the_address_of_the_pages_comes_first_and_each_step_has_one(
    told: tuple[str, dict[str, Any], dict[str, Any]],
) -> None:
    output, truth, _ = told
    first, *lines = output.splitlines()
    assert re.match(r"http://127\.0\.0\.1:\d+/  ", first), first
    web = first.split("  ")[0]
    links = [line.strip().removeprefix(web) for line in lines if line.strip().startswith(web)]
    usual, restarted, why, lock_wait = (link for link in links if not link.startswith("incidents/"))
    kind = "kinds/shop/GET%20%2Fproduct%2F%7Bid%7D?time="
    assert usual == "?time=last+5m"
    assert restarted == f"{kind}last+5m"
    assert re.fullmatch(rf"{re.escape(kind)}(\S+Z)\.\.(\S+Z)&during=(\S+Z)\.\.\2&against=\1\.\.\S+Z", why)
    assert lock_wait == f"transactions/{truth['lock_wait']['trace_id']}"


def test_why_says_what_the_demo_knows(told: tuple[str, dict[str, Any], dict[str, Any]]) -> None:
    """Of a demo too short for chance to be ruled out, only what can be counted; test_story has the whole of it."""
    _, truth, why = told
    (queries,) = (each for each in why["components"] if each["component"] == "mysql.query")
    assert queries["more_ns"] > 0
    assert queries["slow"]["calls_per_transaction"] > 1.5 * queries["usual"]["calls_per_transaction"]
    for side, window in (("usual", "before"), ("slow", "after")):
        # the rest are those of other kinds, and of the moments that round times leave out
        assert 0.6 * truth[window]["mariadb"]["Com_select"] < queries[side]["calls"]
        assert queries[side]["calls"] <= truth[window]["mariadb"]["Com_select"] * 1.05
    misses = {each["address"]: each["slow"]["misses"] for each in why["targets"] if each["component"] == "memcache.get"}
    emptied, kept = truth["restart"]["address"], truth["caches"]["memcached-2"]
    assert misses[emptied] > 0.6 * truth["after"]["memcached"][emptied]["get_misses"]
    assert misses[emptied] > 10 * misses[kept]


def test_where_the_time_was_too_short_for_an_incident_the_demo_reports_that(
    told: tuple[str, dict[str, Any], dict[str, Any]],
) -> None:
    output, _, _ = told
    assert ("The collector opened no incident" in output) != ("The collector noticed it by itself" in output)


@pytest.mark.nightly
@pytest.mark.timeout(400)
def test_the_collector_notices_the_restart_before_anybody_asks(tmp_path: Path) -> None:
    with demo(tmp_path / "demo", "--once", "--seconds", "20") as process:
        output, _ = process.communicate(timeout=350)
    assert process.returncode == 0, output
    noticed = output.split("walltime top", 1)[0].split("The collector noticed it by itself", 1)[1]
    truth = json.loads((tmp_path / "demo" / "truth.json").read_text())
    headline, page = noticed.splitlines()[1:3]
    assert headline.strip().startswith("GET /product/{id}")
    assert f"memcache.get on {truth['restart']['address']} hits" in headline
    assert re.search(r"/incidents/[0-9a-f]{12}$", page)


@pytest.mark.nightly
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
