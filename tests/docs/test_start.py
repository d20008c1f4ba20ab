"""The pages of "Getting started" as their readers follow them: files, commands, a collector, and what it shows."""

from __future__ import annotations

import json
import os
import re
import textwrap
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tests.collector.cli import command
from tests.docs.blocks import blocks
from tests.docs.site import ROOT
from tests.examples.readme import Example
from tests.redis_server import RedisServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually

IN_EVERY_RUN = ("flask",)
PAGES = sorted(path.stem for path in (ROOT / "docs" / "start").glob("*.md"))


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with Collector(tmp_path_factory.mktemp("start") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with server_folder() as folder, RedisServer(folder) as server:
        yield server


def components(bill: str) -> list[str]:
    """Rows of a bill, down to the total: their names."""
    table = re.split(r"^component .*\n", bill, flags=re.MULTILINE)[1].partition("total")[0]
    return [row.split()[0] for row in table.splitlines() if re.match(r"\w", row)]


@pytest.mark.parametrize(
    "name",
    [name if name in IN_EVERY_RUN else pytest.param(name, marks=pytest.mark.nightly) for name in PAGES],
)
def test_a_page_leads_to_the_bill_it_shows(
    name: str, collector: Collector, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    page = [block for block in blocks() if block.page == Path("docs/start", f"{name}.md")]
    for block in page:
        if block.title:
            text = block.text.replace("http://127.0.0.1:8464", collector.web_url)
            (tmp_path / block.title).write_text(text)
    commands = "".join(block.text for block in page if block.language == "shell")
    (tmp_path / "README.md").write_text(textwrap.indent(commands, "    "))
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.otlp_url.removesuffix("/v1/traces"),
        "WALLTIME_URL": collector.web_url,
    }
    if name == "celery":
        environment["REDIS_URL"] = f"redis://{request.getfixturevalue('redis_server').address}"
    (console,) = [block for block in page if block.language == "console"]
    documented = console.text.partition("\n")[2]
    started_s = time.time()
    with Example(tmp_path, environment) as example:
        show = shown(example, documented.split("  ")[0], started_s)
    if folder := os.environ.get("OUTPUTS"):
        Path(folder, name).write_text(show)
    assert show.split("  ")[0] == documented.split("  ")[0], "another kind"
    assert set(components(documented)) <= set(components(show)), show


def shown(example: Example, kind: str, since_s: float) -> str:
    """What `walltime show` prints of the newest transaction of this kind, as soon as all of this page are stored."""
    window = f"{datetime.fromtimestamp(since_s, tz=timezone.utc):%Y-%m-%dT%H:%M:%SZ}..now"
    found: list[dict[str, str]] = []

    def is_stored() -> bool:
        options = ("--json", "--kind", kind, "--during", window)
        done = command.run("find", *options, environment=example.environment)
        found[:] = json.loads(done.stdout)["matches"] if done.returncode == 0 else []  # 1 before the first is stored
        return len(found) >= (10 if kind.startswith("GET") else 1)

    eventually(is_stored, 60)
    example.commands.append("walltime show TRACE_ID")
    return example.ask("walltime show", trace_id=found[0]["trace_id"])
