"""`walltime diff` against a collector: what it prints, its exit status, and that the API answers the same."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

import pytest

from tests.collector.cli.command import assert_one_sentence, run
from tests.collector.traffic import DATABASE, MS, Sent, SentCall, Value, export_request
from tests.servers import Collector, over_http

S = 10**9


@dataclass
class Deployed:
    """A collector with the transactions of version 1 of two kinds, and of version 2, in which `GET /slow` is slow."""

    collector: Collector
    during: str
    against: str
    short: str
    """So short that no kind has 10 transactions."""

    def diff(self, *arguments: str) -> tuple[int, str, str]:
        done = run("diff", "--url", self.collector.web_url, *arguments)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    rng, end_ns = random.Random(5), time.time_ns()
    middle_ns, start_ns = end_ns - 200 * S, end_ns - 600 * S
    sent = []
    for at in range(1_200):
        started_ns = start_ns + at * S // 2
        name, is_new = ("GET /slow", "GET /same")[at % 2], started_ns >= middle_ns
        query_ns = (16 if is_new and name == "GET /slow" else 10) * MS + rng.randrange(4 * MS)
        address, _, port = DATABASE.rpartition(":")
        server: dict[str, Value] = {"server.address": address, "server.port": int(port)}
        sent.append(
            Sent(
                f"{rng.getrandbits(128) | 1:032x}",
                f"{rng.getrandbits(64) | 1:016x}",
                name,
                started_ns,
                query_ns + MS,
                version="2" if is_new else "1",
                calls=[SentCall("mysql.query", 0, query_ns, server)],
            )
        )
    with Collector(tmp_path_factory.mktemp("diff") / "data") as collector:
        assert collector.send(export_request(sent)).status_code == 200
        while over_http("GET", f"{collector.web_url}/healthz").json()["spans"]["stored"] < len(sent):
            time.sleep(0.05)
        iso = [
            f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ns // S))}.{ns % S:09d}Z"
            for ns in (start_ns, middle_ns, middle_ns + 8 * S)
        ]
        yield Deployed(collector, f"{iso[1]}..now", f"{iso[0]}..{iso[1]}", f"{iso[1]}..{iso[2]}")


def test_it_prints_what_is_slower_and_by_which_component(deployed: Deployed) -> None:
    status, out, _ = deployed.diff("--during", deployed.during, "--against", deployed.against)
    assert status == 0
    lines = out.splitlines()
    assert "now" in lines[0]
    assert "usual" in lines[1]
    (slower,) = [at for at, line in enumerate(lines) if line.startswith("slower")]
    assert "GET /slow  shop   13" in lines[slower]
    assert "mysql.query  +6" in lines[slower + 1]
    assert "GET /same" not in out
    assert "1 other kind: no difference beyond chance." in out


def test_the_exit_status_is_1_only_when_a_kind_is_slower_by_so_much(deployed: Deployed) -> None:
    times = ["--during", deployed.during, "--against", deployed.against]
    status, out, error = deployed.diff(*times, "--fail-if-slower", "10%")
    assert (status, out.count("GET /slow")) == (1, 1)
    assert "1 kind is slower by 10 % or more, beyond chance: GET /slow shop +4" in error
    assert deployed.diff("--version", "1", "2", "--fail-if-slower", "10%")[0] == 1
    assert deployed.diff(*times, "--fail-if-slower", "90%")[0] == 0
    assert deployed.diff(*times, "--fail-if-slower", "10%", "--where", "kind = 'GET /same'")[0] == 0
    assert deployed.diff("--version", "2", "1", "--fail-if-slower", "10%")[0] == 0
    status, out, _ = deployed.diff(*times, "--fail-if-slower", "10", "--json")
    assert (status, json.loads(out)["tested"]) == (1, 2)


def test_too_few_transactions_and_none_have_a_message(deployed: Deployed) -> None:
    status, out, error = deployed.diff("--during", deployed.short, "--against", deployed.against)
    assert (status, error) == (0, "")
    assert "Nothing could be compared." in out
    status, _, error = deployed.diff("--during", deployed.short, "--fail-if-slower", "5%")
    assert status == 1
    assert "nothing could be compared: no kind has 10 transactions on both sides" in error
    done = run("diff", "--url", deployed.collector.web_url, "--version", "2", "3", "--fail-if-slower", "5%")
    assert_one_sentence(done, 1, "no transaction of version 3 started between")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fail-if-slower", "soon"], "'soon' is not a percentage above 0"),
        (["--fail-if-slower", "0%"], "is not a percentage above 0"),
        (["--version", "1", "1"], "two different versions are needed"),
        (["--version", "1", "2", "--when", "error"], "either versions or conditions"),
        (["--against-when", "error"], "--against-when"),
        (["--when", "colour = red"], "'colour' is no field"),
        (["--during", "5m..1h"], "ends before it starts"),
        (["--since", "soon"], "is not a time to look back"),
    ],
)
def test_a_wrong_question_has_exit_status_2(deployed: Deployed, arguments: list[str], message: str) -> None:
    assert_one_sentence(run("diff", "--url", deployed.collector.web_url, *arguments), 2, message)


def test_the_command_prints_the_answer_of_the_api(deployed: Deployed) -> None:
    during = deployed.during.replace("..now", "..") + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    status, out, _ = deployed.diff("--during", during, "--against", deployed.against, "--json")
    params = {"during": during, "against": deployed.against, "limit": 20}
    answer = over_http("GET", f"{deployed.collector.web_url}/api/diff?{urlencode(params)}").json()
    assert (status, json.loads(out)) == (0, answer)
    assert [(each["name"], each["change"]) for each in answer["kinds"]] == [
        ("GET /slow", "slower"),
        ("GET /same", "chance"),
    ]
