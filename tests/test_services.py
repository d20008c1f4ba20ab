"""The servers of the demo and the tests: they start, they stop, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shop import process
from shop.services import MariaDB, Memcached, Program, ProgramMissingError, ServiceError

from tests.server_folder import server_folder

EXAMPLES = str(Path(__file__).parents[1] / "examples")

PARENT = """
import sys, time
from pathlib import Path
from shop.services import Program
command = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
child = Program("child", Path(sys.argv[1]), command, "up")
print(child.start().pid, flush=True)
time.sleep(60)
"""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_service_is_gone_after_kill_9_of_the_process_that_started_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": EXAMPLES}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.send_signal(signal.SIGKILL)
    assert wait_until_gone(child)


def test_a_service_that_was_stopped_comes_back_on_the_same_port(tmp_path: Path) -> None:
    with Memcached("cache", tmp_path) as cache:
        port, pid = cache.port, cache.pid
        cache.stop()
        assert not is_alive(pid)
        cache.start()
        assert cache.port == port
        assert cache.pid != pid
        assert cache.stats()["curr_items"] == "0"


def test_a_port_lost_to_somebody_else_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memcached("first", tmp_path) as first, monkeypatch.context() as patch:
        ports = [first.port, first.port]
        patch.setattr("shop.services.free_port", lambda: ports.pop() if ports else process.free_port())
        with Memcached("second", tmp_path) as second:
            assert second.port != first.port
            assert not ports


def test_a_service_that_ends_at_its_start_says_so_with_its_log(tmp_path: Path) -> None:
    broken = Program("broken", tmp_path, [sys.executable, "-c", "raise SystemExit('no disk')"], "ready")
    with pytest.raises(ServiceError, match=r"broken ended with status 1(.|\n)*no disk"):
        broken.start()
    assert not broken.is_running


def test_a_service_that_never_answers_is_given_up_and_killed(tmp_path: Path) -> None:
    silent = Program("silent", tmp_path, [sys.executable, "-c", "import time; time.sleep(60)"], "ready")
    silent.starts_within_s = 0.3
    with pytest.raises(ServiceError, match="silent did not answer within"):
        silent.start()
    assert not silent.is_running


def test_a_missing_program_is_one_sentence_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shop.process.SBIN", ())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProgramMissingError) as missing:
        process.program("mariadbd", "mariadb-server")
    sentence = "mariadbd is not installed. Install it, for example: sudo apt-get install mariadb-server"
    assert str(missing.value) == sentence


def test_a_mariadb_that_starts_leaves_the_temporary_tables_of_other_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "#sql-temptable-1-2-3.MAD"
    table.touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with server_folder() as folder, MariaDB(folder / "mariadb"):
        assert table.exists()
