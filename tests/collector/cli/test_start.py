"""The commands start quickly: they import what they need, and read a small log sooner than pt-query-digest."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collector.cli.command import WALLTIME
from tests.collector.observe.slowlog.real_logs import MYSQL_8, REAL_LOGS

HEAVY = {
    *("asyncio", "backports.zstd", "concurrent.futures", "http.client", "importlib.metadata", "multiprocessing"),
    *("chdb", "clickhouse_connect", "google.protobuf", "jinja2", "lark", "numpy", "opentelemetry", "pydantic"),
    *("rich.console", "rich.text", "socket", "starlette", "tempfile", "typer", "uvicorn", "yaml"),
    *("walltime_collector.config.settings", "walltime_collector.query.answers", "walltime_collector.serve"),
}
ROUNDS = 5


def imported(*arguments: str) -> set[str]:
    """Modules that a command has imported at its end."""
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        "from walltime_collector.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_the_digest_of_a_log_imports_nothing_heavy(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(MYSQL_8)
    found = imported("digest", str(log))
    assert "walltime_collector.cli.digest.files" in found
    assert found & HEAVY == set()


def test_the_help_imports_nothing_heavy_for_what_it_does_not_run() -> None:
    assert imported("digest", "--help") & HEAVY == set()
    assert imported("--help") & {"chdb", "pydantic", "rich.console", "uvicorn"} == set()


@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.skipif(not REAL_LOGS.exists(), reason="the real logs are not on this machine")
@pytest.mark.skipif(
    not shutil.which("pt-query-digest"), reason="needs pt-query-digest (apt-get install percona-toolkit)"
)
def test_the_digest_of_every_real_log_takes_less_cpu_than_pt_query_digest() -> None:
    slower = {}
    for log in sorted(REAL_LOGS.glob("*.txt")):
        ours, theirs = [], []
        for _ in range(ROUNDS):  # in turn: another program's load meets both
            ours.append(user_s(str(WALLTIME), "digest", str(log)))
            theirs.append(user_s("pt-query-digest", "--no-version-check", str(log)))
        if (ratio := min(ours) / min(theirs)) >= 1:  # a loaded machine only adds
            slower[log.name] = ratio
    assert slower == {}


def user_s(*command: str) -> float:
    """CPU time of a process outside of the kernel."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
