"""How often a live page is computed, what its form suggests, and which counted problems change the verdict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.config.settings import Settings
from walltime_collector.health.counters import Health
from walltime_collector.health.status import status
from walltime_collector.http.authentication import Access
from walltime_collector.pages import shared_answers
from walltime_collector.sql.runner import QueryRunner
from walltime_collector.web.application import make_app

from tests.collector.conftest import Stored
from tests.collector.pages.conftest import Browser


def period_s(browser: Browser, path: str) -> int:
    found = re.search(r'data-live="(\d+)"', browser.get(path).text)
    return int(found[1]) if found else 0


@pytest.mark.parametrize(
    ("path", "few", "many"),
    [
        ("/", 10, 60),
        ("/?time=last+1d", 10, 60),
        ("/?time=last+15m", 10, 10),
        ("/?time=1h..now", 0, 0),
        ("/collector", 10, 10),
    ],
)
def test_a_long_time_with_very_many_transactions_is_computed_once_a_minute(
    shop: Stored, browser: Browser, monkeypatch: pytest.MonkeyPatch, path: str, few: int, many: int
) -> None:
    assert period_s(browser, path) == few
    monkeypatch.setattr(shared_answers, "_MANY_TRANSACTIONS", 100)
    assert period_s(browser, path) == many


def test_the_form_suggests_what_the_last_hour_has(shop: Stored, browser: Browser) -> None:
    values = browser.get("/suggestions.json").json()
    assert values["host"] == ["web-1"]
    assert values["service"] == sorted({each.service for each in shop.sent})
    assert values["kind"] == sorted({each.name for each in shop.sent})
    assert "500" in values["status"]
    page = browser.get("/").text
    assert 'hx-get="/suggestions"' in page
    for name in values:
        assert f'list="values-{name}"' in page
        assert f'<datalist id="values-{name}">' in browser.get("/suggestions").text


def test_problems_are_warnings_for_an_hour(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    health, settings = Health(), Settings(data=tmp_path)
    health.loader_failed("the database is away")
    health.loader_works()
    runner = QueryRunner(engine, "walltime")
    app = make_app(engine, health, runner, Access(settings), lambda: status(engine, health, settings, {}))
    recent = Browser(app).get("/collector.json?time=last+30m").json()
    monkeypatch.setattr(health, "ago_s", lambda _: 3_700.0)
    later = Browser(app).get("/collector.json?time=last+31m").json()
    runner.close()
    assert len(recent["since_start"]) == 1
    assert recent["earlier"] == []
    assert (later["since_start"], later["earlier"]) == ([], recent["since_start"])
