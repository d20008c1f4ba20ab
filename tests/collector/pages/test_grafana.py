"""The link of a Grafana board leads to the page of the same time and filters."""

from __future__ import annotations

from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from walltime_collector.errors import BadParameter
from walltime_collector.pages.grafana import page
from walltime_collector.query.condition.parse import parse
from walltime_collector.query.windows import window

from tests.collector.pages.conftest import Browser

NOW_NS = 1_800_000_000 * 10**9
HOUR = "from=now-1h&to=now"


def leads_to(query: str) -> tuple[str, dict[str, str]]:
    address = urlsplit(page(parse_qs(query, keep_blank_values=True), NOW_NS))
    return address.path, dict(parse_qsl(address.query))


@pytest.mark.parametrize(
    ("query", "time"),
    [
        (HOUR, "last 1h"),
        ("from=now-90s&to=now", "last 90s"),
        ("from=now-2w&to=now", "last 14d"),
        ("from=1799996400000&to=1799999999500", "2027-01-15T07:00:00.000000000Z..2027-01-15T07:59:59.500000000Z"),
        ("from=now-2h&to=now-1h", "2027-01-15T06:00:00.000000000Z..2027-01-15T07:00:00.000000000Z"),
        (
            "from=2027-01-15T07:00:00.000Z&to=2027-01-15T07:30:00.000Z",
            "2027-01-15T07:00:00.000000000Z..2027-01-15T07:30:00.000000000Z",
        ),
    ],
)
def test_the_time_is_that_of_the_board_and_one_until_now_stays_live(query: str, time: str) -> None:
    path, params = leads_to(query)
    assert (path, params) == ("/", {"time": time})
    assert window("time", time, NOW_NS).length_ns > 0


def test_all_is_no_filter_one_value_is_one_and_several_are_a_condition() -> None:
    everything = "&var-service=All&var-kind=$__all&var-version=&var-filter=&var-datasource=x&var-walltime_url=y"
    assert leads_to(HOUR + everything) == ("/", {"time": "last 1h"})
    assert leads_to(f"{HOUR}&var-service=shop&var-filter=tier%3Dgold") == (
        "/",
        {"time": "last 1h", "service": "shop", "annotation": "tier=gold"},
    )
    path, params = leads_to(f'{HOUR}&var-service=a&var-service=b%5C"%20or%20error&var-kind=GET%20/&var-host=h1')
    assert (path, params["kind"], params["host"]) == ("/", "GET /", "h1")
    assert params["where"] == r'service in ("a", "b\\\" or error")'
    parse(params["where"])


def test_one_kind_leads_to_its_page_and_a_trace_id_to_its_transaction() -> None:
    assert leads_to(f"{HOUR}&var-service=shop&var-kind=GET%20/a%2Fb&var-version=7") == (
        "/kinds/shop/GET%20%2Fa%2Fb",
        {"time": "last 1h", "version": "7"},
    )
    traceparent = f"00-{'c' * 32}-00000000000000a1-01"
    assert leads_to(f"{HOUR}&var-trace_id={traceparent}") == (f"/transactions/{'c' * 32}", {})


def test_the_board_of_two_sides_leads_to_the_comparison_of_the_same_two() -> None:
    compared = f"{HOUR}&var-service=shop&var-kind=GET%20/&var-old_version=$__all&var-new_version=$__all&var-against="
    assert leads_to(f"{compared}0") == ("/diff", {"time": "last 1h", "service": "shop", "kind": "GET /"})
    path, params = leads_to(f"{compared}86400")
    assert (path, params["time"]) == ("/diff", "2027-01-15T07:00:00.000000000Z..2027-01-15T08:00:00.000000000Z")
    assert params["against"] == "2027-01-14T07:00:00.000000000Z..2027-01-14T08:00:00.000000000Z"
    path, params = leads_to(f"{HOUR}&var-against=3600&var-old_version=1&var-old_version=2&var-new_version=3")
    assert (path, params["time"], params["when"]) == ("/diff", "last 1h", 'version in ("3")')
    assert params["against_when"] == 'version in ("1", "2")'
    parse(params["against_when"])
    _, params = leads_to(f"{HOUR}&var-against=0&var-old_version=1")
    assert params["when"] == f"not ({params['against_when']})"
    parse(params["when"])
    with pytest.raises(BadParameter, match="is no number of seconds"):
        leads_to(f"{HOUR}&var-against=soon")


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(BadParameter, match="is no time of Grafana"):
        leads_to("from=yesterday&to=now")


def test_the_browser_arrives_at_the_page(browser: Browser, guarded: Browser) -> None:
    answer = browser.get(f"/grafana?{HOUR}&var-kind=All")
    assert (answer.status_code, answer.url.path, answer.url.params["time"]) == (200, "/", "last 1h")
    assert browser.get("/grafana?from=yesterday&to=now").status_code == 400
    assert guarded.get(f"/grafana?{HOUR}").status_code == 401
