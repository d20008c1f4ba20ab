"""`walltime status` and `walltime doctor` against real collectors: well ones, and ones that are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from walltime_collector.cli import app

from tests.collector.test_schema import pairs, request, span
from tests.servers import Collector, eventually, over_http

INGEST, READ, ADMIN = "ingest-9f1c0de5aa77", "read-2b7e151628aed2", "admin-a6abf7158809cf"
STEPS = [
    "collector",
    "data moves",
    "version",
    "clock",
    "disk",
    "database",
    "slow logs",
    "applications",
    "send",
    "find",
    "compare",
    "once",
]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    directory = tmp_path_factory.mktemp("doctor")
    told = {"ingest_token": INGEST, "read_token": READ, "admin_token": ADMIN, "retention_transactions_days": "20"}
    with Collector(directory / "data", slow_log=str(directory / "slow.log"), **told) as running:
        yield running


def walltime(collector: Collector, *options: str, token: str = ADMIN, ingest: str = INGEST) -> tuple[int, str, str]:
    told = {
        "WALLTIME_TOKEN": token,
        "WALLTIME_INGEST_TOKEN": ingest,
        "WALLTIME_URL": collector.web_url,
        "COLUMNS": "300",
    }
    ended = CliRunner().invoke(app, options, env=told, catch_exceptions=False)
    return ended.exit_code, ended.stdout, ended.stderr


def examined(collector: Collector, **tokens: str) -> tuple[int, dict[str, Any]]:
    code, said, _ = walltime(collector, "doctor", "--json", **tokens)
    document = json.loads(said)
    return code, {step["name"]: step for step in document["steps"]}


def test_a_slow_log_that_cannot_be_read_is_ill_and_the_rest_is_looked_at_all_the_same(collector: Collector) -> None:
    eventually(lambda: any(report(collector)["slow_logs"].values()))
    code, steps = examined(collector)
    assert code == 1
    assert [name for name, step in steps.items() if not step["is_ok"]] == ["slow logs"]
    assert "does not exist yet" in steps["slow logs"]["said"]
    assert list(steps) == STEPS
    logged = [json.loads(line) for line in collector.log().splitlines()]
    assert [line["logger"] for line in logged if "does not exist yet" in line["message"]] == [
        "walltime_collector.slowlog.reader"
    ]
    Path(collector.directory.parent / "slow.log").touch()


def test_what_is_sent_comes_out_as_it_was_and_every_step_says_how_long_it_took(collector: Collector) -> None:
    Path(collector.directory.parent / "slow.log").touch()
    eventually(lambda: not any(report(collector)["slow_logs"].values()))
    code, steps = examined(collector)
    assert list(steps) == STEPS
    assert [step["said"] for step in steps.values() if not step["is_ok"]] == []
    assert code == 0
    assert all(step["took_s"] >= 0 for step in steps.values())
    code, said, _ = walltime(collector, "doctor")
    assert code == 0
    assert json.loads(walltime(collector, "top", "--json")[1])["kinds"] == []  # nobody's transactions
    assert json.loads(walltime(collector, "top", "--json", "--service", "walltime.doctor")[1])["transactions"] >= 2
    assert [line[:6] for line in said.splitlines()] == ["ok    "] * len(STEPS) + ["all is"]


def report(collector: Collector) -> dict[str, Any]:
    said: dict[str, Any] = over_http(
        "GET", f"{collector.web_url}/healthz", headers={"authorization": f"Bearer {ADMIN}"}
    ).json()
    return said


def test_a_wrong_token_is_found_at_the_step_that_needs_it(collector: Collector) -> None:
    code, steps = examined(collector, token="wrong-wrong-wrong-wrong")
    assert (code, list(steps)) == (1, ["collector"])
    assert "WALLTIME_TOKEN" in steps["collector"]["what_now"]
    code, steps = examined(collector, ingest="wrong-wrong-wrong-wrong")
    assert (code, list(steps)[-1]) == (1, "send")
    assert "WALLTIME_INGEST_TOKEN" in steps["send"]["what_now"]
    code, said, _ = walltime(collector, "doctor", "--url", "http://127.0.0.1:9")
    assert code == 1
    assert "ILL" in said
    assert "start `walltime serve`" in said


def test_what_applications_lost_on_their_side_is_shown_by_service(collector: Collector) -> None:
    for instance, lost in (("a", 3), ("b", 4), ("a", 5)):  # since each began: 5 and 4
        resource = {"service.name": "shop", "service.instance.id": instance}
        body = request(span({"walltime.schema": 1}), resource=resource)
        counters = {"walltime.lost.queue_full": lost, "walltime.outside.calls": 1, "another": 7, "walltime.text": "x"}
        body.resource_spans[0].scope_spans[0].scope.attributes.extend(pairs(counters))
        assert collector.send(body.SerializeToString(), authorization=f"Bearer {INGEST}").status_code == 200

    def losses() -> dict[str, int]:
        said = json.loads(walltime(collector, "status", "--json")[1])["sdk_losses"]
        return {loss["what"]: loss["count"] for loss in said if loss["service"] == "shop"}

    eventually(lambda: report(collector)["spans"]["spooled"] == 0)
    assert losses() == {"lost.queue_full": 9, "outside.calls": 2}
    said = walltime(collector, "status")[1]
    assert "shop lost 9 transactions on its side, queue full (2 processes, since they began)" in said
    assert "shop made 2 calls outside of any transaction" in said


def test_status_shows_the_books_the_tables_and_how_long_they_are_kept(collector: Collector) -> None:
    body = request(*[span({"walltime.schema": 1}) for _ in range(7)], span({}), span({}, trace_id=b"short"))
    assert collector.send(body.SerializeToString(), authorization=f"Bearer {INGEST}").status_code == 200
    assert collector.send(b"\xff", authorization=f"Bearer {INGEST}").status_code == 400
    eventually(lambda: report(collector)["spans"]["spooled"] == 0)
    _, said, _ = walltime(collector, "status", "--json")
    status = json.loads(said)
    spans = status["spans"]
    assert spans["rejected"] == 1
    assert spans["received"] == sum(spans[name] for name in ("stored", "rejected", "spooled", "dead", "lost")) >= 9
    assert status["refused"]["undecodable"] == 1
    tables = {table["name"]: table for table in status["tables"]}
    assert tables["transactions"]["rows"] + tables["spans"]["rows"] == spans["stored"]
    assert (tables["transactions"]["retention_days"], tables["spans"]["retention_days"]) == (20, 7)
    assert tables["transactions"]["oldest"] <= tables["transactions"]["newest"]
    assert tables["transactions"]["compressed_bytes"] > 0
    code, said, _ = walltime(collector, "status")
    assert code == 0
    assert "data moves" in said
    assert f"received {spans['received']} = stored {spans['stored']} + rejected 1 + spooled 0 + dead 0 + lost 0" in said
    assert "undecodable 1" in said
    assert "7 days" in said
    assert "slow.log: followed" in said  # a path, for the admin
    assert "slow.log" not in walltime(collector, "status", token=READ)[1]
