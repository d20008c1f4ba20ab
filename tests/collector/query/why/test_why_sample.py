"""`why` of a sample: exactly the transactions of some minutes, and all of a side that is small."""

from __future__ import annotations

import pytest
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.explain import explain_kind
from walltime_collector.query.why.sample import ALL, sample
from walltime_collector.query.windows import Comparison, Window

from tests.collector.conftest import MINUTE_NS, Stored

KIND = Filters(service="shop", kind="GET /product/{id}")
MINUTE_S = 60


@pytest.mark.parametrize("filters", [KIND, Filters(KIND.service, KIND.kind, host="web-1")])
def test_a_sample_has_the_transactions_of_its_minutes(shop: Stored, filters: Filters) -> None:
    end_ns = shop.sent[-1].started_ns // MINUTE_NS * MINUTE_NS
    middle_ns = end_ns - 2 * MINUTE_NS
    compared = Comparison(Window(middle_ns, end_ns), Window(end_ns - 9 * MINUTE_NS, middle_ns))
    of = sample(shop.engine, filters, compared, enough=50, least=2)
    why = explain_kind(shop.engine, filters, compared, of)
    assert of.usual_of > 1
    for window, population in ((compared.slow, why.slow), (compared.usual, why.usual)):
        mine = [
            each
            for each in shop.sent
            if (each.service, each.name) == (KIND.service, KIND.kind)
            and window.start_ns <= each.started_ns < window.end_ns
            and each.started_ns // MINUTE_NS * MINUTE_S in of.minutes
        ]
        assert population.transactions == len(mine) > 0
        assert population.mean_ns * len(mine) == pytest.approx(sum(each.duration_ns for each in mine))


def test_few_transactions_are_all_compared(shop: Stored) -> None:
    end_ns = shop.sent[-1].started_ns
    window = Window(end_ns - 10 * MINUTE_NS, end_ns)
    assert sample(shop.engine, KIND, Comparison(window, window, 5.0)) == ALL
