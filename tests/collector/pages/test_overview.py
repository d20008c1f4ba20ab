"""The overview: the first start, what its charts and its table show, and the part of the time that stands out."""

from __future__ import annotations

import time

import pytest
from walltime_collector.format import iso_time
from walltime_collector.pages.charts import by_component, failures, percentiles, rate
from walltime_collector.query.scoped.outlier import outlier_over_time
from walltime_collector.query.timeline import ComponentTimeline, Timeline

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.pages.conftest import Browser
from tests.collector.traffic import MS, Sent, SentCall

S = 1_000_000_000


def made(transactions: list[int], mean_ms: list[int], errors: list[int] | None = None, last_s: float = 10) -> Timeline:
    """Ten seconds a step; half of the time is in one component."""
    time_ns = tuple(n * ms * MS for n, ms in zip(transactions, mean_ms, strict=True))
    half = tuple(each // 2 for each in time_ns)
    p_ns = tuple(ms * MS if n else None for n, ms in zip(transactions, mean_ms, strict=True))
    seconds = (10.0,) * (len(transactions) - 1) + (last_s,)
    components = (ComponentTimeline("mysql.query", tuple(transactions), half),)
    failed = tuple(errors or [0] * len(transactions))
    return Timeline(0, 10, tuple(transactions), failed, time_ns, half, p_ns, p_ns, p_ns, components, 1, 2, 3, seconds)


@pytest.fixture(scope="module")
def slow_traffic(store: Store) -> None:
    """200 transactions, one a second, the first one ten minutes ago; 20 of them are slow."""
    started_ns = time.time_ns() - 10 * MINUTE_NS
    sent = []
    for at in range(200):
        duration_ns = (90 if 100 <= at < 120 else 20) * MS
        each = Sent(f"{at + 1:032x}", f"{at + 1:016x}", "GET /", started_ns + at * S, duration_ns)
        each.calls = [SentCall("mysql.query", 0, duration_ns - 10 * MS)]
        sent.append(each)
    store(sent)


def test_a_first_start_shows_how_to_begin_and_turns_into_the_overview(
    browser: Browser, request: pytest.FixtureRequest
) -> None:
    empty = browser.get("/?time=last+20m")
    assert "walltime.instrument()" in empty.text
    assert "data-live" in empty.text, "it is fetched again by itself"
    assert browser.get("/.json?time=last+20m").json()["is_first_start"]

    request.getfixturevalue("slow_traffic")
    page = browser.get("/?time=last+21m")
    assert "Where the time goes" in page.text
    assert "walltime.instrument()" not in page.text


@pytest.mark.usefixtures("slow_traffic")
def test_what_is_selected_is_what_the_table_is_about_and_not_the_charts(browser: Browser) -> None:
    whole = browser.get("/.json?time=last+30m").json()
    during = f"{iso_time(time.time_ns() - 10 * MINUTE_NS + 100 * S)}..{iso_time(time.time_ns() - 5 * MINUTE_NS)}"
    selected = browser.get("/.json", params={"time": "last 30m", "during": during}).json()

    assert whole["top"]["transactions"] == 200
    assert 0 < selected["top"]["transactions"] < 200
    assert selected["outlier"] is None
    counts = [sum(1 for value in chart["series"][0]["values"] if value is not None) for chart in whole["charts"]]
    assert counts == [
        sum(1 for value in chart["series"][0]["values"] if value is not None) for chart in selected["charts"]
    ]
    page = browser.get("/", params={"time": "last 30m", "during": during}).text
    assert "data-live" not in page
    assert "In the selection:" in page


@pytest.mark.usefixtures("slow_traffic")
def test_another_time_is_empty_without_being_a_first_start(browser: Browser) -> None:
    page = browser.get("/?time=3d..2d")
    assert page.status_code == 200
    assert "Nothing is stored for this time" in page.text
    assert "walltime.instrument()" not in page.text


@pytest.mark.parametrize("params", ["by=name", "show=all", "limit=0", "limit=1001", "limit=x"])
def test_its_own_parameters_are_checked(browser: Browser, params: str) -> None:
    assert browser.get(f"/.json?{params}").json()["error"]["where"] == params.partition("=")[0]


def test_charts_have_gaps_where_nothing_is_stored_and_no_rate_for_a_step_that_has_only_begun() -> None:
    known = made([10, 0, 30, 5], [20, 0, 40, 20], [0, 0, 3, 0], last_s=1.0)

    assert rate(known).series[0].values == (1.0, None, 3.0, None)
    assert rate(known).series[0].whole == 2.0  # of the two steps that have a rate
    assert failures(known).series[0].values == (0.0, None, 0.1, 0.0)
    assert percentiles(known).series[2].values == (20 * MS, None, 40 * MS, 20 * MS)
    mean = by_component(known)
    assert [each.name for each in mean.series] == ["mysql.query", "other"]
    assert mean.series[0].values == (10 * MS, None, 20 * MS, 10 * MS)
    total = by_component(known, each_second=True)
    assert (total.series[0].values, total.series[0].whole) == ((10 * MS, None, 60 * MS, None), 35 * MS)


def test_the_slow_part_stands_out_and_a_steady_time_has_none() -> None:
    usual = [20, 21, 19, 20, 22, 20, 19, 21, 20, 20]
    slow = outlier_over_time(made([50] * 10, [*usual[:6], 90, 80, *usual[8:]]))

    assert slow is not None
    assert (slow.start_ns, slow.end_ns, slow.mean_ns) == (60 * S, 80 * S, 85 * MS)
    assert outlier_over_time(made([50] * 10, usual)) is None
    assert outlier_over_time(made([0] * 10, usual)) is None
