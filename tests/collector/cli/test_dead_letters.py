"""`walltime dead-letter` and its API, on a real collector whose spool has requests that no database accepts."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from walltime_collector.config.settings import Settings
from walltime_collector.health.counters import Health
from walltime_collector.http.authentication import Access
from walltime_collector.spool.segment import Record
from walltime_collector.spool.spool import Spool
from walltime_collector.web.dead_letters import dead_letter_routes

from tests.collector.cli.command import assert_one_sentence, run
from tests.collector.load.garbage import GARBAGE
from tests.servers import Collector, eventually

SPANS = (2, 3, 5)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    directory: Path = tmp_path_factory.mktemp("collector") / "data"
    spool = Spool(directory / "spool", max_bytes=2**30, segment_bytes=2**20, segment_age_s=1)
    spool.append([Record(time.time_ns() - at * 10**9, spans, GARBAGE) for at, spans in enumerate(reversed(SPANS))])
    spool.close()
    with Collector(directory) as running:
        eventually(lambda: running.health()["spans"]["dead"] == sum(SPANS), 30)
        yield running


def letters(collector: Collector) -> Any:
    done = run("dead-letter", "list", "--json", "--url", collector.web_url)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["letters"]


def test_dead_letters_are_listed_oldest_first_with_the_reason(collector: Collector) -> None:
    listed = letters(collector)
    assert [each["spans"] for each in listed] == list(SPANS)
    assert all("Code: " in each["reason"] for each in listed)
    assert all(each["received_at_ns"] < each["refused_at_ns"] for each in listed)
    done = run("dead-letter", "list", "--url", collector.web_url)
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + len(SPANS)
    assert all(each["name"] in line for each, line in zip(listed, lines[1:], strict=True))


def test_a_letter_that_is_refused_again_comes_back_and_a_dropped_one_does_not(collector: Collector) -> None:
    first, _, last = letters(collector)
    done = run("dead-letter", "retry", first["name"], "--url", collector.web_url)
    assert done.stdout == "1 dead letter with 2 spans moved back to be loaded\n"
    eventually(lambda: sorted(each["spans"] for each in letters(collector)) == list(SPANS))
    assert_balance(collector, dead=10, rejected=0)

    done = run("dead-letter", "drop", last["name"], "--yes", "--url", collector.web_url)
    assert done.stdout == "1 dead letter with 5 spans thrown away\n"
    assert [each["spans"] for each in letters(collector)] == [2, 3]
    assert_balance(collector, dead=5, rejected=5)
    assert_one_sentence(run("dead-letter", "retry", "../id", "--url", collector.web_url), 1, "no dead letter '../id'")


def test_the_former_name_of_the_command_still_works(collector: Collector) -> None:
    former = run("deadletter", "list", "--url", collector.web_url)
    assert former.stdout == run("dead-letter", "list", "--url", collector.web_url).stdout
    assert "deadletter" not in run("--help").stdout


def test_drop_asks_for_confirmation_and_all_needs_its_option(collector: Collector) -> None:
    before = letters(collector)
    done = run("dead-letter", "drop", "--all", "--url", collector.web_url)  # nobody answers
    assert done.returncode != 0
    assert "throw away all dead letters for good? [y/N]" in done.stderr
    assert_one_sentence(run("dead-letter", "retry", "--url", collector.web_url), 2, "--all")
    assert letters(collector) == before


def test_a_page_of_another_site_cannot_drop_anything(collector: Collector) -> None:
    response = httpx.post(f"{collector.web_url}/api/deadletters/drop", content='{"all": true}')
    assert response.status_code == 400
    assert len(letters(collector)) > 0


@pytest.mark.parametrize(
    ("tokens", "shown", "status"),
    [
        ({"read_token": "r" * 20}, "r" * 20, 403),
        ({"read_token": "r" * 20, "admin_token": "a" * 20}, "r" * 20, 403),
        ({"read_token": "r" * 20, "admin_token": "a" * 20}, "a" * 20, 200),
        ({}, "", 200),
    ],
    ids=["no admin token", "read token", "admin token", "no tokens"],
)
def test_only_the_admin_token_permits_changes(tmp_path: Path, tokens: dict[str, str], shown: str, status: int) -> None:
    spool = Spool(tmp_path / "spool", max_bytes=2**30, segment_bytes=2**20, segment_age_s=1)
    app = Starlette(routes=dead_letter_routes(spool, Health(), Access(Settings(data=tmp_path, **tokens))))  # type: ignore[arg-type]

    async def ask() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            headers = {"Authorization": f"Bearer {shown}"}
            return (await client.post("/api/deadletters/drop", json={"all": True}, headers=headers)).status_code

    assert asyncio.run(ask()) == status
    spool.close()


def assert_balance(collector: Collector, *, dead: int, rejected: int) -> None:
    spans = collector.health()["spans"]
    assert spans == {"received": 10, "stored": 0, "rejected": rejected, "spooled": 0, "dead": dead, "lost": 0}
