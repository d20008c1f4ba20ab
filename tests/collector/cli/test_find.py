"""`walltime find` against a collector: what it prints, the next page, and --follow."""

from __future__ import annotations

import json
import select
import shlex
import subprocess

from tests import servers
from tests.collector.cli.command import WALLTIME, assert_one_sentence, run
from tests.collector.conftest import Collector
from tests.collector.query.showing import make
from tests.collector.traffic import export_request


def test_find_lists_transactions_and_names_the_next_page(collector: Collector) -> None:
    arguments = ["--url", collector.url, "--where", "duration > 1ms", "--sort", "mysql.time", "--limit", "5"]
    done = run("find", *arguments)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "mysql.time" in lines[0]
    assert any(each.trace_id[:12] in lines[1] for each in collector.sent)
    key = lines[-1].split("--after ")[1]
    assert "--where 'duration > 1ms'" in lines[-1]
    more = json.loads(run("find", *arguments, "--after", key, "--json").stdout)
    first = json.loads(run("find", *arguments, "--json").stdout)
    assert len(first["matches"]) == len(more["matches"]) == 5
    assert not {each["span_id"] for each in first["matches"]} & {each["span_id"] for each in more["matches"]}


def test_the_command_of_the_next_page_runs_as_it_is_printed(collector: Collector) -> None:
    done = run("find", "--url", collector.url, "--during", "last 24h", "--limit", "1")
    command = shlex.split(done.stdout.splitlines()[-1].removeprefix("next page: walltime "))
    more = run(*command, "--url", collector.url)
    assert more.returncode == 0, more.stderr
    assert more.stdout.splitlines()[1] != done.stdout.splitlines()[1]


def test_filters_take_part_of_a_name_and_an_empty_list_says_what_to_do(collector: Collector) -> None:
    found = json.loads(run("find", "--url", collector.url, "--kind", "GET /product", "--json").stdout)
    assert {each["name"] for each in found["matches"]} == {"GET /product/{id}"}
    assert "No transaction of this time matches" in run("find", "--url", collector.url, "--user", "nobody").stdout


def test_a_wrong_condition_is_one_sentence_with_the_position(collector: Collector) -> None:
    done = run("find", "--url", collector.url, "--where", "mysql.qeury.calls > 5")
    assert_one_sentence(done, 2, "position 1: 'mysql.qeury.calls' is no field; there is mysql.query.calls")


def test_follow_prints_what_arrives_one_document_a_line(receiver: servers.Collector) -> None:
    command = [str(WALLTIME), "find", "--url", receiver.web_url, "--follow", "--json", "--where", "kind = GET/arrived"]
    sent: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        try:
            while not select.select([following.stdout], [], [], 1)[0]:  # until its first look is over
                assert len(sent) < 60
                each = make("GET/arrived")
                sent.append(each.trace_id)
                body, headers = export_request([each]), {"Content-Type": "application/x-protobuf"}
                assert servers.over_http("POST", receiver.otlp_url, content=body, headers=headers).status_code == 200
            assert json.loads(following.stdout.readline())["trace_id"] in sent
        finally:
            following.terminate()
