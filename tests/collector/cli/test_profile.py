"""`walltime profile` against a collector: what it prints and writes is what the API answers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from walltime_collector.cli.profile.pprof import PprofProfile

from tests.collector.cli.command import assert_one_sentence, run
from tests.collector.conftest import Collector

KIND = "GET /product/{id}"


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
