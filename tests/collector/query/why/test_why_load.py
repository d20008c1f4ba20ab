"""`why` says what slower statements wait for at their database, and how its load changed; else it is silent."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Parameter
from walltime_collector.query.queries import run
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.durations import LONGEST_NS
from walltime_collector.query.why.explain import explain_kind
from walltime_collector.query.why.finding import Finding
from walltime_collector.query.why.values import NO_MIX
from walltime_collector.query.windows import Comparison, Window
from walltime_collector.sql.runner import QueryRunner
from walltime_collector.statements.fingerprint import fingerprint_id, of_template

from tests.by_day import by_day
from tests.collector.query.why import evidence
from tests.collector.simulated_shop import MINUTE_NS, SECOND_NS, USUAL, Page, simulate

SERVER = "127.0.0.1:3306"
KIND = "GET /product/{id}"
TABLES = [
    "users",
    "reviews",
    "products",
    "makers",
    "categories",
    "ratings",
    "questions",
    "offers",
    "sellers",
    "badges",
    "prices",
]
TEXTS = [
    f"SELECT id, name, price_cents, stock, description FROM {table} WHERE id = %s ORDER BY id DESC LIMIT 20"
    for table in TABLES
]
IDS = [fingerprint_id(of_template(text)) for text in TEXTS]
LOGGED = Path(__file__).with_name("simulated_load.sql")
SLOW = Page(statement_slowness=6.0)
USUAL_NS = 720e3
LOAD = """
INSERT INTO mysql_status (at, server, over_ns, threads_running, page_misses, rows_read, history_list)
SELECT
    fromUnixTimestamp64Nano({start_ns:Int64} + toInt64(number) * 1000000000), {server:String}, 1000000000,
    1 + rand(1) % 3,
    arrayElement({misses:Array(UInt64)}, if(number >= {slow_s:UInt32}, 2, 1)) * (500 + rand(2) % 1001) / 1000
        + if(number IN {outliers:Array(UInt32)}, 10000000, 0),
    3000 + rand(3) % 500, if(number % 7 = 0, NULL, 40 + rand(4) % 30)
FROM numbers({seconds:UInt32})
"""
_starts = iter(range(1, 1_000))


@dataclass(frozen=True)
class Case:
    """What happened in the slow time, ten minutes after the start."""

    name: str
    more: Sequence[float] = (0.0, 0.0, 0.0)
    """Parts of what the statement took longer: waiting for locks, for the disk, computing."""
    at_server: float = 1.0
    page: Page = SLOW
    before: Page = USUAL
    misses: Sequence[int] = (10, 10)
    logged_percent: int = 100
    is_cpu_known: bool = True
    outliers: Sequence[int] = ()
    """Seconds after the start with very many misses, and one statement then that waited for a lock."""
    said: Sequence[str] = ()
    """What the sentence has; nothing: there is none."""
    slow_s: int = 300
    """How long the slow time is."""


CASES = [
    Case("disk", (0.0, 0.9, 0.1), misses=(10, 900), said=("ms waiting for the disk (buffer pool misses ",)),
    Case("elsewhere", at_server=0.0),
    Case("load alone", logged_percent=0, misses=(10, 900), said=("has more to do at the same time: buffer pool mi",)),
    Case("locks", (0.95, 0.0, 0.05), said=("ms waiting for locks.",)),
    Case("computing", (0.0, 0.05, 0.95), said=("ms computing.",)),
    Case("two parts", (0.0, 0.5, 0.5), said=("ms waiting for the disk", "ms computing", " and ")),
    Case("a part unknown", (0.0, 0.0, 0.9), is_cpu_known=False, said=("ms on what it does not measure (computing).",)),
    Case("neither", said=("ms on something else.",)),
    Case("too few known", (0.0, 1.0, 0.0), logged_percent=60),
    Case("nothing", page=USUAL),
    Case("one outlier", at_server=0.0, outliers=[615], slow_s=30),
    Case("two outliers", at_server=0.0, outliers=[615, 616], slow_s=30),
    Case(
        "another mix",
        before=Page(tenants=["a", "b", "b", "b"], seeded="tenant=a", seeded_slowness=4.0),
        page=Page(tenants=["a", "a", "a", "b"], seeded="tenant=a", seeded_slowness=4.0),
    ),
]  # fmt: skip


def happened(engine: EmbeddedEngine, case: Case, seed: int = 0) -> tuple[str, Comparison]:
    """Store it; the service, and its two windows."""
    number = next(_starts)
    service, start_ns = f"{case.name} {number}", time.time_ns() // SECOND_NS * SECOND_NS - 30 * number * MINUTE_NS
    slow_ns = start_ns + 10 * MINUTE_NS
    for at_ns, length_s, page in ((start_ns, 600, case.before), (slow_ns, case.slow_s, case.page)):
        simulate(
            engine,
            page,
            seed=1_000 * seed + 2 * number + (at_ns == slow_ns),
            transactions=90 * length_s // 60,
            from_ns=at_ns,
            length_ns=length_s * SECOND_NS,
            service=service,
        )
    values: dict[str, Parameter] = {
        "service": service,
        "from_ns": slow_ns,
        "usual_ns": USUAL_NS,
        "texts": TEXTS,
        "ids": IDS,
    }
    own = ("more", "at_server", "logged_percent", "is_cpu_known")
    engine.command(LOGGED.read_text("utf-8"), {**values, **{name: getattr(case, name) for name in own}})
    values = {"start_ns": start_ns, "server": SERVER, "slow_s": 600, "seconds": 600 + case.slow_s}
    engine.command(LOAD, {**values, "misses": case.misses, "outliers": case.outliers})
    if case.outliers:
        engine.command(
            "INSERT INTO slow_queries SELECT * REPLACE (30000000000 AS query_ns, 30000000000 AS lock_ns)"
            " FROM slow_queries WHERE started_at >= fromUnixTimestamp64Nano({from_ns:Int64})"
            " AND fingerprint_id = {id:UInt64} ORDER BY started_at LIMIT 1",
            {"from_ns": slow_ns + 15 * SECOND_NS, "id": IDS[1]},
        )
    return service, Comparison(Window(slow_ns, slow_ns + case.slow_s * SECOND_NS), Window(start_ns, slow_ns))


def asked(engine: EmbeddedEngine, service: str, compared: Comparison) -> tuple[Why, list[Finding]]:
    answer = explain_kind(engine, Filters(service=service, kind=KIND), compared)
    return answer, [each for each in answer.findings if each.about == "other_side"]


@pytest.mark.parametrize("case", by_day(CASES, 3), ids=lambda case: case.name)
def test_the_part_of_the_time_that_grew_is_named(engine: EmbeddedEngine, case: Case) -> None:
    service, compared = happened(engine, case)
    answer, found = asked(engine, service, compared)
    if not case.said:
        assert found == []
        return
    (finding,) = found
    assert all(words in finding.sentence for words in case.said), finding.sentence
    assert finding.p_value is not None
    assert finding.p_value < 0.003
    runner = QueryRunner(engine, "walltime")
    assert evidence.check(runner, answer) >= 2
    runner.close()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_a_database_that_does_as_ever_says_nothing(engine: EmbeddedEngine, seed: int) -> None:
    """Its statements take longer for the application alone."""
    service, compared = happened(engine, Case("as ever", at_server=0.0), seed)
    answer, found = asked(engine, service, compared)
    assert any(each.subject == "mysql.query" for each in answer.findings)
    assert found == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_said_of_load_that_has_nothing_to_do_with_the_slowest(engine: EmbeddedEngine, seed: int) -> None:
    service, compared = happened(engine, Case("slowest", logged_percent=0, page=USUAL), seed)
    whole = Window(compared.usual.start_ns, compared.slow.end_ns)
    assert asked(engine, service, Comparison(whole, whole, slowest_percent=5.0))[1] == []


@pytest.mark.nightly
@pytest.mark.parametrize("share", [0.9, 0.6])
def test_the_slowest_are_compared_with_the_others(engine: EmbeddedEngine, share: float) -> None:
    service, compared = happened(engine, Case("slowest", (0.0, share, 1 - share)))
    whole = Window(compared.usual.start_ns, compared.slow.end_ns)
    (finding,) = asked(engine, service, Comparison(whole, whole, slowest_percent=5.0))[1]
    assert "ms waiting for the disk" in finding.sentence


def test_statements_are_compared_with_those_of_their_fingerprint(engine: EmbeddedEngine) -> None:
    """More of quick ones make no statement faster: the means are those of each, weighted as they are sent now."""
    service, compared = happened(
        engine, Case("fingerprints", (0.0, 1.0, 0.0), page=Page(statement_slowness=6.0, repeated=6))
    )
    params: dict[str, Parameter] = {
        **Filters(service=service, kind=KIND).parameters(),
        **compared.parameters(),
        **NO_MIX,
        "when": "",
    }
    params |= {"minutes": (), "threshold_ns": 0, "bound_ns": LONGEST_NS, "server": SERVER, "fingerprints": IDS}
    usual, slow = sorted(run(engine, "why/evidence/load", **params), key=lambda row: row["side"] == "slow")
    rows = engine.query(
        "SELECT fingerprint_id AS id, started_at >= fromUnixTimestamp64Nano({slow_ns:Int64}) AS is_slow, count() AS n,"
        " avg(slow_queries.disk_ns) AS disk_ns, avg(slow_queries.query_ns) AS query_ns FROM slow_queries"
        " WHERE trace_id IN (SELECT trace_id FROM transactions WHERE service = {service:String}) GROUP BY id, is_slow",
        {"slow_ns": compared.slow.start_ns, "service": service},
    )
    by_side = [{row["id"]: row for row in rows if row["is_slow"] == is_slow} for is_slow in (False, True)]
    both = [each for each in by_side[1] if each in by_side[0]]
    sent = sum(by_side[1][each]["n"] for each in both)
    assert len(both) < len(by_side[1]), "one is new"
    for row, side in zip((usual, slow), by_side, strict=True):
        for name in ("disk_ns", "query_ns"):
            mean = sum(side[each][name] * by_side[1][each]["n"] for each in both) / sent
            assert row[name] == pytest.approx(mean, rel=1e-6)
