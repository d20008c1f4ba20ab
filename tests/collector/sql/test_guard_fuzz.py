"""Thousands of statements with bad intent: no file is opened, no connection made, nothing written, no secret told."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.collector.sql.statements import statement

ROOT = Path(__file__).parents[3]
SECRET = "canary-3f1b9c"
_OPENED = re.compile(r'(?:open|openat|openat2|creat|execve)\((?:[^,"]+, )?"((?:[^"\\]|\\.)*)"')
_HARMLESS = ("/proc/", "/sys/", "/dev/urandom")  # what the engine reads for itself: memory, cgroups, ids


@contextmanager
def watched_reader(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """The reader as a process, under strace where there is one."""
    trace = []
    if strace := shutil.which("strace"):
        calls = "open,openat,openat2,creat,connect,execve,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat"
        trace = [
            strace,
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-s",
            "4096",
            "-o",
            str(directory / "trace"),
            "-e",
            f"trace={calls}",
        ]
    process = subprocess.Popen(
        [*trace, sys.executable, "-m", "tests.collector.sql.guarded_reader", directory],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait(30)


def touched(trace: Path, directory: Path) -> list[str]:
    """What the process did after it had begun that has nothing to do with its own data."""
    lines = trace.read_text("utf-8", "replace").splitlines()
    begin = next(index for index, line in enumerate(lines) if f"{directory}/begin" in line)
    found = []
    for line in lines[begin + 1 :]:
        opened = _OPENED.search(line)
        path = opened[1] if opened else ""
        if "connect(" in line or (path and not path.startswith((f"{directory}/data/", *_HARMLESS))):
            found.append(line)
    return found


@pytest.mark.parametrize("asked", [100, pytest.param(20_000, marks=[pytest.mark.nightly, pytest.mark.timeout(7200)])])
def test_no_statement_reaches_beyond_the_tables(tmp_path: Path, asked: int) -> None:
    canary = tmp_path / "outside"
    canary.mkdir()
    (canary / "secret.csv").write_text(SECRET)
    outcomes: Counter[str] = Counter()
    with socket.create_server(("127.0.0.1", 0)) as server, watched_reader(tmp_path) as reader:
        server.settimeout(0)
        host = f"127.0.0.1:{server.getsockname()[1]}"
        names = {"path": canary / "secret.csv", "url": f"http://{host}/x", "host": host, "p": "{p}"}

        for seed in range(asked):
            sql = statement(seed)
            with suppress(KeyError, ValueError, IndexError):  # a trick broke its braces: then it is asked as it is
                sql = sql.format_map(names)
            assert reader.stdin is not None
            assert reader.stdout is not None
            reader.stdin.write(json.dumps(sql) + "\n")
            reader.stdin.flush()
            outcome, content = json.loads(reader.stdout.readline())
            outcomes[outcome] += 1
            assert not (outcome == "answered" and SECRET in content), sql
        try:
            server.accept()
        except BlockingIOError:
            is_connected = False
        else:
            is_connected = True
    assert not is_connected
    assert [path.name for path in canary.iterdir()] == ["secret.csv"]
    assert outcomes.total() == asked
    assert outcomes["answered"] >= asked * 0.05, outcomes
    assert outcomes["refused"] >= asked * 0.3, outcomes
    if (tmp_path / "trace").exists():
        assert touched(tmp_path / "trace", tmp_path) == []
