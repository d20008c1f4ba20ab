"""What the boards are drawn from: the demo's data and others made of it, kept in the user's cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from shop.services import fast_folder
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine

from tests.dashboards.conftest import TOKEN, Grafana
from tests.dashboards.grafana import Range
from tests.dashboards.npm import CACHE
from tests.servers import Collector

Name = Literal["demo", "empty", "one", "fifty"]
LONGEST_S: Final = 15 * 60
_FIFTY = Path(__file__).with_name("fifty.sql").read_text("utf-8")
_EXAMPLES = Path(__file__).parents[3] / "examples"
_STARTED = "SELECT toUnixTimestamp(min(started_at)), toUnixTimestamp(max(started_at)) + 1, count() FROM transactions"
_OF_A_SERVICE = """
SELECT table FROM system.columns
WHERE database = currentDatabase() AND name = 'service' AND table IN (
    SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree%')
"""


@contextmanager
def stored(name: Name, seconds: int) -> Iterator[Grafana]:
    """
    A collector with the data, and the time it was made in; a copy, so that several people can look at once.

    Args:
        seconds: How long the demo runs after its cache restarts, if it must be made: a third of the whole.
    """
    folder = fast_folder()
    try:
        if name != "empty":
            _copied(made(name, seconds), folder / "collector")
        with Collector(folder / "collector", clickhouse_http="127.0.0.1:0", clickhouse_http_token=TOKEN) as collector:
            now_s = int(time.time())
            url = "http://" + re.findall(r"clickhouse=(\S+)", collector.ready)[0]
            grafana = Grafana(url, ("grafana", TOKEN), Range(now_s - 3600, now_s, interval_s=1))
            ((first_s, last_s, transactions),) = grafana.ask_raw(_STARTED).rows
            if transactions:
                grafana.shown = Range(max(first_s, last_s - LONGEST_S), last_s, interval_s=1)
            yield grafana
    finally:
        shutil.rmtree(folder)


def made(name: Name, seconds: int) -> Path:
    """The collector's folder with it, made when it is not there."""
    folder = CACHE / "data" / name
    if folder.exists():
        return folder
    making = folder.with_name(f"{name}.{os.getpid()}")
    if name == "demo":
        _run_the_demo(making, seconds)
        data = making / "collector" / "data"
    else:
        data = _copied(made("demo", seconds), making / "data")
        engine = EmbeddedEngine(data / "chdb", "walltime")
        engine.migrate()
        if name == "fifty":
            engine.command(_FIFTY)
        else:
            for row in engine.query(_OF_A_SERVICE):
                engine.command(f"ALTER TABLE {row['table']} DELETE WHERE service != 'shop' SETTINGS mutations_sync = 2")
        engine.close()
    data.rename(folder)
    shutil.rmtree(making)
    return folder


def _copied(source: Path, target: Path) -> Path:
    """A database refers to its tables by links inside it."""
    return Path(shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("lock")))


def _run_the_demo(folder: Path, seconds: int) -> None:
    command = [sys.executable, "-m", "shop.demo", "--once", "--seconds", str(seconds), "--folder", str(folder)]
    print(f"making the demo's data takes {3 * seconds // 60 + 1} minutes, once", file=sys.stderr)
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(_EXAMPLES)}, stdout=subprocess.DEVNULL, check=True)
