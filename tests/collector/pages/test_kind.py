"""The view of a kind: its numbers are those of the transactions, and a selected time is explained in place."""

from __future__ import annotations

import html
import json
import re
import time
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.format import count, duration, iso_time
from walltime_collector.pages import shared_answers, urls
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.explain import explain_kind
from walltime_collector.query.why.finding import Evidence, Finding

from tests.collector.conftest import Store
from tests.collector.pages.conftest import Browser
from tests.collector.simulated_shop import CACHE_1, CACHE_2, MINUTE_NS, USUAL, Page, simulate
from tests.collector.traffic import MS, Sent, SentCall, SentSample

SERVICE, NAME = "shop", "GET /product/{id}"
KIND = urls.kind(SERVICE, NAME)


@dataclass(frozen=True)
class Story:
    """An hour in which a cache was empty for four minutes."""

    start_ns: int
    slow_start_ns: int
    slow_end_ns: int
    end_ns: int

    @property
    def time(self) -> str:
        return f"{iso(self.start_ns)}..{iso(self.end_ns)}"

    @property
    def during(self) -> str:
        return f"{iso(self.slow_start_ns)}..{iso(self.slow_end_ns)}"


def iso(ns: int) -> str:
    return f"{iso_time(ns)[:19]}Z"


@pytest.fixture(scope="module")
def story(engine: Engine) -> Story:
    assert isinstance(engine, EmbeddedEngine)
    end_ns = time.time_ns() // MINUTE_NS * MINUTE_NS
    told = Story(end_ns - 60 * MINUTE_NS, end_ns - 20 * MINUTE_NS, end_ns - 16 * MINUTE_NS, end_ns)
    for seed, page, transactions, from_ns, until_ns in (
        (1, USUAL, 8_000, told.start_ns, told.slow_start_ns),
        (2, Page(hits_1=0.12), 800, told.slow_start_ns, told.slow_end_ns),
        (3, USUAL, 3_200, told.slow_end_ns, told.end_ns),
    ):
        simulate(engine, page, seed=seed, transactions=transactions, from_ns=from_ns, length_ns=until_ns - from_ns)
    simulate(
        engine, USUAL, seed=4, transactions=300, from_ns=told.start_ns, length_ns=60 * MINUTE_NS, name="GET /search"
    )
    return told


def text(page: str) -> str:
    """What a person reads."""
    page = re.sub(r"<script.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(page).split())


def get(browser: Browser, address: str, /, **params: str) -> str:
    response = browser.get(urls.address(address, params))
    assert response.status_code == 200
    return response.text


def parse(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def document(browser: Browser, **params: str) -> Any:
    return json.loads(get(browser, f"{KIND}.json", **params))


def explanation_address(page: str) -> str:
    """What the page loads after the charts."""
    found = re.search(r'<section id="why"[^>]* hx-get="([^"]+)"', page)
    assert found
    return html.unescape(found[1])


def test_the_numbers_of_a_kind_are_those_of_its_transactions(engine: Engine, browser: Browser, story: Story) -> None:
    (expected,) = engine.query(
        "SELECT count() AS transactions, sum(duration_ns) AS total_ns, max(duration_ns) AS max_ns, "
        "countIf(is_error) AS errors FROM transactions WHERE name = {name:String}",
        {"name": NAME},
    )
    page, answer = get(browser, KIND, time=story.time), document(browser, time=story.time)
    durations, heat = answer["durations"], answer["heat_map"]

    assert {name: durations[name] for name in expected} == expected
    assert sum(map(sum, heat["columns"])) == sum(heat["histogram"]) == expected["transactions"]
    assert len(heat["columns"]) == len(answer["charts"][0]["series"][0]["values"]) == 120
    assert len(heat["edges_ns"]) == len(heat["histogram"]) + 1
    assert answer["slowest"][0]["duration_ns"] == expected["max_ns"]
    assert f"transactions {count(expected['transactions'])} " in text(page)
    assert f"p95 {duration(durations['p95_ns'])}" in text(page)
    assert urls.server("memcache.get", CACHE_1, {"time": story.time}) in html.unescape(page)
    statement = answer["statements"][0]
    assert urls.statement(statement["fingerprint_id"], {"time": story.time}) in html.unescape(page)
    assert urls.transaction(answer["slowest"][0]["trace"], {"time": story.time}) in html.unescape(page)


def test_calls_per_transaction_and_time_per_call_multiply_to_the_time_of_a_component(
    browser: Browser, story: Story
) -> None:
    mean, calls, per_call = document(browser, time=story.time)["charts"]
    queries = [next(one for one in each["series"] if one["name"] == "mysql.query") for each in (mean, calls, per_call)]
    for mean_ns, number, call_ns in zip(*(each["values"] for each in queries), strict=True):
        assert mean_ns == pytest.approx(number * call_ns, rel=0.002)
    assert queries[1]["whole"] * queries[2]["whole"] == pytest.approx(queries[0]["whole"])


def test_the_slow_minutes_stand_out_and_one_link_explains_them(browser: Browser, story: Story) -> None:
    page = get(browser, KIND, time=story.time)
    link = re.search(r'<a class="button" href="([^"]+)">Why was it slow\?', page)
    assert link
    address = html.unescape(link[1])
    assert parse(address)["during"] == story.during

    selected = get(browser, address)
    assert "Slowest transactions" in text(selected)
    part = text(get(browser, explanation_address(selected)))
    assert "Why the selected time is slower" in part
    assert f"because memcache.get on {CACHE_1} hits 1" in part
    assert f"{CACHE_2} is unchanged" in part


def test_the_page_explains_as_the_api_does(browser: Browser, story: Story) -> None:
    whole, during = f"{iso(story.start_ns)}..{iso(story.slow_start_ns)}", story.during
    api = browser.get("/api/why", params={"kind": NAME, "service": SERVICE, "during": during, "against": whole}).json()
    page = document(browser, time=story.time, during=during, part="why")["explanation"]
    assert page["why"] == api  # computed once, also `computed_at`
    servers = next(each for each in api["shown"]["tables"] if each["title"] == "by server")
    assert servers["rows"][0]["component"] == "mysql.query"
    part = get(browser, KIND, time=story.time, during=during, part="why")
    for sentence in api["sentences"]:
        assert sentence in text(part)
    for example in (*api["slow_examples"], *api["usual_examples"]):
        assert f"/transactions/{example['trace_id']}" in part


def test_a_question_of_pages_and_programs_is_computed_once_in_ten_seconds(
    browser: Browser, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[Any] = []
    explain = explain_kind

    def counted(*args: Any) -> Why:
        computed.append(args)
        return explain(*args)

    monkeypatch.setattr(shared_answers, "explain_kind", counted)
    for percent in ("7", "9", "11", "13", "15"):  # the ten seconds may end in between
        computed.clear()
        program = browser.get("/api/why", params={"kind": NAME, "since": "2h", "slowest": percent}).json()
        page = document(browser, time="last 2h", slowest=percent, part="why")["explanation"]["why"]
        if len(computed) == 1:
            break
    assert page == program
    assert len(computed) == 1
    other = browser.get("/api/why", params={"kind": NAME, "since": "2h", "slowest": "8"}).json()
    assert (len(computed), other["slowest_percent"]) == (2, 8)


def test_the_slowest_are_explained_with_one_click_and_without_a_refresh_in_between(
    browser: Browser, story: Story
) -> None:
    page = get(browser, KIND, time=story.time)
    link = re.search(r'<a class="button" href="([^"]+)">Compare them with the others', page)
    assert link
    selected = get(browser, html.unescape(link[1]))
    assert "data-busy" in selected
    part = text(get(browser, explanation_address(selected)))
    assert "Why the slowest are slow" in part
    assert f"{NAME}: the slowest 5 % take" in part
    assert "Compared: 600 transactions of" in part


def test_filters_choose_the_transactions_that_are_explained(engine: Engine, browser: Browser, story: Story) -> None:
    (expected,) = engine.query(
        "SELECT countIf(is_error) AS failed FROM transactions WHERE name = {name:String}", {"name": NAME}
    )
    params = {"time": story.time, "status": "failed"}
    assert document(browser, **params)["durations"]["transactions"] == expected["failed"] > 2
    why = document(browser, **params, slowest="50", part="why")["explanation"]["why"]
    assert why["usual"]["transactions"] + why["slow"]["transactions"] == expected["failed"]


def test_each_sentence_with_evidence_can_be_checked_on_the_page(
    browser: Browser, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql, trace = "SELECT '<b>' AS side, count() AS n FROM transactions WHERE name = 'a&b' GROUP BY side", "ab" * 16
    explain = explain_kind

    def checkable(*args: Any) -> Why:
        why = explain(*args)
        return replace(why, findings=(Finding("value", why.sentences[1], evidence=Evidence(sql, {}, (trace,))),))

    monkeypatch.setattr(shared_answers, "explain_kind", checkable)
    page = get(browser, KIND, time=story.time, slowest="11", part="why")
    (check,) = re.findall(r'<details class="check">.*?</details>', page, flags=re.DOTALL)
    assert html.escape(sql, quote=False).replace("'", "&#39;") in check
    hrefs = [html.unescape(each) for each in re.findall(r'href="([^"]+)"', check)]
    assert parse(hrefs[0])["q"] == sql
    assert urlsplit(hrefs[1]).path == urls.transaction(trace)
    assert sql in html.unescape(get(browser, hrefs[0]))  # in the editor
    why = document(browser, time=story.time, slowest="11", part="why")["explanation"]["why"]
    assert page.index(html.escape(why["sentences"][1])[:40]) < page.index(check)
    assert re.search(r'Computed <time datetime="20\d\d-[^"]+Z">', page)


def test_a_selection_without_anything_to_compare_with_says_so(browser: Browser, story: Story) -> None:
    whole = text(get(browser, KIND, time=story.time, during=story.time, part="why"))
    assert "there is nothing before or after it to compare with" in whole
    overlapping = text(get(browser, KIND, time=story.time, during=story.during, against=story.time, part="why"))
    assert "overlap" in overlapping
    before = f"{iso(story.start_ns - 60 * MINUTE_NS)}..{iso(story.start_ns)}"
    empty = text(get(browser, KIND, time=story.time, during=story.during, against=before, part="why"))
    assert f"There is no transaction to compare with: no transaction '{NAME}' started between" in empty
    nothing = text(get(browser, KIND, time=story.time, during=before, part="why"))
    assert "No transaction is in the selection" in nothing


def test_a_kind_without_transactions_in_this_time_is_no_error_and_an_unknown_one_is(
    browser: Browser, story: Story
) -> None:
    before = f"{iso(story.start_ns - 60 * MINUTE_NS)}..{iso(story.start_ns)}"
    assert "Nothing is stored of this kind for this time" in text(get(browser, KIND, time=before))
    unknown = browser.get(urls.kind(SERVICE, "GET /prodct/{id}"))
    assert unknown.status_code == 404
    assert f"there is '{NAME}'" in text(unknown.text)
    for address in (urls.kind("other", NAME), f"{urls.kind(SERVICE, 'GET /nothing')}.json"):
        assert browser.get(address).status_code == 404


@pytest.mark.parametrize(
    ("params", "where"), [({"slowest": "few"}, "slowest"), ({"slowest": "80"}, "slowest"), ({"part": "all"}, "part")]
)
def test_a_wrong_parameter_is_named_in_place(browser: Browser, params: dict[str, str], where: str) -> None:
    refused = browser.get(urls.address(KIND, params))
    assert refused.status_code == 400
    assert f"where {where}" in text(refused.text)


def test_stored_names_stay_text(browser: Browser, store: Store) -> None:
    payload = "\"'><img src=x onerror=alert(1)>{{7*7}}</script><script>alert(2)</script>"
    now_ns = time.time_ns()
    sent = []
    for at in range(60):
        took_ns = (3 if at < 40 else 9) * MS
        said: dict[str, Any] = {"server.address": payload, "server.port": 1, "db.query.text": f"SELECT `{payload}`"}
        sent.append(
            Sent(
                f"{at + 1:032x}",
                f"{at + 1:016x}",
                payload,
                now_ns - (60 - at) * MINUTE_NS // 6,
                took_ns,
                service=payload,
                calls=[SentCall("mysql.query", 0, took_ns // 2, said), SentCall(payload, took_ns // 2, took_ns // 3)],
            )
        )
    store(sent)
    address = urls.kind(payload, payload)
    for params in (
        urls.NONE,
        {"during": "4m..now"},
        {"during": "4m..now", "part": "why"},
        {"slowest": "5", "part": "why"},
    ):
        page = get(browser, address, **params)
        assert "<img" not in page
        assert "alert(2)</script>" not in page
        assert "49" not in re.findall(r"alert\(1\)&gt;(\d+)", page)


def test_those_that_match_a_condition_are_compared_with_the_others(browser: Browser, story: Story) -> None:
    params = {"time": story.time, "when": "memcache.misses > 1"}
    page = get(browser, KIND, **params)
    assert "when=memcache" in explanation_address(page)
    shown = text(get(browser, KIND, **params, part="why"))
    why = document(browser, **params, part="why")["explanation"]["why"]
    assert "Those that match, compared with the others" in shown
    assert why["when"] == "memcache.misses > 1"
    assert why["sentences"][0].startswith(f"{NAME}: those with memcache.misses > 1 take ")
    assert why["slow"]["transactions"] + why["usual"]["transactions"] == 12_000


def test_where_other_goes_is_shown_by_line(browser: Browser, store: Store) -> None:
    now_ns = time.time_ns() - MINUTE_NS
    lines = [SentSample("shop/serializers.py:88", "to_json", 3, library="json.dumps"), SentSample("", state="gil")]
    sent = [
        Sent(f"{at:032x}", f"{at:016x}", "GET /lines", now_ns - at * MS, 50 * MS, samples=lines) for at in range(1, 5)
    ]
    store(sent)
    address = urls.kind("shop", "GET /lines")
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", browser.get(address).text)).split())
    assert "Where other goes 75 % of the time is on a named line" in text
    assert "shop/serializers.py:88 to_json other computing in json.dumps 60.0 %" in text
    assert "120 ± 35 ms 12 no line of the application other waiting for the GIL 20.0 %" in text
    assert [each["samples"] for each in browser.get(f"{address}.json").json()["profile"]["lines"]] == [12, 4]
    assert "Where" not in re.sub(r"<[^>]+>", "", browser.get(f"{address}?slowest=5").text)
