"""`why` of some of a kind's transactions: those of a host, a version, a user, with an annotation."""

from __future__ import annotations

import random
import time

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import NotStored
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.explain import explain_kind
from walltime_collector.query.windows import Comparison, Window

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.traffic import MS, Sent, SentCall

KIND = Filters(service="shop", kind="GET /report")


@pytest.fixture(scope="module")
def compared(store: Store) -> Comparison:
    """In the last of three minutes `render` of tenant 2 takes 8 ms instead of 4; tenant 1 has no difference."""
    ids = random.Random(3)
    first_ns = time.time_ns() // MINUTE_NS * MINUTE_NS - 3 * MINUTE_NS
    sent = []
    for at in range(360):
        is_slow, tenant = at >= 240, at % 2 + 1
        render_ns = (8 if is_slow and tenant == 2 else 4) * MS + ids.randrange(MS)
        each = Sent(
            f"{ids.getrandbits(128) | 1:032x}",
            f"{ids.getrandbits(64) | 1:016x}",
            KIND.kind,
            first_ns + at * MINUTE_NS // 120,
            render_ns + MS,
            calls=[SentCall("render", 0, render_ns)],
            attributes={"tenant": str(tenant), "user.id": f"user-{tenant}", "http.response.status_code": 200},
        )
        sent.append(each)
    store(sent)
    cut_ns, end_ns = first_ns + 2 * MINUTE_NS, first_ns + 3 * MINUTE_NS
    return Comparison(slow=Window(cut_ns, end_ns), usual=Window(first_ns, cut_ns))


@pytest.mark.parametrize(
    ("filters", "difference_ms"),
    [
        (Filters(annotation="tenant=1"), 0),
        (Filters(annotation="tenant=2"), 4),
        (Filters(user="user-2"), 4),
        (Filters(host="web-1", status="2xx"), 2),
    ],
    ids=str,
)
def test_a_filter_chooses_both_populations(
    engine: Engine, compared: Comparison, filters: Filters, difference_ms: int
) -> None:
    chosen = Filters(**{**vars(filters), "service": KIND.service, "kind": KIND.kind})
    why = explain_kind(engine, chosen, compared)
    is_half = not filters.host
    assert (why.usual.transactions, why.slow.transactions) == ((120, 60) if is_half else (240, 120))
    assert why.difference_ns == pytest.approx(difference_ms * MS, abs=0.5 * MS)
    assert why.verdict == ("different" if difference_ms else "chance")
    assert sum(each.difference_ns for each in why.components) == pytest.approx(why.difference_ns)


def test_an_empty_side_is_named(engine: Engine, compared: Comparison) -> None:
    with pytest.raises(NotStored, match="no transaction 'GET /report' started between") as refused:
        explain_kind(engine, Filters(service="shop", kind="GET /report", host="web-2"), compared)
    assert refused.value.where == "during"
    with pytest.raises(NotStored) as refused:
        explain_kind(engine, KIND, Comparison(slow=compared.slow, usual=Window(0, 1)))
    assert refused.value.where == "against"
