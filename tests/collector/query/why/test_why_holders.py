"""`why` and `advise` name the kind that holds locks, where waits for it carry the difference; else they are silent."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.query.advise.advise import advise
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.why.explain import explain_kind
from walltime_collector.query.windows import Comparison, Window

from tests.by_day import by_day
from tests.collector.simulated_shop import MINUTE_NS, SECOND_NS, USUAL, Page, simulate

KIND = "GET /product/{id}"
SLOW = Page(statement_slowness=6.0)
CASES = ["held", "working", "usual too", "few", "nobody"]
HOLDER = {"holder_trace_id": "ab" * 16, "holder_span_id": "cd" * 8, "holder_service": "shop"}


def waits(engine: EmbeddedEngine, service: str, window: Window, one_in: int, *, idle: bool) -> Iterator[str]:
    """Rows for some transactions of a window: they waited for two thirds of their time."""
    found = engine.query(
        "SELECT lower(hex(trace_id)) AS trace, lower(hex(span_id)) AS span, toUnixTimestamp64Nano(started_at) AS at,"
        " duration_ns FROM transactions WHERE service = {service:String} AND started_at >="
        " fromUnixTimestamp64Nano({since:Int64}) AND started_at < fromUnixTimestamp64Nano({until:Int64})",
        {"service": service, "since": window.start_ns, "until": window.end_ns},
    )
    for at, row in enumerate(found):
        if at % one_in == 0:
            waited_ns = row["duration_ns"] * 2 // 3
            wait = {
                "started_at": f"{row['at'] / 1e9:.6f}",
                "updated_at": f"{row['at'] / 1e9:.3f}",
                "server": "127.0.0.1:3306",
                "sort": "row",
                "object": "shop.products",
                "trace_id": row["trace"],
                "span_id": row["span"],
                "service": service,
                "connection_id": at + 1,
                "waited_ns": waited_ns,
                "is_over": True,
                "holder_idle_ns": waited_ns * idle,
                "holder_route": "POST /checkout",
                **HOLDER,
            }
            yield json.dumps(wait)


def happened(engine: EmbeddedEngine, case: str, seed: int) -> tuple[str, Window, Window]:
    """The service, and the usual and the slow window."""
    service, number = f"{case} {seed}", CASES.index(case) + len(CASES) * seed
    start_ns = time.time_ns() // SECOND_NS * SECOND_NS - (20 + 30 * number) * MINUTE_NS
    usual = Window(start_ns, start_ns + 10 * MINUTE_NS)
    slow = Window(usual.end_ns, usual.end_ns + 5 * MINUTE_NS)
    for window, page, more in ((usual, USUAL, 0), (slow, SLOW, 99)):
        length_ns = window.end_ns - window.start_ns
        simulate(
            engine,
            page,
            seed=1_000 * number + more,  # ids are of the seed
            transactions=90 * length_ns // MINUTE_NS,
            from_ns=window.start_ns,
            length_ns=length_ns,
            service=service,
        )
    windows = {"usual too": ((usual, 1), (slow, 5)), "few": ((slow, 40),), "nobody": ()}.get(case, ((slow, 1),))
    rows = [each for window, one_in in windows for each in waits(engine, service, window, one_in, idle=case == "held")]
    if rows:
        engine.insert_rows("lock_wait_entries", "\n".join(rows).encode(), f"waits {service}")
    return service, usual, slow


@pytest.mark.parametrize("seed", by_day(range(6), 6))
@pytest.mark.parametrize("case", CASES)
def test_the_holder_is_named_where_waits_for_it_carry_the_difference(
    engine: EmbeddedEngine, case: str, seed: int
) -> None:
    service, usual, slow = happened(engine, case, seed)
    answer = explain_kind(engine, Filters(service=service, kind=KIND), Comparison(slow, usual))
    said = [each for each in answer.findings if "waits for locks" in each.sentence]
    scope = Scope(Window(usual.start_ns, slow.end_ns), Filters(service=service))
    advice = [each for each in advise(engine, scope, time.time_ns()).advice if each.category == "row_locks"]
    if case not in ("held", "working"):
        assert said == []
        assert not advice or case == "usual too"
        return
    (finding,) = said
    assert "100 % of it for POST /checkout, which holds products" in finding.sentence
    assert ("between its last statement and its commit" in finding.sentence) == (case == "held")
    assert finding.evidence is not None
    (row,) = [each for each in engine.query(finding.evidence.sql, {}) if each["side"] == "slow"]
    assert row["wait_ns"] == pytest.approx(finding.evidence.numbers["slow_wait_ns"])
    assert finding.evidence.traces == (HOLDER["holder_trace_id"],)
    (change,) = advice
    assert change.change.startswith("Commit earlier in POST /checkout" if case == "held" else "Make the transaction of")
    assert HOLDER["holder_trace_id"] in change.evidence
