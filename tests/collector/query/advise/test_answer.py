"""The answer of `advise` over known transactions: thresholds, prices, filters, who may dismiss, page and command."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.config.settings import Settings
from walltime_collector.health.counters import Health
from walltime_collector.health.status import status
from walltime_collector.http.authentication import Access
from walltime_collector.pages import urls
from walltime_collector.query import sampled as sampling
from walltime_collector.query.advise import observed
from walltime_collector.query.advise.advise import advise
from walltime_collector.query.advise.answer import Advice, Advised
from walltime_collector.query.advise.dismissed import dismiss
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window
from walltime_collector.sql.runner import QueryRunner
from walltime_collector.web.application import make_app

from tests.by_day import by_day
from tests.collector.conftest import Store
from tests.collector.pages.conftest import Browser
from tests.collector.traffic import DATABASE, MS, Sent, SentCall
from tests.servers import eventually

TEXT = "SELECT price FROM products WHERE id = %s"
HOST, PORT = DATABASE.split(":")
IDS = itertools.count(1)
MANY = 1_000_000
"""Trace ids whose sample is the same in each run."""


def page(started_ns: int, calls: int, *, name: str = "GET /list", host: str = "web-1", number: int = 0) -> Sent:
    """So many statements of 2 ms, and 5 ms of something else."""
    number = number or next(IDS)
    return Sent(
        f"{number:032x}", f"{number:016x}", name, started_ns, (5 + 2 * calls) * MS, host=host, kept="random",
        calls=[
            SentCall(
                "mysql.query",
                2 * at * MS,
                2 * MS,
                {
                    "db.query.text": TEXT,
                    "server.address": HOST,
                    "server.port": int(PORT),
                    "code.file.path": "shop/views.py",
                    "code.line.number": 42,
                    "code.function.name": "listed",
                },
            )
            for at in range(calls)
        ],
    )  # fmt: skip


@pytest.fixture(scope="module")
def advised(engine: Engine, store: Store) -> Engine:
    """40 transactions with 10 calls each, 40 with 4, 19 with 10, in the last minutes."""
    now_ns = time.time_ns()
    store(
        [
            *(page(now_ns - (at + 1) * 10**9, 10, host="web-1" if at % 2 else "web-2") for at in range(40)),
            *(page(now_ns - (at + 1) * 10**9, 4, name="GET /four") for at in range(40)),
            *(page(now_ns - (at + 1) * 10**9, 10, name="GET /rare") for at in range(19)),
        ]
    )
    return engine


def ask(engine: Engine, filters: Filters | None = None) -> Advised:
    now_ns = time.time_ns()
    return advise(engine, Scope(Window(now_ns - 3_600 * 10**9, now_ns), filters or Filters()), now_ns)


def the_one(answer: Advised) -> Advice:
    (advice,) = answer.advice
    return advice


def test_the_price_of_a_repeated_statement_is_all_its_calls_but_one(advised: Engine) -> None:
    advice = the_one(ask(advised))
    assert (advice.category, advice.service, advice.name) == ("n_plus_one", "shop", "GET /list")
    assert (advice.price.p50_ns, advice.price.p95_ns, advice.price.mean_ns) == (18 * MS, 18 * MS, 18 * MS)
    assert (advice.price.transactions, advice.price.of, advice.price.uncertainty_ns) == (40, 40, 0)
    assert f"`{TEXT}` at shop/views.py:42 listed by one statement" in advice.change
    assert "sends it 10 times a transaction, 2.00 ms each" in advice.finding
    assert "the most it can be" in advice.certainty
    assert len(advice.evidence) == 3
    assert all(int(each, 16) <= 40 for each in advice.evidence)


def test_four_calls_and_19_transactions_are_below_the_thresholds(advised: Engine) -> None:
    assert [each.name for each in the_one(ask(advised)).affected] == ["GET /list"]
    assert ask(advised, Filters(kind="GET /four")).advice == ()
    assert ask(advised, Filters(kind="GET /rare")).advice == ()
    assert "at least 20 transactions" in ask(advised).thresholds["all"]


def test_filters_select_transactions_and_the_id_stays(advised: Engine) -> None:
    everything = the_one(ask(advised))
    one_host = the_one(ask(advised, Filters(host="web-1")))
    assert (one_host.id, one_host.price.of) == (everything.id, 20)
    assert one_host.price.per_hour_ns == pytest.approx(everything.price.per_hour_ns / 2, rel=0.1)
    assert the_one(ask(advised, Filters(kind="GET /list"))).id == everything.id
    assert ask(advised, Filters(host="web-3")).transactions == 0


def test_of_very_many_transactions_a_sample_is_read_and_the_uncertainty_is_stated(
    engine: Engine, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_ns = (time.time_ns() - 2 * 3_600 * 10**9) // (60 * 10**9) * 60 * 10**9
    store([page(first_ns + at * 10**9, 8 + at % 5, name="GET /many", number=MANY + at) for at in range(1_200)])
    window = Window(first_ns, first_ns + 1_200 * 10**9)
    monkeypatch.setattr(sampling, "MOST_READ", 300)
    monkeypatch.setattr(sampling, "_ENOUGH", 10)
    monkeypatch.setattr(observed, "_MOST_PRICED", 300)
    (row,) = engine.query("SELECT count() AS n FROM sampled_transactions WHERE name = 'GET /many'")
    in_sample = int(row["n"])
    exact_ns = 2 * MS * (sum(8 + at % 5 for at in range(1_200)) - 1_200)
    for filters in (Filters(), Filters(host="web-1")):
        answer = advise(engine, Scope(window, filters), window.end_ns)
        price = the_one(answer).price
        of = 16 * in_sample if filters.host else 1_200
        assert (answer.one_in, price.transactions, price.of) == (16 if filters.host else 1, in_sample, of)
        assert answer.transactions == of
        assert 0 < price.uncertainty_ns < 0.1 * price.mean_ns
        assert abs(price.mean_ns - exact_ns / 1_200) <= price.uncertainty_ns
        assert price.per_hour_ns == pytest.approx(3 * price.mean_ns * of, rel=1e-6)


READ_TOKEN, ADMIN_TOKEN = "read-2b7e151628aed2", "admin-2b7e151628aed2"


@contextmanager
def served(engine: Engine, data: Path, *, read_token: str = "", admin_token: str = "") -> Iterator[Browser]:
    settings = Settings(data=data, read_token=SecretStr(read_token), admin_token=SecretStr(admin_token))
    health = Health()
    runner = QueryRunner(engine, "walltime")
    yield Browser(make_app(engine, health, runner, Access(settings), lambda: status(engine, health, settings, {})))
    runner.close()


@pytest.fixture(scope="module")
def guarded(advised: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with served(advised, tmp_path_factory.mktemp("data"), read_token=READ_TOKEN, admin_token=ADMIN_TOKEN) as browser:
        yield browser


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_only_the_admin_token_dismisses_and_restores(guarded: Browser, advised: Engine) -> None:
    before = the_one(ask(advised))
    decision = {"id": before.id, "for": "7d", "why": "a rewrite is under way"}
    for token, response in ((READ_TOKEN, 403), (ADMIN_TOKEN, 200)):
        assert (
            guarded.request("POST", "/api/advice/dismiss", json=decision, headers=bearer(token)).status_code == response
        )
        assert (ask(advised).hidden == 1) == (token == ADMIN_TOKEN)
    assert ask(advised).advice == ()
    (listed,) = guarded.get("/api/advice/dismissed", headers=bearer(READ_TOKEN)).json()["dismissals"]
    assert (listed["id"], listed["why"], listed["change"]) == (before.id, "a rewrite is under way", before.change)
    (shown,) = guarded.get("/api/advice?dismissed=true", headers=bearer(READ_TOKEN)).json()["advice"]
    assert shown["dismissed"] == listed
    page = guarded.get("/advice?dismissed=show", headers=bearer(READ_TOKEN)).text
    assert "a rewrite is under way" in page
    assert f"walltime advise --restore {before.id}" in page

    restore = {"id": before.id}
    assert guarded.request("POST", "/api/advice/restore", json=restore, headers=bearer(READ_TOKEN)).status_code == 403
    assert guarded.request("POST", "/api/advice/restore", json=restore, headers=bearer(ADMIN_TOKEN)).status_code == 200
    assert replace(the_one(ask(advised)), sql="") == replace(before, sql="")
    assert guarded.get("/api/advice/dismissed", headers=bearer(READ_TOKEN)).json() == {"dismissals": []}


def test_what_a_page_shows_can_be_dismissed_and_the_page_is_another_one_at_once(
    guarded: Browser, engine: Engine, store: Store
) -> None:
    """Also of a time long ago and with filters: the page sends both."""
    first_ns = time.time_ns() - 26 * 3_600 * 10**9
    store([page(first_ns + at * 10**9, 10, name="GET /old", host="web-7") for at in range(40)])
    path, as_reader = "/advice.json?time=27h..25h&host=web-7", bearer(READ_TOKEN)
    (advice,) = guarded.get(path, headers=as_reader).json()["answer"]["advice"]
    decision = {"id": advice["id"], "during": "27h..25h", "host": "web-7"}
    for more, response in (({"host": "web-1"}, 404), ({"status": "ok"}, 400), ({"during": "ever"}, 400), ({}, 200)):
        answer = guarded.request("POST", "/api/advice/dismiss", json={**decision, **more}, headers=bearer(ADMIN_TOKEN))
        assert answer.status_code == response
    assert guarded.get(path, headers=as_reader).json()["answer"]["advice"] == []
    guarded.request("POST", "/api/advice/restore", json={"id": advice["id"]}, headers=bearer(ADMIN_TOKEN))
    again = guarded.get(path, headers=as_reader).json()["answer"]["advice"]  # an hour of the window has moved on
    assert [each["id"] for each in again] == [advice["id"]]


@pytest.mark.parametrize(
    ("tokens", "may_dismiss", "in_page"),
    by_day(
        [
            ({"read_token": READ_TOKEN, "admin_token": ADMIN_TOKEN}, "admin", 'name="token" type="password"'),
            ({"admin_token": ADMIN_TOKEN}, "admin", 'name="token" type="password"'),
            ({"read_token": READ_TOKEN}, "nobody", "start the collector with WALLTIME_ADMIN_TOKEN"),
            ({}, "everybody", '<form data-decide="dismiss"'),
        ],
        2,
    ),
)
def test_the_page_says_who_may_dismiss(
    advised: Engine, tmp_path: Path, tokens: dict[str, str], may_dismiss: str, in_page: str
) -> None:
    with served(advised, tmp_path, **tokens) as browser:
        if tokens:
            browser.request("POST", "/login", data={"token": tokens.get("read_token", ADMIN_TOKEN)})
        assert browser.get("/advice.json").json()["may_dismiss"] == may_dismiss
        text = browser.get("/advice").text
        assert in_page in text
        assert ('name="token"' in text, "<form data-decide" in text) == (
            may_dismiss == "admin",
            may_dismiss != "nobody",
        )
        if tokens:  # who is signed in by the cookie reads only, whichever token it was
            decision = {"id": the_one(ask(advised)).id}
            assert browser.request("POST", "/api/advice/dismiss", json=decision).status_code == 403


def test_a_dismissal_ends_by_itself(advised: Engine) -> None:
    advice = the_one(ask(advised))
    started_s = time.monotonic()
    dismiss(advised, advice.id, for_s=2, why="", change=advice.change)
    assert ask(advised).advice == () or time.monotonic() - started_s > 2  # on a busy machine it has ended already
    eventually(lambda: ask(advised).advice, 30)


@pytest.mark.parametrize(
    ("path", "document", "response", "where"),
    [
        ("dismiss", {"id": "0123456789"}, 404, "id"),
        ("dismiss", {"id": "'; DROP"}, 400, "id"),
        ("dismiss", {}, 400, "id"),
        ("dismiss", ["0123456789"], 400, "body"),
        ("dismiss", {"id": 1}, 400, "body"),
        ("dismiss", {"id": "0123456789", "until": "ever"}, 400, "'until'"),
        ("restore", {"id": "0123456789"}, 404, "id"),
    ],
)
def test_a_wrong_decision_is_explained(
    guarded: Browser, path: str, document: object, response: int, where: str
) -> None:
    answer = guarded.request("POST", f"/api/advice/{path}", json=document, headers=bearer(ADMIN_TOKEN))
    assert (answer.status_code, answer.json()["error"]["where"]) == (response, where)


def test_a_form_of_another_site_cannot_dismiss(guarded: Browser) -> None:
    answer = guarded.request("POST", "/api/advice/dismiss", data={"id": "0123456789"}, headers=bearer(ADMIN_TOKEN))
    assert (answer.status_code, answer.json()["error"]["where"]) == (400, "Content-Type")


@pytest.mark.parametrize(
    ("params", "where"), [("since=x", "since"), ("dismissed=yes", "dismissed"), ("kind=nope", "kind")]
)
def test_a_wrong_parameter_is_explained(guarded: Browser, params: str, where: str) -> None:
    answer = guarded.get(f"/api/advice?{params}", headers=bearer(READ_TOKEN))
    assert answer.json()["error"]["where"] == where


@pytest.mark.parametrize("kind", ["GET /list", "GET /li"])
def test_a_kind_can_be_written_whole_or_cut(guarded: Browser, kind: str) -> None:
    answer = guarded.get(f"/api/advice?kind={kind}&since=1h", headers=bearer(READ_TOKEN)).json()
    assert (answer["kind"], [each["name"] for each in answer["advice"]]) == ("GET /list", ["GET /list"])


def test_the_page_links_to_the_evidence_and_the_kind_links_to_the_page(guarded: Browser, advised: Engine) -> None:
    advice = the_one(ask(advised))
    page = guarded.get("/advice", headers=bearer(READ_TOKEN)).text
    assert all(f'href="/transactions/{trace}"' in page for trace in advice.evidence)
    assert f'href="/statements/{advice.statement_id}"' in page
    kind = guarded.get(urls.kind("shop", "GET /list"), headers=bearer(READ_TOKEN)).text
    assert 'href="/advice?service=shop&amp;kind=GET+/list"' in kind
    nothing = guarded.get("/advice?kind=GET+/four", headers=bearer(READ_TOKEN)).text
    assert "Nothing to change" in nothing
    assert guarded.get(f"/statements/{advice.statement_id}", headers=bearer(READ_TOKEN)).status_code == 200
