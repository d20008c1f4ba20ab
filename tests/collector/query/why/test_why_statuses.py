"""4xx and 5xx are shown apart: a mix of statuses that changes is no slower or faster service."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest
from rich.console import Console
from walltime_collector.cli.top import render as render_top
from walltime_collector.cli.why import render
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.conversion import from_json
from walltime_collector.format import iso_time
from walltime_collector.query.top import top
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.traffic import MS, Sent, SentCall, Value

NAME = "GET /authors/{id}"


def authors(service: str, from_ns: int, statuses: Sequence[int], query_ns: int = 8 * MS) -> list[Sent]:
    """Requests half a second apart; one that is answered with 4xx makes no query."""
    sent = []
    for at, status in enumerate(statuses):
        started_ns = from_ns + at * 500 * MS
        took_ns = query_ns + at % 7 * MS // 10
        calls = [] if 400 <= status < 500 else [SentCall("mysql.query", 0, took_ns, {"db.query.text": "SELECT author"})]
        attributes: dict[str, Value] = {"http.response.status_code": status} if status else {}
        sent.append(
            Sent(
                f"{started_ns:032x}",
                f"{at + 1:016x}",
                NAME,
                started_ns,
                2 * MS + sum(call.duration_ns for call in calls),
                service,
                calls=calls,
                attributes=attributes,
                is_error=status >= 500,
            )
        )
    return sent


def compared(engine: Engine, store: Store, service: str, usual: list[Sent], slow: list[Sent]) -> Why:
    store([*usual, *slow])
    during, against = (Window(sent[0].started_ns, sent[-1].started_ns + 1) for sent in (slow, usual))
    return explain(engine, NAME, Comparison(during, against), service=service)


def said(rendered: object) -> str:
    console = Console(width=140, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(rendered)
    return " ".join(capture.get().split())


def test_a_mean_halved_by_4xx_is_explained_by_them_and_blames_no_component(engine: Engine, store: Store) -> None:
    now_ns = time.time_ns()
    usual = authors("mixed", now_ns - 10 * MINUTE_NS, [200] * 99 + [422])
    slow = authors("mixed", now_ns - 5 * MINUTE_NS, [200, 422] * 60)
    answer = compared(engine, store, "mixed", usual, slow)

    assert answer.mix is not None
    assert answer.verdict == "different"
    assert answer.mix.mix_ns + answer.mix.like_with_like_ns == pytest.approx(answer.difference_ns)
    assert abs(answer.mix.like_with_like_ns) < 0.02 * abs(answer.difference_ns)
    assert "The mix of statuses changed: more of 4xx, 50 % of the transactions instead of 1 %, which" in answer.headline
    assert "like with like, each compared with itself, the difference is " in answer.headline
    assert not any(sentence.startswith("mysql.query") for sentence in answer.sentences)
    shown = said(render(answer, Console(width=140, color_system=None)))
    assert "by status difference share mean mix like with like 4xx −4.02 ms 1.0 % → 50.0 %" in shown
    assert "2xx −39.1 µs 99.0 % → 50.0 %" in shown
    assert from_json(Why, asdict(answer)) == answer


def test_a_slower_component_beside_a_changed_mix_is_reported_too(engine: Engine, store: Store) -> None:
    now_ns = time.time_ns()
    usual = authors("both", now_ns - 10 * MINUTE_NS, [200] * 100)
    slow = authors("both", now_ns - 5 * MINUTE_NS, [200, 404] * 60, query_ns=16 * MS)
    answer = compared(engine, store, "both", usual, slow)

    assert answer.mix is not None
    assert "The mix of statuses changed: 4xx is new with 50 % of the transactions" in " ".join(answer.sentences)
    assert answer.mix.like_with_like_ns == pytest.approx(4 * MS, rel=0.05)  # half of them, 8 ms each
    assert answer.mix.mix_ns < -3 * MS


def test_the_same_mix_is_not_worth_a_word(engine: Engine, store: Store) -> None:
    now_ns = time.time_ns()
    usual = authors("same", now_ns - 10 * MINUTE_NS, [200, 200, 404] * 40)
    slow = authors("same", now_ns - 5 * MINUTE_NS, [200, 200, 404] * 40, query_ns=20 * MS)
    answer = compared(engine, store, "same", usual, slow)

    assert answer.mix is None
    assert "mix" not in " ".join(answer.sentences)
    assert sum(each.mix_ns for each in answer.statuses) == pytest.approx(0, abs=1)
    assert any(sentence.startswith("mysql.query: each call takes") for sentence in answer.sentences)


def test_top_has_a_share_of_4xx_and_5xx_beside_the_errors(engine: Engine, store: Store) -> None:
    now_ns = time.time_ns()
    store(authors("statuses", now_ns - 4 * MINUTE_NS, [200] * 50 + [422] * 40 + [503] * 10))
    store(authors("jobs", now_ns - 4 * MINUTE_NS, [0] * 10))
    for since_s in (3600, 225):  # whole minutes, and a part of one from the transactions themselves
        answer = top(engine, since_s=since_s, service="statuses")
        (kind,) = answer.kinds
        expected = authors("statuses", now_ns - 4 * MINUTE_NS, [200] * 50 + [422] * 40 + [503] * 10)
        mine = [sent for sent in expected if iso_time(sent.started_ns) >= answer.since]
        statuses = [int(str(sent.attributes["http.response.status_code"])) for sent in mine]
        assert (kind.transactions, kind.errors) == (len(mine), sum(status >= 500 for status in statuses))
        assert kind.status_4xx == sum(status == 422 for status in statuses)
        assert kind.status_5xx == sum(status == 503 for status in statuses)
    whole = top(engine, since_s=3600, service="statuses")
    for width in (60, 120):
        shown = said(render_top(whole, Console(width=width, color_system=None)))
        assert "4xx" in shown
        assert "40.0 %" in shown
        assert "10.0 %" in shown
    plain = top(engine, since_s=3600, service="jobs")
    assert "4xx" not in said(render_top(plain, Console(width=120, color_system=None)))


def test_a_request_without_a_route_is_readable_and_what_is_left_out_is_counted(engine: Engine, store: Store) -> None:
    sent = authors("routeless", time.time_ns() - MINUTE_NS, [404] * 3)
    components = [SentCall(f"part{at}", at, 10_000) for at in range(12)]
    store([replace(each, name="GET", calls=components) for each in sent])
    shown = said(render_top(top(engine, since_s=3600, service="routeless"), Console(width=80, color_system=None)))
    assert "GET (no route)" in shown
    assert "(no route): 404s, files" in shown
    assert " more " in shown
    assert "+" not in shown


def test_without_data_the_stored_services_and_a_first_step_are_printed(engine: Engine) -> None:
    nothing = top(engine, since_s=60, service="nobody")
    shown = said(render_top(nothing, Console(width=100, color_system=None)))
    assert 'with walltime.transaction("name"):' in shown
    assert "walltime doctor" in shown
    shown = said(render_top(replace(nothing, services=("shop", "jobs")), Console(width=100, color_system=None)))
    assert "Nothing is stored for this service. Stored services: shop, jobs." in shown
