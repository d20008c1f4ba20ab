"""Settings of every test."""

import gc
import logging
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from walltime_collector.spool.spool import Spool
from xdist.scheduler import LoadFileScheduling

from tests import servers

# No deadline for an example: on a busy machine a slow one says nothing about the code.
settings.register_profile("walltime", deadline=None)
settings.load_profile("walltime")

# Each collector that starts would look for plugins of pydantic in all packages of this environment: 50 ms of CPU.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"

# Samples are on a bill by chance. The tests of the sampler switch it on (tests/sdk/sampling, tests/safety).
os.environ["WALLTIME_SAMPLE_HZ"] = "0"

servers.Collector.is_forked = sys.platform == "linux"

# Nothing that is imported or collected becomes garbage: a tenth of the CPU of collecting 5,000 tests.
gc.disable()

# A shell that starts the tests in the background makes them and all they start deaf to Ctrl-C, which some are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The files that take longest, which are begun with: what comes last is waited for by one process alone.
_LONGEST = (
    "browser/test_kind.py",
    "browser/test_numbers.py",
    "browser/test_payloads.py",
    "browser/test_sql.py",
    "browser/test_story.py",
    "browser/test_views.py",
    "browser/test_waterfall.py",
    "dashboards/test_queries.py",
    "collector/clickhouse/test_engine_cluster.py",
    "collector/clickhouse/test_engine_server.py",
    "collector/observe/test_lock_waits.py",
    "collector/health/incidents/test_incidents.py",
    "collector/test_serve.py",
    "collector/query/why/test_why.py",
    "collector/cli/test_walltime_demo.py",
    "faults/test_clickhouse_server.py",
    "collector/clickhouse/test_engine_server_trouble.py",
    "collector/query/why/test_why_because.py",
    "collector/health/incidents/test_fooled.py",
    "collector/query/advise/test_answer.py",
    "collector/query/test_naming.py",
    "collector/query/why/test_why_dimensions.py",
    "collector/clickhouse/test_failed_inserts.py",
    "collector/cli/test_mcp.py",
    "collector/query/why/test_why_mix.py",
    "docs/test_blocks.py",
    "collector/http/test_ports.py",
    "collector/sql/test_clickhouse_http.py",
    "collector/pages/test_kind.py",
    "collector/query/why/test_why_load.py",
    "collector/cli/test_doctor_clickhouse.py",
    "collector/observe/slowlog/test_live.py",
    "collector/pages/test_views.py",
    "collector/clickhouse/test_odd_spans.py",
    "test_glue.py",
    "collector/clickhouse/test_engine_process.py",
    "collector/query/why/test_why_process.py",
    "collector/sql/test_guard.py",
    "collector/query/why/test_why_fooled.py",
    "collector/observe/test_statements_live.py",
    "sdk/test_self_check.py",
    "collector/query/test_show.py",
    "collector/pages/test_diff.py",
    "collector/observe/test_plans.py",
    "collector/sql/test_guard_leaks.py",
    "collector/query/test_place.py",
    "test_end_to_end.py",
    "collector/query/diff/test_diff.py",
    "collector/observe/slowlog/test_parser.py",
    "collector/observe/test_lock_disk_or_cpu.py",
    "collector/observe/test_mysql_status.py",
    "safety/test_memory.py",
    "upgrades/test_upgrades.py",
    "collector/health/incidents/test_continued.py",
)


# They share a collector, an engine, data or a browser that take long to start: one worker runs them all.
_TOGETHER = re.compile(
    r"tests/(browser/|dashboards/|collector/clickhouse/test_engine_(?=(answers|server|cluster|versions)\.))"
)


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """One worker runs all tests of a file."""

    def _split_scope(self, nodeid: str) -> str:
        together = _TOGETHER.match(nodeid)
        return together[0] if together else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; the others, and the tests of a file, stay in their order."""
    place = {path: at for at, path in enumerate(_LONGEST)}
    items.sort(key=lambda item: place.get(item.nodeid.removeprefix("tests/").partition("::")[0], len(place)))


def pytest_collection_finish() -> None:
    """Leave all libraries and 5,000 tests out of each garbage collection: one takes 5 ms instead of 300."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Whatever a test, or a library in it, does to the root logger is gone before the next."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = [each for each in root.handlers if each in handlers]
    root.setLevel(level)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    """A spool whose segments are sealed at once."""
    spool = Spool(tmp_path / "spool", max_bytes=2**30, segment_bytes=2**20, segment_age_s=0.01)
    yield spool
    spool.close()
