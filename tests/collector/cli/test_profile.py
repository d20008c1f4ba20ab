"""`walltime profile` against a collector: what it prints and writes is what the API answers."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from walltime_collector.cli.profile.pprof import PprofProfile
from walltime_collector.format import iso_time

from tests import servers
from tests.collector.cli.command import assert_one_sentence, run
from tests.collector.conftest import Collector
from tests.servers import over_http

KIND = "GET /product/{id}"
PROGRAM = Path(__file__).with_name("sampled_program.py")


def api(collector: Collector, **params: str) -> Any:
    return collector.get(f"/api/profile?{urlencode({'kind': KIND, **params})}")[1]


def test_the_command_prints_the_tree_and_writes_the_files(collector: Collector, tmp_path: Path) -> None:
    speedscope, pprof = tmp_path / "speedscope.json", tmp_path / "profile.pb.gz"
    files = ("--speedscope", str(speedscope), "--pprof", str(pprof))
    done = run("profile", "get /product", "--url", collector.url, *files)
    assert (done.returncode, done.stderr) == (0, "")
    sent = [each for each in collector.sent if each.name == KIND]
    assert f"{KIND}  shop   {len(sent)} transactions, " in done.stdout
    for component in ("mysql.query", "memcache.get", "render", "other", "to_json (shop/serializers.py:88)"):
        assert component in done.stdout
    samples = sum(each.count for one in sent for each in one.samples)
    assert samples > 5
    assert f"from {samples} samples." in done.stdout
    parts_ns = sum(each["time_ns"] for each in api(collector)["parts"])
    assert json.loads(speedscope.read_bytes())["profiles"][0]["endValue"] == parts_ns
    read_back = PprofProfile.FromString(gzip.decompress(pprof.read_bytes()))
    assert [sum(each.value[at] for each in read_back.sample) for at in (0, 1)] == [samples, parts_ns]


def test_json_is_the_answer_of_the_api_and_options_choose(collector: Collector) -> None:
    window = ("--during", "2026-11-01..now")
    for options, params in (((), {}), (("--state", "lock"), {"state": "lock"})):
        printed = json.loads(run("profile", KIND, "--json", "--url", collector.url, *window, *options).stdout)
        answered = api(collector, during="2026-11-01..now", **params)
        assert {**printed, "until": ""} == {**answered, "until": ""}
        assert {each["state"] for each in printed["stacks"]} <= ({"lock"} if options else {"lock", "computing", "gil"})
    none = run("profile", KIND, "--where", "host = nowhere", "--url", collector.url)
    assert_one_sentence(none, 1, "is stored of this time and these filters")


def test_what_is_wrong_is_said_in_one_sentence(collector: Collector, tmp_path: Path) -> None:
    for arguments, status, expected in (
        (("GET /nowhere",), 1, "no transaction 'GET /nowhere' is stored"),
        ((KIND, "--since", "soon"), 2, "--since"),
        ((KIND, "--during", "soon"), 2, "--during"),
        ((KIND, "--where", "duration >"), 2, "duration >"),
        ((KIND, "--pprof", str(tmp_path / "no" / "file")), 1, "cannot be written: No such file"),
    ):
        assert_one_sentence(run("profile", *arguments, "--url", collector.url), status, expected)
    assert collector.get("/api/profile")[0] == 400


def are_stored(receiver: servers.Collector, transactions: int) -> bool:
    counting = {"sql": "SELECT count() FROM transactions WHERE service = 'sampled'"}
    return bool(over_http("POST", f"{receiver.web_url}/api/sql", json=counting).json()["rows"] == [[transactions]])


@pytest.mark.nightly
def test_lines_of_a_real_program_are_in_every_answer(receiver: servers.Collector) -> None:
    windows = []
    for name in ("usual", "slow"):
        started = iso_time(time.time_ns())
        command = [sys.executable, str(PROGRAM), receiver.otlp_url, name]
        subprocess.run(command, env={**os.environ, "WALLTIME_SAMPLE_HZ": "100"}, check=True, timeout=120)
        windows.append(f"{started[:23]}Z..{iso_time(time.time_ns())[:23]}Z")
        servers.eventually(partial(are_stored, receiver, 200 * len(windows)))
    url = ("--url", receiver.web_url)
    profile = json.loads(run("profile", "GET /report", "--during", windows[1], "--json", *url).stdout)
    lines = [each for each in profile["lines"] if each["function"] == "to_json"]
    assert {each["state"] for each in lines} <= {"computing", "cpu", "gil"}  # the machine may be busy
    assert ("pause", "sleep") in {(each["function"], each["state"]) for each in profile["lines"]}
    assert {each["line"].rpartition(":")[0][-18:] for each in lines} == {"sampled_program.py"}
    assert sum(each["time_ns"] for each in profile["lines"]) <= profile["total_ns"]
    assert profile["coverage"]["share"] > 0.5
    why = json.loads(run("why", "GET /report", "--during", windows[1], "--against", windows[0], "--json", *url).stdout)
    assert re.search(r"other, in no measured call: .*`[^`]*sampled_program\.py[:\d]* to_json`", why["headline"])
    assert re.search("computing|waiting for (a CPU|the GIL)", why["headline"])
    longest = (
        "SELECT hex(trace_id) FROM transactions WHERE has(sample.function, 'to_json') ORDER BY duration_ns DESC LIMIT 1"
    )
    found = over_http("POST", f"{receiver.web_url}/api/sql", json={"sql": longest}).json()
    shown = run("show", found["rows"][0][0], *url).stdout
    assert re.search(r"sampled lines\n +other +\S*sampled_program.py:\d+ (to_json|pause) +\d", shown)
