"""`why` names a changed plan where the statement carries the difference and the change is at its beginning."""

from __future__ import annotations

import json
import time

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.observe.events import TABLE, event_row
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.explain import explain_kind
from walltime_collector.query.windows import Comparison, Window
from walltime_collector.statements.fingerprint import fingerprint, fingerprint_id

from tests.by_day import by_day
from tests.collector.simulated_shop import MINUTE_NS, SECOND_NS, USUAL, Page, simulate

SERVER = "127.0.0.1:3306"
TEXT = "SELECT id, name, price_cents, stock, description FROM {} WHERE id = %s ORDER BY id DESC LIMIT 20"
SLOW = Page(statement_slowness=6.0)


def changed(engine: EmbeddedEngine, at_ns: int, table: str = "reviews", ago_s: int = 20) -> str:
    details = {
        "fingerprint_id": f"{fingerprint_id(fingerprint(TEXT.format(table))):016X}",
        "change": "index `PRIMARY` → full scan",
        "old_until": f"{at_ns / 1e9 - ago_s:.3f}",
    }
    row = event_row(SERVER, "mysql", "plan_changed", "it changed", at_s=at_ns / 1e9, details=details)
    engine.insert_rows(TABLE, json.dumps(row).encode(), f"{at_ns} {table}")
    return f"{time.strftime('%H:%M:%S', time.gmtime(at_ns // 10**9))} UTC"


def said(engine: EmbeddedEngine, start_ns: int, service: str) -> list[str]:
    """The sentences about plans: of the last five minutes, against the ten before."""
    slow = Window(start_ns + 10 * MINUTE_NS, start_ns + 15 * MINUTE_NS)
    compared = Comparison(slow, Window(start_ns, slow.start_ns))
    answer = explain_kind(engine, Filters(service=service, kind="GET /product/{id}"), compared)
    return [each.sentence for each in answer.findings if "the plan of" in each.sentence]


@pytest.mark.parametrize("seed", by_day(range(6), 6))
@pytest.mark.parametrize("case", ["at the beginning", "of another statement", "long after", "of a usual time"])
def test_a_changed_plan_is_named_when_the_slower_calls_begin_with_it(
    engine: EmbeddedEngine, case: str, seed: int
) -> None:
    cases = ["at the beginning", "of another statement", "long after", "of a usual time"]
    service = f"{case} {seed}"
    now_ns = time.time_ns() // SECOND_NS * SECOND_NS
    start_ns = now_ns - (20 + 60 * (cases.index(case) + 4 * seed)) * MINUTE_NS  # no other event is near
    changed_ns = start_ns + 10 * MINUTE_NS
    page = USUAL if case == "of a usual time" else SLOW
    for at_ns, minutes, shown, more in ((start_ns, 10, USUAL, 0), (changed_ns, 5, page, 99)):
        length_ns = minutes * MINUTE_NS
        simulate(
            engine,
            shown,
            seed=seed + more,
            transactions=90 * minutes,
            from_ns=at_ns,
            length_ns=length_ns,
            service=service,
        )
    at_ns = changed_ns + 200 * SECOND_NS if case == "long after" else changed_ns + 5 * SECOND_NS
    at = changed(engine, at_ns, "users" if case == "of another statement" else "reviews")
    sentences = said(engine, start_ns, service)
    if case == "at the beginning":
        assert len(sentences) == 1
        assert sentences[0].startswith("the plan of `SELECT … FROM reviews WHERE id = %s")
        assert sentences[0].endswith(f"changed at {at}: index `PRIMARY` → full scan.")
    else:
        assert sentences == []
