"""The page of the differences: the answer of the API, its links, its empty states, and what contradicts itself."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.by_day import by_day
from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.pages.conftest import Browser
from tests.collector.pages.elements import Page
from tests.collector.traffic import MS, Sent, SentCall

S = 1_000_000_000
NEW = 'a "2" \\'
"""A version that must be quoted in a condition."""


@pytest.fixture(scope="module")
def changed_ns(store: Store) -> int:
    """20 minutes of version 1, then 10 of version 2, in which `GET /slow` is slower; version 1 goes on beside it."""
    rng, now_ns = random.Random(7), time.time_ns()
    changed = now_ns - 10 * MINUTE_NS
    sent = []
    for at_ns in range(now_ns - 30 * MINUTE_NS, now_ns - S, 2 * S):
        for name in ("GET /slow", "GET /same"):
            is_new = at_ns >= changed and rng.random() < 0.7
            duration_ns = (20 if is_new and name == "GET /slow" else 10) * MS + rng.randrange(3 * MS)
            sent.append(
                Sent(
                    f"{rng.getrandbits(127) + 1:032x}", f"{rng.getrandbits(63) + 1:016x}", name, at_ns, duration_ns,
                    version=NEW if is_new else "1", calls=[SentCall("mysql.query", 0, duration_ns - 8 * MS)],
                )
            )  # fmt: skip
    store(sent)
    return changed


def page_and_model(browser: Browser, params: Mapping[str, str]) -> tuple[str, Any]:
    page, model = browser.get("/diff", params=params), browser.get("/diff.json", params=params)
    assert (page.status_code, model.status_code) == (200, 200)
    return page.text, model.json()


def times(changed_ns: int) -> dict[str, str]:
    since, changed, until = (changed_ns // S + seconds for seconds in (-1_200, 0, 500))
    during, against = (
        "..".join(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(each)) for each in window)
        for window in ((changed, until), (since, changed))
    )
    return {"during": during, "against": against}


def test_before_anything_is_stored_it_shows_how_to_begin(browser: Browser, request: pytest.FixtureRequest) -> None:
    page, model = page_and_model(browser, {})
    assert model["is_first_start"]
    assert "walltime.instrument()" in page
    request.getfixturevalue("changed_ns")
    assert not page_and_model(browser, {"time": "last 59m"})[1]["is_first_start"]


def test_it_has_the_answer_of_the_api_and_the_overview_leads_to_it(browser: Browser, changed_ns: int) -> None:
    page, model = page_and_model(browser, times(changed_ns))
    answer = browser.get("/api/diff", params=times(changed_ns)).json()
    assert model["answer"] == answer
    assert [(each["name"], each["change"]) for each in answer["kinds"]] == [
        ("GET /slow", "slower"),
        ("GET /same", "chance"),
    ]
    text = " ".join(Page(page).text.split())
    assert "1 kind changed beyond chance" in text
    assert "mysql.query +" in text
    assert "1 other kind: no difference beyond chance." in text
    overview = unescape(browser.get("/", params={"during": times(changed_ns)["during"]}).text)
    assert f'href="/diff?{urlencode({"during": times(changed_ns)["during"]}, safe=":.")}"' in overview


def test_every_link_of_the_page_leads_to_a_page(browser: Browser, changed_ns: int) -> None:
    page, _ = page_and_model(browser, times(changed_ns))
    links = {each["href"] for each in Page(page).all("a") if each["href"].startswith("/")}
    assert len(links) > 15
    assert {each: status for each in links if (status := browser.get(each).status_code) != 200} == {}


def test_a_time_is_compared_with_what_is_before_or_beside_it(browser: Browser, changed_ns: int) -> None:
    """As much time before; of a selection the longer part of `time` beside it."""
    (_, whole), (_, selected) = (
        page_and_model(browser, {"time": times(changed_ns)["during"]}),
        page_and_model(browser, {"time": "last 30m", "during": "5m..2m"}),
    )
    assert [each["change"] for each in whole["answer"]["kinds"]] == ["slower", "chance"]
    assert whole["answer"]["usual"]["until"] == whole["answer"]["now"]["since"]
    usual = selected["answer"]["usual"]
    assert usual["until"] == selected["answer"]["now"]["since"]
    assert usual["transactions"] == pytest.approx(25 * 60, rel=0.1)


@pytest.mark.parametrize(
    "params",
    by_day(
        [
            {"version": NEW, "against_version": "1"},
            {"when": "version != 1"},
            {"when": "version != 1", "against_when": "version = 1", "where": "mysql.query.calls > 0"},
            {},
        ],
        2,
    ),
)
def test_why_on_the_page_of_the_kind_compares_the_same_transactions(
    browser: Browser, changed_ns: int, params: dict[str, str]
) -> None:
    page, model = page_and_model(browser, {"time": times(changed_ns)["during"], **params})
    (difference, *_) = model["answer"]["kinds"]
    assert difference["name"] == "GET /slow"
    of_slow = [each["href"] for each in Page(page).all("a") if "/kinds/shop/GET%20%2Fslow" in each["href"]]
    of_kind, of_why = of_slow
    path, _, query = of_why.partition("?")
    why = browser.get(f"{path}.json?{query}&part=why").json()["explanation"]["why"]
    sides = [why["usual"]["transactions"], why["slow"]["transactions"]]
    assert sides == [difference["usual"]["transactions"], difference["now"]["transactions"]]
    path, _, query = of_kind.partition("?")
    whole_steps = browser.get(f"{path}.json?{query}").json()["durations"]["transactions"]
    assert whole_steps == pytest.approx(sides[1], abs=5)


@pytest.mark.usefixtures("changed_ns")
def test_a_side_without_transactions_says_what_to_do(browser: Browser) -> None:
    page, model = page_and_model(browser, {"time": "last 10m", "against": "3d..2d"})
    assert model["answer"] is None
    assert "no transaction started between" in model["problem"]
    links = [each["href"] for each in Page(page).all("a")]
    examples = [each for each in links if each.startswith("/diff?") and "against=" in each]
    assert any("15m..now" in each for each in examples)
    assert all(browser.get(each).status_code == 200 for each in examples)


@pytest.mark.usefixtures("changed_ns")
@pytest.mark.parametrize(
    ("params", "where"),
    [
        ({"against_version": "1"}, "version"),
        ({"version": "1", "against_version": "1"}, "version"),
        ({"version": "2", "against_version": "1", "when": "error"}, "when"),
        ({"version": "2", "against_version": "1", "against": "2h..1h"}, "against"),
        ({"against_when": "error"}, "against_when"),
        ({"when": "colour = red"}, "where"),
        ({"during": "10m..5m", "against": "8m..2m"}, "against"),
    ],
)
def test_a_wrong_question_is_explained_above_the_form_that_still_has_it(
    browser: Browser, params: dict[str, str], where: str
) -> None:
    assert browser.get("/diff.json", params=params).json()["error"]["where"] == where
    page = browser.get("/diff", params=params)
    assert page.status_code == 400
    fields = {each["name"]: each.get("value", "") for each in Page(page.text).all("input")}
    assert {name: fields[name] for name in params} == params
