"""`walltime status` and `walltime doctor` on real collectors, with and without problems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from walltime_collector.cli import app

from tests.collector.clickhouse.spans import pairs, request, span
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
    "servers",
    "incidents",
    "applications",
    "send",
    "find",
    "compare",
    "once",
]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    directory = tmp_path_factory.mktemp("doctor")
    settings = {"ingest_token": INGEST, "read_token": READ, "admin_token": ADMIN, "retention_transactions_days": "20"}
    with Collector(directory / "data", slow_log=str(directory / "slow.log"), **settings) as running:
        yield running


def walltime(collector: Collector, *options: str, token: str = ADMIN, ingest: str = INGEST) -> tuple[int, str, str]:
    environment = {
        "WALLTIME_TOKEN": token,
        "WALLTIME_INGEST_TOKEN": ingest,
        "WALLTIME_URL": collector.web_url,
        "COLUMNS": "300",
    }
    ended = CliRunner().invoke(app, options, env=environment, catch_exceptions=False)
    return ended.exit_code, ended.stdout, ended.stderr


def examined(collector: Collector, **tokens: str) -> tuple[int, dict[str, Any]]:
    code, shown, _ = walltime(collector, "doctor", "--json", **tokens)
    document = json.loads(shown)
    return code, {step["name"]: step for step in document["steps"]}


def test_an_unreadable_slow_log_fails_and_the_other_checks_run(collector: Collector) -> None:
    eventually(lambda: any(report(collector)["slow_logs"].values()))
    code, steps = examined(collector)
    assert code == 1
    assert [name for name, step in steps.items() if not step["is_ok"]] == ["slow logs"]
    assert "does not exist yet" in steps["slow logs"]["message"]
    assert list(steps) == STEPS
    logged = [json.loads(line) for line in collector.log().splitlines()]
    assert [line["logger"] for line in logged if "does not exist yet" in line["message"]] == [
        "walltime_collector.observe.slowlog.reader"
    ]
    Path(collector.directory.parent / "slow.log").touch()


def test_the_canary_is_stored_as_sent_and_every_check_has_its_duration(collector: Collector) -> None:
    Path(collector.directory.parent / "slow.log").touch()
    eventually(lambda: not any(report(collector)["slow_logs"].values()))
    code, steps = examined(collector)
    assert list(steps) == STEPS
    assert [step["message"] for step in steps.values() if not step["is_ok"]] == []
    assert code == 0
    assert all(step["took_s"] >= 0 for step in steps.values())
    code, shown, _ = walltime(collector, "doctor")
    assert code == 0
    assert json.loads(walltime(collector, "top", "--json")[1])["kinds"] == []  # nobody's transactions
    assert json.loads(walltime(collector, "top", "--json", "--service", "walltime.doctor")[1])["transactions"] >= 2
    assert [line[:6] for line in shown.splitlines()] == ["OK    "] * len(STEPS) + ["OK: al"]


def report(collector: Collector) -> dict[str, Any]:
    shown: dict[str, Any] = over_http(
        "GET", f"{collector.web_url}/healthz", headers={"authorization": f"Bearer {ADMIN}"}
    ).json()
    return shown


def test_a_wrong_token_fails_the_check_that_needs_it(collector: Collector) -> None:
    code, steps = examined(collector, token="wrong-wrong-wrong-wrong")
    assert (code, list(steps)) == (1, ["collector"])
    assert "WALLTIME_TOKEN" in steps["collector"]["what_now"]
    code, steps = examined(collector, ingest="wrong-wrong-wrong-wrong")
    assert (code, list(steps)[-1]) == (1, "send")
    assert "WALLTIME_INGEST_TOKEN" in steps["send"]["what_now"]
    code, shown, _ = walltime(collector, "doctor", "--url", "http://127.0.0.1:9")
    assert code == 1
    assert "FAIL" in shown
    assert "start `walltime serve`" in shown


def test_losses_of_applications_are_shown_by_service(collector: Collector) -> None:
    for instance, lost in (("a", 3), ("b", 4), ("a", 5)):  # since each began: 5 and 4
        resource = {"service.name": "shop", "service.instance.id": instance}
        body = request(span({"walltime.schema": 1}), resource=resource)
        counters = {"walltime.lost.queue_full": lost, "walltime.outside.calls": 1, "walltime.outside.wsgi.bottle": 1}
        scope = body.resource_spans[0].scope_spans[0].scope
        scope.attributes.extend(pairs({**counters, "another": 7, "walltime.text": "x"}))
        assert collector.send(body.SerializeToString(), authorization=f"Bearer {INGEST}").status_code == 200

    def losses() -> dict[str, int]:
        shown = json.loads(walltime(collector, "status", "--json")[1])["sdk_losses"]
        return {loss["what"]: loss["count"] for loss in shown if loss["service"] == "shop"}

    eventually(lambda: report(collector)["spans"]["spooled"] == 0)
    assert losses() == {"lost.queue_full": 9, "outside.calls": 2, "outside.wsgi.bottle": 2}
    shown = walltime(collector, "status")[1]
    assert "shop lost 9 transactions on its side, queue full (2 processes, since they began)" in shown
    assert "shop made 2 calls outside of any transaction, on no bill (2 processes" in shown
    assert "shop made 2 of its calls outside of any transaction in bottle (2 processes" in shown


def test_status_shows_the_spans_the_tables_and_their_retention(collector: Collector) -> None:
    body = request(*[span({"walltime.schema": 1}) for _ in range(7)], span({}), span({}, trace_id=b"short"))
    assert collector.send(body.SerializeToString(), authorization=f"Bearer {INGEST}").status_code == 200
    assert collector.send(b"\xff", authorization=f"Bearer {INGEST}").status_code == 400
    eventually(lambda: report(collector)["spans"]["spooled"] == 0)
    _, shown, _ = walltime(collector, "status", "--json")
    status = json.loads(shown)
    spans = status["spans"]
    assert spans["rejected"] == 1
    assert spans["received"] == sum(spans[name] for name in ("stored", "rejected", "spooled", "dead", "lost")) >= 9
    assert status["refused"]["undecodable"] == 1
    tables = {table["name"]: table for table in status["tables"]}
    assert tables["transactions"]["rows"] + tables["spans"]["rows"] == spans["stored"]
    assert (tables["transactions"]["retention_days"], tables["spans"]["retention_days"]) == (20, 7)
    assert tables["transactions"]["oldest"] <= tables["transactions"]["newest"]
    assert tables["transactions"]["compressed_bytes"] > 0
    code, shown, _ = walltime(collector, "status")
    assert code == 0
    assert "OK: data moves" in shown
    assert (
        f"received {spans['received']} = stored {spans['stored']} + rejected 1 + spooled 0 + dead 0 + lost 0" in shown
    )
    assert "undecodable 1" in shown
    assert "7 days" in shown
    assert "slow.log: followed" in shown  # a path, for the admin
    assert "slow.log" not in walltime(collector, "status", token=READ)[1]
