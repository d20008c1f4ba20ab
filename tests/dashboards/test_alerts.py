"""The examples of alert rules: what Grafana needs of them is there, and each asks its question and finds its case."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
import yaml
from walltime_collector.clickhouse.engine import Engine

from dashboards.build import ALERTS
from tests.collector.conftest import engine  # noqa: F401  # the fixture
from tests.dashboards.conftest import Grafana
from tests.dashboards.grafana import GENERATED
from tests.dashboards.made_up import insert, transaction

(GROUP,) = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
RULES = [pytest.param(rule, id=rule["uid"].removeprefix("walltime-")) for rule in GROUP["rules"]]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_asks_the_provisioned_source_and_compares_its_one_number(grafana: Grafana, rule: dict[str, Any]) -> None:
    source = GENERATED.parent / "provisioning" / "datasources" / "walltime.yaml"
    (provisioned,) = yaml.safe_load(source.read_text("utf-8"))["datasources"]
    asked, condition = rule["data"]
    assert asked["datasourceUid"] == asked["model"]["datasource"]["uid"] == provisioned["uid"]
    assert (condition["datasourceUid"], condition["model"]["expression"]) == ("__expr__", asked["refId"])
    assert rule["condition"] == condition["refId"]
    assert all(each["relativeTimeRange"]["from"] > each["relativeTimeRange"]["to"] == 0 for each in rule["data"])
    query = asked["model"]["rawSql"]
    assert "$" not in query, "rules have no variables, and Grafana replaces some when it reads the file"
    answer = grafana.ask_raw(query)
    texts = [name for name, kind in answer.columns.items() if "String" in kind]
    (number,) = set(answer.columns) - set(texts)
    assert re.search("Int|Float", answer.columns[number])
    assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= set(texts)


def test_each_rule_finds_its_case_and_only_that(engine: Engine) -> None:  # noqa: F811
    """A kind became slower, fails and lost its hits; a service is silent; data waits; an incident is open."""
    now_s = int(time.time()) // 60 * 60 - 60
    rows = [transaction(now_s - 85_500 - at, 10, hits=20) for at in range(60)]
    rows += [transaction(now_s - at, 100, hits=5, is_error=at % 3 == 0) for at in range(60)]
    rows += [transaction(now_s - at, 10, hits=20, name="GET /usual") for at in (*range(60), *range(85_500, 85_560))]
    rows += [transaction(now_s - 7_200 - 60 * at, 10, hits=0, service="gone") for at in range(40)]
    insert(engine, "transactions", rows)
    insert(engine, "walltime_health", [{"minute": now_s, "collector": "a", "host": "db1", "spool_oldest_s": 300}])
    incident = {"service": "shop", "name": "GET /", "severity": "critical", "is_open": True, "started_at": now_s}
    insert(engine, "incidents", [{"id": "1", **incident}, {"id": "2", **incident}])
    insert(engine, "incidents", [{"id": "2", **incident, "is_open": False}])
    fired = {}
    for rule in GROUP["rules"]:
        asked, condition = (each["model"] for each in rule["data"])
        ((limit,),) = (each["evaluator"]["params"] for each in condition["conditions"])
        found = [tuple(row.values()) for row in engine.query(asked["rawSql"], {})]
        fired[rule["uid"].removeprefix("walltime-")] = [row for row in found if row[-1] > limit]
    assert fired["p95"] == [("shop", "GET /", pytest.approx(10))]
    assert fired["errors"] == [("shop", "GET /", pytest.approx(1 / 3))]
    assert fired["hit-ratio"] == [("cache:11211", pytest.approx(1 - (5 + 20) / 40))]
    ((service, minutes),) = fired["silent"]
    assert (service, 120 <= minutes <= 123) == ("gone", True)
    assert fired["lag"] == [("db1", 300)]
    assert fired["incidents"] == [("shop", "GET /", "critical", 1)]
