"""Every view over HTTP: for people and as JSON, its headers, its errors, and that stored names stay text."""

from __future__ import annotations

import gzip
import html
import json
import re
import time

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.pages import urls
from walltime_collector.pages.request import SCOPE_PARAMS
from walltime_collector.pages.routes import VIEWS
from walltime_collector.statements.fingerprint import fingerprint_id

from tests.collector.conftest import Store, Stored
from tests.collector.health.incidents.stored import slower, store
from tests.collector.pages.conftest import READ, Browser
from tests.collector.pages.elements import Page
from tests.collector.traffic import MS, Sent, SentCall

STATEMENT = "select * from product where product_id = ?"


def an_incident(engine: Engine, name: str) -> str:
    """Store one, and return its id."""
    incident = slower(name)
    store(engine, incident)
    return incident.id


def example(pattern: str, shop: Stored) -> str:
    """An address of this view that has something to show."""
    sent = next(each for each in shop.sent if each.name == "GET /product/{id}" and each.kept)
    known = {
        "/kinds/{service}/{name}": urls.kind(sent.service, sent.name),
        "/transactions/{trace}": urls.transaction(sent.trace_id),
        "/servers/{component}/{address}": urls.server("memcache.get", "10.0.0.11:11211"),
        "/incidents/{id}": urls.incident(an_incident(shop.engine, sent.name)),
        "/diff": urls.diff({"during": "10m..now", "against": "50m..10m"}),
        "/statements/{fingerprint_id}": urls.statement(f"{fingerprint_id(STATEMENT):016X}"),
    }
    return known.get(pattern, pattern)


@pytest.fixture(params=[view.pattern for view in VIEWS])
def path(request: pytest.FixtureRequest, shop: Stored) -> str:
    return example(str(request.param), shop)


def test_a_view_is_a_page_that_runs_and_loads_nothing_from_elsewhere(browser: Browser, path: str) -> None:
    response = browser.get(path)
    page = Page(response.text)

    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert len(page.all("h1")) == 1
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name == "style" or name.startswith(("on", "hx-on"))], tag
        for name in ("src", "href", "action"):
            address = attributes.get(name, "/").partition("?")[0]
            assert address.startswith(("/", "#")), attributes
            assert not address.startswith("//")
    assert all("src" in each or each["type"] == "application/json" for each in page.all("script"))
    for table in re.findall(r"<table.*?</table>", response.text, re.DOTALL):
        assert "<caption" in table
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for field in page.all("input"):
        assert field["type"] == "hidden" if "type" in field else field["name"]


def test_the_same_address_with_json_is_the_view_model(browser: Browser, path: str) -> None:
    address, question, params = path.partition("?")
    response = browser.get(f"{address}.json{question}{params}")

    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert isinstance(response.json(), dict)


def test_a_known_page_is_not_sent_again_and_all_are_compressed(browser: Browser, path: str) -> None:
    for _ in range(3):  # ten seconds may end between two requests
        plain = browser.get(path, headers={"accept-encoding": "identity"})
        packed = browser.get(path, headers={"accept-encoding": "gzip"})
        again = browser.get(path, headers={"if-none-match": f'"other", W/{plain.headers["etag"]}'})
        if again.status_code == 304:
            break
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["etag"] == plain.headers["etag"]
    assert packed.content == plain.content
    assert (again.status_code, again.content) == (304, b"")
    assert int(packed.headers["content-length"]) < len(plain.content) / 2


@pytest.mark.parametrize(
    ("params", "where"),
    [
        ("time=yesterday", "time"),
        ("time=1m..5m", "time"),
        ("during=x", "during"),
        ("nothing=1", "nothing"),
        ("status=ok", "status"),
        ("annotation=tenant", "annotation"),
        ("annotation==7", "annotation"),
        ("where=duration>1", "where"),
        ("user=" + "u" * 2_001, "user"),
    ],
)
def test_a_wrong_parameter_is_explained_on_the_page_and_in_json(browser: Browser, params: str, where: str) -> None:
    page, document = browser.get(f"/?{params}"), browser.get(f"/.json?{params}")

    assert (page.status_code, document.status_code) == (400, 400)
    problem = document.json()["error"]
    assert where in problem["where"]
    text = Page(page.text).text
    assert problem["what_now"] in text
    assert problem["what"][1:] in " ".join(text.split())
    assert '<form class="scope"' in page.text, "the parameters can be changed where they are wrong"


WRONG = [
    "x",
    "-1",
    "0",
    "99999999999999999999",
    "'",
    "\x00",
    "9999-12-31..now",
    "1970-01-01..now",
    "..",
    "a" * 3_000,
    "5m..1m",
]


@pytest.mark.nightly
@pytest.mark.parametrize("pattern", [view.pattern for view in VIEWS])
def test_no_value_of_a_parameter_is_a_failure_of_the_collector(browser: Browser, shop: Stored, pattern: str) -> None:
    (view,) = (each for each in VIEWS if each.pattern == pattern)
    path = example(pattern, shop).partition("?")[0]
    names = [*view.own_params, *SCOPE_PARAMS]
    answered = {
        (name, value[:20]): browser.get(f"{path}.json", params={name: value}).status_code
        for name in names
        for value in WRONG
    }
    assert {key: status for key, status in answered.items() if status not in (200, 400, 404)} == {}
    assert 200 in answered.values()


def test_two_times_of_years_are_compared(browser: Browser, shop: Stored) -> None:
    page = browser.get("/diff", params={"time": "2024-01-01..now"})
    assert page.status_code == 200, page.text
    selected = {"time": "2022-01-01..now", "during": "2024-06-01..now"}
    assert browser.get("/diff", params=selected).status_code == 200


def test_a_wrong_condition_leaves_the_page_of_a_kind_and_says_what_is_wrong_in_place(
    browser: Browser, shop: Stored
) -> None:
    kind = next(each for each in shop.sent if each.name == "GET /product/{id}")
    for params in ({"when": "memcache.get.misses >"}, {"when": "no.field = 1"}, {"during": "5m..1m", "against": "x"}):
        assert browser.get(urls.kind(kind.service, kind.name, params)).status_code == 200
        part = browser.get(urls.kind(kind.service, kind.name, {**params, "part": "why"}))
        assert part.status_code == 200
        assert "This cannot be explained: " in Page(part.text).text


def test_the_help_of_an_unknown_address_names_every_path_of_the_api(browser: Browser) -> None:
    help_text = browser.get("/api/nothing").json()["error"]["what_now"]
    for path in browser.get("/api/openapi.json").json()["paths"]:
        assert f"{path}," in f"{help_text},".replace(" and ", ", ")


def test_only_get_and_an_unknown_address_is_a_page_for_people_only(browser: Browser) -> None:
    assert browser.request("POST", "/").status_code == 405
    assert browser.request("HEAD", "/").status_code == 200
    for path in ("/nothing", "/kinds/one", "/static/nothing.js", "/static/../routes.py"):
        page = browser.get(path, headers={"accept": "text/html"})
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert browser.get(path).json()["error"]["what"] == "there is no such page"
    assert browser.get("/api/nothing", headers={"accept": "text/html"}).json()["error"]["where"] == "/api/nothing"


def test_static_files_are_kept_until_they_change(browser: Browser) -> None:
    page = Page(browser.get("/").text)
    addresses = [each["src"] for each in page.all("script") if "src" in each]
    addresses += [each["href"] for each in page.all("link")]
    assert len(addresses) >= 6
    weight = len(gzip.compress(browser.get("/").content))
    for address in addresses:
        response = browser.get(address)
        assert response.status_code == 200
        assert "immutable" in response.headers["cache-control"]
        assert "immutable" not in browser.get(address.partition("?")[0]).headers["cache-control"]
        packed = browser.get(address, headers={"accept-encoding": "gzip"})
        weight += int(packed.headers["content-length"])
    assert weight < 250_000


def test_without_a_token_nothing_but_the_form_is_shown(guarded: Browser, path: str) -> None:
    for address in (path, "/.json", "/static/walltime.css"):
        refused = guarded.get(address, headers={"accept": "text/html"})
        assert refused.status_code == 401
        assert "Read token" in refused.text
        assert guarded.get(address).json()["error"]["where"] == "Authorization"
    with_token = guarded.get(path, headers={"authorization": f"Bearer {READ}"})
    assert with_token.status_code == 200


def test_signing_in_leads_to_the_page_that_was_requested(guarded: Browser, shop: Stored) -> None:
    form = guarded.get("/?time=last+2h", headers={"accept": "text/html"})
    target = html.unescape(re.search(r'name="next" value="([^"]*)"', form.text)[1])  # type: ignore[index]
    page = guarded.request("POST", "/login", data={"token": READ, "next": target})

    assert page.status_code == 200
    assert page.url.query == b"time=last+2h"
    assert "Where the time goes" in page.text
    guarded.cookies.clear()


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "</script><script>alert(1)</script>",
    "{{ 7 * 7 }}{% for x in y %}",
    "javascript:alert(1)//",
    "GET /a/../b?c=d#e&f%2F%00",
    "<!--<script>",
    "\u202egnirts\u2028\u0000",
    "/feed.json",
    "..",
]


def test_hostile_names_are_text_and_their_links_lead_to_them(browser: Browser, store: Store) -> None:
    now_ns = time.time_ns() - 60_000 * MS
    sent = []
    for at, name in enumerate(HOSTILE):
        call = SentCall(name, 0, MS, {"server.address": name, "server.port": 1, "db.query.text": f"SELECT '{name}'"})
        ids = f"{at + 1:032x}", f"{at + 1:016x}"
        sent.append(Sent(*ids, name, now_ns + at * MS, 5 * MS, service=name, calls=[call]))
    store(sent)
    response = browser.get("/?time=last+5m&show=total")
    page = Page(response.text)

    assert response.status_code == 200
    scripts = [each for each in page.all("script") if "src" not in each]
    assert {each["type"] for each in scripts} == {"application/json"}
    assert not page.all("img")
    assert "49" not in page.text.split()
    for data in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', response.text, re.DOTALL):
        json.loads(data)
    links = {each["href"] for each in page.all("a")}
    assert {urls.kind(name, name, {"time": "last 5m"}) for name in HOSTILE} <= links
    for name in HOSTILE[:3]:
        filtered = browser.get("/.json", params={"time": "last 5m", "service": name}).json()
        assert [kind["name"] for kind in filtered["top"]["kinds"]] == [name]
