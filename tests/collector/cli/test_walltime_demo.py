"""`walltime demo`: synthetic requests of a shop, through a collector of its own, to the pages and the commands."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from walltime_collector.cli.demo.shop import DATABASE, RESTARTED, SERVICE, STORY, Shop
from walltime_collector.pages import urls

from tests.servers import eventually, over_http

WALLTIME = str(Path(sys.executable).with_name("walltime"))
S = 1_000_000_000
START_NS = 1_790_000_000 * S


@dataclass
class Demo:
    """A running demo."""

    process: subprocess.Popen[str]
    output: str
    url: str

    def page(self, path: str) -> str:
        response = over_http("GET", f"{self.url}{path}", headers={"accept": "text/html"})
        assert response.status_code == 200, path
        return response.text

    def api(self, path: str) -> Any:
        return over_http("GET", f"{self.url}/api/{path}").json()

    def sql(self, statement: str) -> list[list[Any]]:
        rows: list[list[Any]] = over_http("POST", f"{self.url}/api/sql", json={"sql": statement}).json()["rows"]
        return rows


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    """With settings in the environment, and a file of settings in its directory, that are of another collector."""
    (folder / "walltime.toml").write_text('clickhouse = "http://127.0.0.1:9"\n')
    (folder / "temporary").mkdir()
    environment = {
        **os.environ,
        "TMPDIR": str(folder / "temporary"),
        "WALLTIME_DATA": str(folder / "real"),
        "WALLTIME_CLICKHOUSE": "http://127.0.0.1:9",
        "WALLTIME_READ_TOKEN": "secret",
        "PYTHONUNBUFFERED": "1",
    }
    return subprocess.Popen(
        [WALLTIME, "demo", *options],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Runs until the tests of this file are over; then Ctrl-C ends it, and nothing of it is left."""
    folder = tmp_path_factory.mktemp("demo")
    with started(folder, "--grafana") as process:
        assert process.stdout is not None
        output = ""
        for line in process.stdout:
            output += line
            if "Ctrl-C ends the demo" in line:
                break
        try:
            url = re.search(r"^(http://127\.0\.0\.1:\d+)/  the pages$", output, re.MULTILINE)
            assert url is not None, output
            yield Demo(process, output, url[1])
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.stdout.read()
        assert process.wait(60) == 0, rest
        assert rest == ""
    assert list((folder / "temporary").iterdir()) == []
    assert not (folder / "real").exists()


def test_it_says_first_that_nothing_was_measured_and_then_where_the_pages_are(demo: Demo) -> None:
    first, _, second, *_ = demo.output.splitlines()
    assert "every request is synthetic" in first
    assert second == f"{demo.url}/  the pages"


def test_what_it_says_of_grafanas_data_source_is_enough_to_ask(demo: Demo) -> None:
    port = re.search(r"server address 127\.0\.0\.1, port (\d+), protocol HTTP, default database (\w+)", demo.output)
    assert port is not None, demo.output
    count = "SELECT count() FROM kinds_by_minute"
    answer = over_http("POST", f"http://127.0.0.1:{port[1]}/", params={"database": port[2]}, content=count)
    assert (answer.status_code, int(answer.text) > 0) == (200, True), answer.text
    assert demo.url in demo.output.partition("Walltime's pages are ")[2].split()


def test_why_names_the_cache_that_was_restarted(demo: Demo) -> None:
    story, answer = demo.output.split(f"\n$ walltime why '{STORY}' ")
    restarted = re.search(rf"^{RESTARTED} was restarted at (\S+Z), and was empty then\.$", story, re.MULTILINE)
    assert restarted is not None
    assert answer.startswith(f"--during {restarted[1]}..")
    headline = " ".join(answer.partition("where the difference comes from")[0].split())
    more = re.search(r"mysql\.query: ([\d.]+)× the calls \([\d. →]+\) at the usual speed", headline)
    assert more is not None, headline
    assert 4 <= float(more[1]) <= 7
    assert f"because memcache.get on {RESTARTED}:11211 hits " in headline
    assert "memcache02:11211 is unchanged" in headline
    assert not re.search(r"^  statement ", answer, re.MULTILINE)  # an effect of the cache
    assert "\n\n\n" not in answer


def test_the_commands_that_it_shows_can_be_copied(demo: Demo) -> None:
    shown = re.findall(r"^  (walltime .*)$", demo.output, re.MULTILINE)
    assert [each.split()[1] for each in shown] == ["top", "advise", "why"]
    for command in shown:
        done = subprocess.run(
            ["/bin/sh", "-c", command.replace("walltime", WALLTIME, 1)], check=True, capture_output=True
        )
        assert SERVICE in done.stdout.decode() or "Advice" in done.stdout.decode()


def test_every_page_has_something_to_show(demo: Demo) -> None:
    kinds = {each["name"]: each for each in demo.api("top?since=1h")["kinds"]}
    assert len(kinds) == 6
    ((trace_id,),) = demo.sql("SELECT lower(hex(trace_id)) FROM spans WHERE component = 'mysql.query' LIMIT 1")
    for path, shown in (
        (urls.overview(), STORY),
        (urls.kind(SERVICE, STORY), "Calls per transaction"),
        (urls.kind("demo-reports", "GET /report"), "to_csv"),
        (urls.transactions(), "GET /orders"),
        (urls.transaction(trace_id), "synthetic"),
        (urls.servers(), f"{RESTARTED}:11211"),
        (urls.server("mysql.query", DATABASE), "8.4.6"),
        (urls.statements(), "select * from item"),
        (urls.advice(), "shop/orders.py:24"),
        (urls.diff({"time": "last 15m", "during": "1m..", "against": "11m..2m"}), STORY),
        (urls.incidents(), "No incident"),
        (urls.collector(), "slow.log"),
        ("/sql", "transactions"),
    ):
        assert shown in demo.page(path), path


def test_advice_slow_log_and_samples_are_of_the_faults_that_the_shop_has(demo: Demo) -> None:
    categories = {each["category"] for each in demo.api("advice?since=1h")["advice"]}
    assert {"n_plus_one", "rows_examined", "row_locks", "missing_pool", "mostly_other"} <= categories
    logged = "SELECT count() AS n FROM slow_queries WHERE trace_id IN (SELECT trace_id FROM transactions)"
    assert demo.sql(logged)[0][0] > 20
    said = "SELECT sum(queries) FROM mysql_status"
    called = "SELECT sum(mysql_query_calls) FROM transactions"
    assert demo.sql(said)[0][0] == pytest.approx(demo.sql(called)[0][0], rel=0.1)


def test_requests_keep_coming_and_all_are_marked_as_synthetic(demo: Demo) -> None:
    received = demo.api("status")["spans"]["received"]
    eventually(lambda: demo.api("status")["spans"]["received"] > received)
    assert demo.sql("SELECT DISTINCT environment FROM transactions") == [["synthetic"]]


@pytest.mark.nightly  # starts another one
def test_a_second_demo_takes_free_ports(demo: Demo, tmp_path: Path) -> None:
    with started(tmp_path, "--once") as second:
        output, _ = second.communicate(timeout=200)
    assert second.returncode == 0, output
    assert f"{demo.url}/" not in output
    assert f"because memcache.get on {RESTARTED}:11211" in " ".join(output.split())


@pytest.mark.nightly  # starts another one
def test_ctrl_c_during_the_start_leaves_nothing_behind(tmp_path: Path) -> None:
    """As in a terminal: all processes of the session get it."""
    with started(tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        eventually(lambda: list(tmp_path.glob("temporary/walltime-demo-*/data/chdb")))
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()
    assert (process.returncode, rest.strip().partition("\n")[0][:7]) in ((0, ""), (0, "http://"))
    assert "Traceback" not in rest
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.nightly  # starts another one
def test_the_story_takes_few_seconds_of_cpu_time(tmp_path: Path) -> None:
    """6 s, of which the collector's start is half: on an idle machine the answer is there in less than 10 s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with started(tmp_path, "--once") as process:
        output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10


def test_the_same_seed_makes_the_same_requests_and_their_bills_add_up() -> None:
    bodies = []
    for _ in range(2):
        shop = Shop(START_NS, START_NS + 60 * S)
        requests = [*shop.requests(START_NS + 30 * S), *shop.requests(START_NS + 120 * S)]
        spans = [list(each.spans()) for each in requests]
        bodies.append([span.SerializeToString() for each in spans for span in each])
        for root, *calls in spans:
            bill = {each.key: each.value.int_value for each in root.attributes}
            times = [n for key, n in bill.items() if key.endswith(".time_ns") and key.count(".") == 3]
            assert sum(times) == bill["walltime.covered_ns"]
            assert bill["walltime.covered_ns"] <= root.end_time_unix_nano - root.start_time_unix_nano
            if calls:
                own = [
                    each.value.int_value for call in calls for each in call.attributes if each.key == "walltime.own_ns"
                ]
                assert sum(own) == bill["walltime.covered_ns"]
    assert bodies[0] == bodies[1]
