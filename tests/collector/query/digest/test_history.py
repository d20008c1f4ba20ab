"""A statement over time: when it was first seen, what it costs a day, and which version of a service brought it."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.format import iso_time
from walltime_collector.observe.events import TABLE as EVENTS
from walltime_collector.observe.events import event_row
from walltime_collector.query.advise.advise import advise
from walltime_collector.query.advise.answer import Advice
from walltime_collector.query.diff.compare import diff
from walltime_collector.query.diff.sides import sides
from walltime_collector.query.digest.answer import NewSince, StatementHistory
from walltime_collector.query.digest.history import history
from walltime_collector.query.digest.new_since import new_since
from walltime_collector.query.digest.rank import digest_of
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window
from walltime_collector.statements.fingerprint import fingerprint, fingerprint_id

from tests.collector.query.digesting import keep, log_of
from tests.collector.traffic import MS, Sent

DAY_S = 86_400
NUMBERS = itertools.count(1)
Insert = Callable[..., None]


@pytest.fixture(scope="module")
def insert(engine: Engine) -> Insert:
    """Transactions of one version; `sent`: so many of them have each of these statements."""
    now_s = int(time.time())

    def inserted(
        service: str,
        version: str,
        transactions: int,
        *,
        ago_s: int,
        name: str = "GET /search",
        took_ns: int = 3 * MS,
        **sent: int,
    ) -> None:
        rows: list[dict[str, Any]] = []
        for at in range(transactions):
            number = next(NUMBERS)
            texts = [text for text, many in sent.items() if at < many]
            rows.append(
                {
                    "trace_id": f"{number:016x}",
                    "span_id": f"{number:08x}",
                    "started_at": str(now_s - ago_s),
                    "duration_ns": 7 * MS + took_ns,
                    "service": service,
                    "name": name,
                    "version": version,
                    "statement.text": texts,
                    "statement.calls": [2] * len(texts),
                    "statement.time_ns": [took_ns] * len(texts),
                    "statement.errors": [0] * len(texts),
                }
            )
        engine.insert_rows("transactions", "\n".join(map(json.dumps, rows)).encode(), f"history-{number}")

    return inserted


def of(engine: Engine, text: str) -> StatementHistory:
    return history(engine, fingerprint_id(fingerprint(text)), [text])


def test_the_version_that_brought_a_statement_is_named_with_what_it_costs_a_day(engine: Engine, insert: Insert) -> None:
    text, usual = "SELECT id FROM brought WHERE word = %s", "SELECT 1"
    insert("brought", "2.0", 300, ago_s=3 * DAY_S, **{usual: 300})
    insert("brought", "2.1", 100, ago_s=DAY_S, **{usual: 100, text: 30})
    insert("brought", "2.0", 50, ago_s=60, **{usual: 50})  # both run at once
    insert("brought", "2.1", 10, ago_s=60, **{usual: 10, text: 10})
    unsent = Sent("00" * 16, "00" * 8, "", time.time_ns() - DAY_S * 10**9, 0)
    keep(engine, log_of(unsent, "SELECT id FROM brought WHERE word = 'x'", 2 * MS, rows_examined=80, rows_sent=2), "b")

    found = of(engine, text)
    assert found.new_since == (NewSince("brought", "2.1", "GET /search", 40, 110, 350),)
    assert [(each.service, each.version, each.calls, each.time_ns, each.kinds) for each in found.versions] == [
        ("brought", "2.1", 80, 120 * MS, 1)
    ]
    first_s = (int(time.time()) - DAY_S) // 60 * 60
    assert found.first_seen in [iso_time((first_s - late) * 10**9) for late in (0, 60)]
    assert [(each.calls, each.time_ns, each.logged_calls, each.logged_ns) for each in found.days] == [
        (60, 90 * MS, 1, 2 * MS),
        (20, 30 * MS, 0, 0),
    ]
    assert (found.days[0].rows_examined, found.days[0].rows_used) == (80, 2)
    assert of(engine, usual).new_since == ()
    now_ns = time.time_ns()
    scope = Scope(Window(now_ns - 600 * 10**9, now_ns))
    assert digest_of(engine, scope, statement=text).statements[0].history == found
    assert all(each.history is None for each in digest_of(engine, scope).statements)


@pytest.mark.parametrize(
    ("reason", "before", "kind"),
    [
        ("it was not seen often enough", {"transactions": 60}, "GET /search"),
        (
            "its list had another length",
            {"transactions": 500, "SELECT * FROM t WHERE id IN (%s, %s)": 20},
            "GET /search",
        ),
        ("another kind sent it", {"transactions": 500, "SELECT * FROM t WHERE id IN (%s)": 20}, "GET /other"),
        ("a bill had more statements than lines", {"transactions": 500, "(other)": 1}, "GET /search"),
        ("the version is not known", {"transactions": 500, "version": ""}, "GET /search"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_it_is_not_called_new_when(
    engine: Engine, insert: Insert, reason: str, before: dict[str, Any], kind: str
) -> None:
    text, service = "SELECT * FROM t WHERE id IN (%s)", f"when {reason}"
    version, transactions = before.get("version", "2.0"), before["transactions"]
    sent = {name: many for name, many in before.items() if name not in ("version", "transactions")}
    insert(service, version, transactions, ago_s=2 * DAY_S, name=kind, **sent)
    if kind != "GET /search":
        insert(service, version, transactions, ago_s=2 * DAY_S)
    insert(service, "2.1", 100, ago_s=DAY_S, **{text: 30})
    found = of(engine, text)
    assert [each for each in found.new_since if each.service == service] == []


@pytest.mark.parametrize("rounds", [2_000, pytest.param(50_000, marks=pytest.mark.nightly)])
def test_a_rare_statement_is_not_called_new_by_chance(rounds: int) -> None:
    """As frequent in both versions: what is called new is so by chance, less often than 3 in 1,000."""
    rng, called = random.Random(7), 0
    for _ in range(rounds):
        share = 10 ** rng.uniform(-4, -0.3)
        many = {"1": rng.randint(1, 400), "2": rng.randint(1, 400)}
        sent = {version: sum(rng.random() < share for _ in range(of)) for version, of in many.items()}
        row = {"service": "shop", "name": "GET /", "time_ns": 1, "others": 0}
        called += bool(
            new_since(
                [{**row, "version": version, "transactions": number} for version, number in sent.items() if number],
                [{**row, "version": version, "transactions": number} for version, number in many.items()],
            )
        )
    assert called <= 0.003 * rounds


def test_a_statement_that_every_transaction_sends_is_new_after_twenty() -> None:
    row = {"service": "shop", "name": "GET /", "time_ns": 1, "others": 0}
    for earlier, is_new in ((19, False), (20, True), (100_000, True)):
        whole = [{**row, "version": "1", "transactions": earlier}, {**row, "version": "2", "transactions": 2_000}]
        assert bool(new_since([{**row, "version": "2", "transactions": 2_000}], whole)) is is_new


def test_diff_names_the_statements_of_one_version_only(engine: Engine, insert: Insert) -> None:
    both, new, gone, rare = (f"SELECT {each} FROM diffed" for each in ("both", "new", "gone", "rare"))
    insert("diffed", "2.0", 300, ago_s=1_800, **{both: 300, gone: 60})
    insert("diffed", "2.1", 200, ago_s=900, **{both: 200, new: 50, rare: 3})
    now_ns = time.time_ns()
    versions = sides(now_ns, Filters(service="diffed"), versions=("2.0", "2.1"), since="1h")
    found = {each.fingerprint: each for each in diff(engine, *versions, now_ns).statements}
    assert {text: (each.change, each.sent, each.of, each.others) for text, each in found.items()} == {
        new.lower(): ("new", 50, 200, 300),
        gone.lower(): ("gone", 60, 300, 200),
    }
    assert (found[new.lower()].calls, found[new.lower()].time_ns) == (100, 150 * MS)
    times = sides(now_ns, Filters(service="diffed"), during="20m..", against="40m..20m")
    assert diff(engine, *times, now_ns).statements == ()


def test_advice_names_the_version_that_brought_an_expensive_statement(engine: Engine, insert: Insert) -> None:
    text, cheap = "SELECT dear FROM advised WHERE id = %s", "SELECT cheap FROM advised"
    insert("advised", "2.0", 300, ago_s=5 * DAY_S, **{cheap: 300})
    insert("advised", "2.1", 200, ago_s=600, **{cheap: 200, text: 100})
    now_ns = time.time_ns()
    hour = Scope(Window(now_ns - 3_600 * 10**9, now_ns), Filters(service="advised"))
    (advice,) = (each for each in advise(engine, hour, now_ns).advice if each.category == "new_statement")
    assert advice.change == f"Check whether `{text}` is needed: it is new since version 2.1 of advised."
    assert advice.finding == (
        "30 % of the time of GET /search: 2 times in 100 of 200 transactions, 1.50 ms each; new since version 2.1 of"
        " advised: 100 of 200 GET /search sent it, none of 300 in earlier versions."
    )
    assert advice.price.mean_ns == pytest.approx(1.5 * MS)
    later = now_ns + 8 * DAY_S * 10**9
    assert not [
        each
        for each in advise(engine, Scope(Window(now_ns - 3_600 * 10**9, later), hour.filters), later).advice
        if each.category == "new_statement"
    ]


def test_advice_names_a_changed_plan_when_calls_take_longer_since_then(engine: Engine, insert: Insert) -> None:
    text, now_ns = "SELECT planned FROM replanned WHERE id = %s", time.time_ns()
    insert("replanned", "1", 60, ago_s=3_000, **{text: 60})
    insert("replanned", "1", 60, ago_s=600, took_ns=40 * MS, **{text: 60})

    def advised(changed_ago_s: int) -> list[Advice]:
        changed_s = now_ns // 10**9 - changed_ago_s
        details = {
            "fingerprint_id": f"{fingerprint_id(fingerprint(text)):016X}",
            "change": "index `id` → full scan",
            "old_until": f"{changed_s - 60}",
        }
        row = event_row("10.0.0.5:3306", "mysql", "plan_changed", "changed", at_s=changed_s, details=details)
        engine.insert_rows(EVENTS, json.dumps(row).encode(), f"changed {changed_ago_s}")
        hour = Scope(Window(now_ns - 3_600 * 10**9, now_ns), Filters(service="replanned"))
        return [each for each in advise(engine, hour, now_ns).advice if each.category == "changed_plan"]

    (advice,) = advised(1_800)
    assert advice.change.startswith(f"Restore the plan of `{text}`: it changed on 10.0.0.5:3306 at ")
    assert advice.change.endswith(" UTC, index `id` → full scan.")
    assert advice.finding.endswith(" each; before the change 1.50 ms each.")
    assert advice.price.helped_ns == pytest.approx(37 * MS)
    assert advised(300) == []  # the last change is of a time in which calls were slow already
