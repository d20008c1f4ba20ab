"""/collector: the verdict in words, books that account for every span, dead letters, and what only the admin sees."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from walltime_collector.spool.segment import Record
from walltime_collector.spool.spool import Spool

from tests.collector.load.garbage import GARBAGE
from tests.collector.traffic import Shop, export_request
from tests.servers import Collector, eventually, over_http

READ, ADMIN = "read-2b7e151628aed2", "admin-a6abf7158809cf"
DEAD = 5


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """One with transactions, a dead letter and a slow log that does not exist."""
    directory: Path = tmp_path_factory.mktemp("collector") / "data"
    spool = Spool(directory / "spool", max_bytes=2**30, segment_bytes=2**20, segment_age_s=1)
    spool.append([Record(time.time_ns(), DEAD, GARBAGE)])
    spool.close()
    sent = [each for at in range(20) for each in Shop(seed=at).visit(time.time_ns() - at * 1_000_000_000)]
    settings = {"read_token": READ, "admin_token": ADMIN, "slow_log": str(directory.parent / "missing.log")}
    with Collector(directory, **settings) as running:
        assert running.send(export_request(sent)).status_code == 200
        eventually(lambda: books(running)["dead"] == DEAD and not books(running)["spooled"], 60)
        eventually(lambda: any(get(running, "/api/status").json()["slow_logs"].values()), 30)
        yield running


def get(collector: Collector, path: str, token: str = ADMIN) -> httpx.Response:
    return over_http("GET", f"{collector.web_url}{path}", headers={"authorization": f"Bearer {token}"})


def books(collector: Collector) -> Any:
    return get(collector, "/api/status").json()["spans"]


def text(page: str) -> str:
    """What a person reads."""
    page = re.sub(r"<script.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(page).split())


def test_the_verdict_is_first_and_the_books_account_for_every_span(collector: Collector) -> None:
    shown, document = get(collector, "/collector"), get(collector, "/collector.json").json()
    assert shown.status_code == 200
    spans = document["status"]["spans"]
    assert spans["dead"] == DEAD
    assert spans["received"] == sum(spans[name] for name in ("stored", "rejected", "spooled", "dead", "lost"))
    words = text(shown.text.partition("<main")[2])
    assert re.search(rf"^[^>]*> Collector FAIL {DEAD} spans in dead letters; 1 more failure below", words)
    assert document["verdict"] == "FAIL"
    for name in ("received", "stored", "dead"):
        assert re.search(rf"{name} {spans[name]:,}\b", words), name


def test_dead_letters_have_their_reason_and_the_command_for_them(collector: Collector) -> None:
    (letter,) = get(collector, "/collector.json").json()["letters"]
    words = text(get(collector, "/collector").text)
    assert letter["spans"] == DEAD
    assert "Code: " in letter["reason"]
    for shown in (letter["name"], " ".join(letter["reason"].split()), "walltime dead-letter retry --all"):
        assert shown in words


def test_what_only_the_admin_may_see_is_not_on_the_page_of_a_reader(collector: Collector) -> None:
    path = str(collector.directory.parent / "missing.log")
    assert path in get(collector, "/collector").text
    for address in ("/collector", "/collector.json"):
        shown = get(collector, address, READ).text
        assert str(collector.directory.parent) not in shown
        assert "0 slow logs followed, 1 cannot be read" in shown
    assert get(collector, "/collector.json", READ).json()["verdict"] == "FAIL"
    assert over_http("GET", f"{collector.web_url}/collector").status_code == 401


def test_services_are_listed_with_what_is_found_in_their_data(collector: Collector) -> None:
    services = {each["name"]: each for each in get(collector, "/collector.json").json()["services"]}
    assert {"shop", "ranker"} <= set(services)
    assert "transactions in a day" in services["shop"]["about"]
    words = text(get(collector, "/collector").text)
    assert services["shop"]["about"].partition(", ")[2] in words  # before it: how long ago it was seen


def test_the_tables_have_their_retention_and_oldest_day(collector: Collector) -> None:
    tables = {each["name"]: each for each in get(collector, "/collector.json").json()["status"]["tables"]}
    assert tables["transactions"]["retention_days"] == 30
    assert tables["transactions"]["oldest"] <= time.strftime("%Y-%m-%d", time.gmtime())
    assert re.search(r"transactions .* 30 days", text(get(collector, "/collector").text))


def test_the_charts_are_of_the_time_in_the_address(collector: Collector) -> None:
    hour, day = (get(collector, f"/collector.json?time=last {time}").json()["charts"] for time in ("1h", "1d"))
    assert [chart["title"] for chart in hour] == ["Spans", "Behind by"]
    assert (hour[0]["step_s"], day[0]["step_s"]) == (60, 900)
    assert all(len(chart["series"][0]["values"]) in (60, 61, 62, 96, 97) for chart in (*hour, *day))
    assert get(collector, "/collector?time=nonsense").status_code == 400
    assert get(collector, "/collector.json?time=1d").json()["charts"][0]["step_s"] == day[0]["step_s"]
    assert get(collector, "/collector?time=1x").status_code == 400
