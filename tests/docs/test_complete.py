"""What a user can type, set, request or see is documented: commands, API paths, metrics, attributes, make targets.

Settings are compared one by one in tests/test_docs.py, the libraries in tests/sdk/instrumentation/test_patching.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route
from walltime_collector.cli import COMMANDS
from walltime_collector.cli.dead_letters import dead_letters
from walltime_collector.config.settings import Settings
from walltime_collector.health.counters import Health
from walltime_collector.health.metrics import _GAUGES, Metrics
from walltime_collector.http.authentication import Access
from walltime_collector.observe.slowlog.imports import Imports
from walltime_collector.spool.spool import Spool
from walltime_collector.web.application import make_app
from walltime_collector.web.dead_letters import dead_letter_routes
from walltime_collector.web.openapi import ApiRoute
from walltime_collector.web.plans import plan_routes
from walltime_collector.web.slow_log import slow_log_routes

from tests.docs.site import ROOT

DOCS = ROOT / "docs"
COUNTERS_OF_COMPONENTS = (
    *("calls", "time_ns", "max_ns", "errors", "keys", "hits", "misses", "not_stored", "skipped", "rows"),
    *("deadlocks", "lock_timeouts", "cpu_ns"),
)
NO_ATTRIBUTES = {"walltime.doctor", "walltime.summary"}
"""The service of `walltime doctor`, and a logger."""


def missing(rows: list[str], page: str) -> list[str]:
    """Rows that a page should have and has not; the message of the failure is what to add."""
    lines = set((DOCS / page).read_text().splitlines())
    return [row for row in rows if row not in lines]


def test_every_command_is_in_the_table_of_commands() -> None:
    table = (DOCS / "commands.md").read_text()
    documented = set(re.findall(r"^\| `walltime ([a-z-]+)", table, re.MULTILINE))
    assert documented == COMMANDS.keys()
    for each in dead_letters.commands:
        assert f"`{each}`" in table or f"walltime dead-letter {each}" in table


def test_every_path_of_the_api_is_documented_with_its_first_sentence(tmp_path: Path) -> None:
    nothing: Any = None
    access = Access(Settings())
    spool = Spool(tmp_path, max_bytes=1, segment_bytes=1, segment_age_s=1)
    more = dead_letter_routes(spool, Health(), access) + slow_log_routes(Imports(tmp_path, nothing, Health()), access)
    more += plan_routes(nothing, access)
    spool.close()
    routes = make_app(nothing, Health(), nothing, access, nothing, more=more).routes
    rows = []
    for each in routes:
        if isinstance(each, ApiRoute):
            (method,) = (each.methods or set()) - {"HEAD"}
            rows.append(
                f"| `{method} {each.path}` | {' '.join(each.description.split()).partition('. ')[0].rstrip('.')} |"
            )
    assert missing(rows, "api.md") == []
    page = (DOCS / "api.md").read_text()
    assert re.findall(r"^\| `[A-Z]+ /.*", page, re.MULTILINE) == [row for row in sorted(rows) if row in page]
    assert {"/healthz", "/readyz", "/metrics"} <= {each.path for each in routes if isinstance(each, Route)}
    operating = (DOCS / "operating.md").read_text()
    assert all(f"`{path}`" in operating for path in ("/healthz", "/readyz", "/metrics"))


def test_every_metric_of_the_collector_is_documented_with_its_meaning() -> None:
    health = Health()
    health.watched((), dict.fromkeys(_GAUGES, 0.0))
    exposed = Metrics(health).render("")[0].decode()
    rows = []
    for family in text_string_to_metric_families(exposed):
        if not family.name.startswith("process_"):
            suffix = "_total" if family.type == "counter" else ""
            rows.append(f"| `{family.name}{suffix}` | {family.type} | {family.documentation} |")
    assert len(rows) > 35
    assert missing(rows, "metrics.md") == []
    documented = re.findall(r"^\| `walltime_.*", (DOCS / "metrics.md").read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(rows)


def test_every_metric_of_the_sdk_is_documented() -> None:
    source = (ROOT / "sdk" / "src" / "walltime" / "export" / "metrics.py").read_text()
    names = set(re.findall(r'"((?:walltime|http)\.[a-z_.]+)"', source))
    assert {"http.server.request.duration", "walltime.component.duration"} <= names
    table = (DOCS / "instrumentation.md").read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in table] == []


def test_every_attribute_is_in_the_wire_format() -> None:
    """Those that the SDK sends, and those that the collector's schema reads."""
    wire = (DOCS / "wire.md").read_text()
    sources = {
        file: re.findall(r"""["'](walltime\.[a-z_]+(?:\.[a-z_]+)*)["']""", file.read_text())
        for folder, pattern in (
            (ROOT / "sdk" / "src" / "walltime" / "export", "otlp*.py"),
            (ROOT / "collector" / "src" / "walltime_collector" / "clickhouse" / "schema", "*.sql"),
        )
        for file in sorted(folder.glob(pattern))
    }
    attributes = {name for names in sources.values() for name in names} - NO_ATTRIBUTES
    assert len(attributes) > 60

    def is_documented(name: str) -> bool:
        group, _, last = name.rpartition(".")
        if f"`{name}`" in wire:
            return True
        if group in ("walltime.target", "walltime.statement", "walltime.sample", "walltime.after_response"):
            return any(f"`.{last}`" in row for row in wire.splitlines() if f"`{group}." in row)
        is_counter = last in COUNTERS_OF_COMPONENTS and f".{last}`" in wire
        return is_counter and group.count(".") == 2 and group.split(".")[1] in ("mysql", "memcache", "redis", "http")

    assert [name for name in sorted(attributes) if not is_documented(name)] == []


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE)) - {"help"}
    assert set(re.findall(r"^## ([a-z-]+) ", makefile, re.MULTILINE)) == targets
    assert set(re.findall(r"^\.PHONY: (.*)", makefile, re.MULTILINE)[0].split()) == targets | {"help"}
