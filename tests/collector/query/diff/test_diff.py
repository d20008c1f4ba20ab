"""`diff`: seeded differences of kinds, and only those, beyond chance; what a comparison can be of."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import BadParameter, NotStored
from walltime_collector.query import sampled as sampling
from walltime_collector.query.diff.answer import Diff, KindDifference
from walltime_collector.query.diff.compare import diff
from walltime_collector.query.diff.sides import sides
from walltime_collector.query.diff.slices import read_slices
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.top import top_of
from walltime_collector.query.windows import Window

from tests.collector.conftest import Stored as VisitedShop
from tests.collector.query.diff.simulated import MS, Changed, S, insert, rows

CHANGES = {
    "slower": Changed(times=2),
    "faster": Changed(times=0.3),
    "failing": Changed(failed=0.3),
    "failing fast": Changed(failed=0.4, failed_ns=MS),
    "gone": Changed(rate=0),
    "new": Changed(),
}
BY_DAY = 2


@dataclass
class Stored:
    start_ns: int
    changed_ns: int
    end_ns: int

    def sides(self, service: str) -> tuple[Scope, Scope]:
        filters = Filters(service=service)
        before, after = Window(self.start_ns, self.changed_ns), Window(self.changed_ns, self.end_ns)
        return Scope(before, filters), Scope(after, filters)


@pytest.fixture(scope="module")
def stored(engine: Engine) -> Stored:
    """An hour and a quarter: services without a difference, and `seeded`, which changes for the last quarter."""
    end_ns = time.time_ns() // (60 * S) * 60 * S
    stored = Stored(end_ns - 4_500 * S, end_ns - 900 * S, end_ns)
    for seed in range(BY_DAY):
        insert(engine, rows(seed, f"same-{seed}", **vars(stored), per_s=0.15), f"same-{seed}")
    seeded = rows(7, "seeded", **vars(stored), per_s=0.5, kinds=6, changes=CHANGES, versions=("1.9", "2.0"))
    insert(engine, seeded, "seeded")
    return stored


@pytest.fixture(scope="module")
def seeded(engine: Engine, stored: Stored) -> Diff:
    return diff(engine, *stored.sides("seeded"), stored.end_ns)


def changed(answer: Diff) -> dict[str, tuple[str, str]]:
    return {
        each.name: (each.change, each.failed)
        for each in answer.kinds
        if each.change in ("slower", "faster", "new", "gone") or each.failed
    }


def of(answer: Diff, name: str) -> KindDifference:
    return next(each for each in answer.kinds if each.name == name)


def test_seeded_differences_are_named_and_failures_are_none_of_the_times(seeded: Diff) -> None:
    changes = changed(seeded)
    assert changes.pop("slower") == ("slower", "")
    assert changes.pop("faster") == ("faster", "")
    assert changes.pop("new") == ("new", "")
    assert changes.pop("gone") == ("gone", "")
    for name in ("failing", "failing fast"):
        change, failed = changes.pop(name)
        assert change in ("chance", "small")
        assert failed == "more"
        kind = of(seeded, name)
        assert kind.usual is not None
        assert kind.now is not None
        assert kind.now.timed == kind.now.transactions - kind.now.errors
        assert kind.usual.timed == kind.usual.transactions - kind.usual.errors
    assert changes == {}
    assert seeded.tested == 10


def test_the_difference_is_split_exactly_and_the_largest_total_comes_first(seeded: Diff) -> None:
    slower = of(seeded, "slower")
    assert slower.components[0].component == "mysql.query"
    assert sum(each.difference_ns for each in slower.components) == pytest.approx(slower.difference_ns)
    assert slower.low_ns is not None
    assert slower.high_ns is not None
    assert slower.low_ns < slower.difference_ns < slower.high_ns
    assert 0.3 < slower.relative < 0.9
    order = [
        abs(each.total_difference_ns) for each in seeded.kinds if each.change in ("slower", "faster") or each.failed
    ]
    assert order == sorted(order, reverse=True)
    assert {each.change for each in seeded.kinds[-4:]} <= {"chance", "small"}
    assert [each.name for each in seeded.slower_by(0.1)] == ["slower"]
    assert seeded.slower_by(0.95) == ()


@pytest.mark.parametrize("seed", range(BY_DAY))
def test_nothing_is_named_where_nothing_changed(engine: Engine, stored: Stored, seed: int) -> None:
    answer = diff(engine, *stored.sides(f"same-{seed}"), stored.end_ns)
    assert changed(answer) == {}
    assert answer.tested == 12


def test_two_versions_and_two_conditions_are_compared_in_one_window(engine: Engine, stored: Stored) -> None:
    filters, during = Filters(service="seeded"), "80m..now"
    by_version = sides(stored.end_ns, filters, during=during, versions=("1.9", "2.0"))
    answer = diff(engine, *by_version, stored.end_ns)
    assert (answer.usual.version, answer.now.version) == ("1.9", "2.0")
    assert {"slower", "faster", "new", "gone"} <= set(changed(answer))
    by_condition = sides(stored.end_ns, filters, during=during, when="version = 2.0")
    assert changed(diff(engine, *by_condition, stored.end_ns)) == changed(answer)
    both = sides(stored.end_ns, filters, during=during, when="version = 2.0", against_when="version = 1.9")
    assert changed(diff(engine, *both, stored.end_ns)) == changed(answer)


def test_a_limit_leaves_out_kinds_and_says_so(engine: Engine, stored: Stored, seeded: Diff) -> None:
    answer = diff(engine, *stored.sides("seeded"), stored.end_ns, limit=2)
    assert answer.kinds == seeded.kinds[:2]
    assert answer.left_out == len(seeded.kinds) - 2


@pytest.mark.parametrize("filters", [Filters(service="seeded"), Filters(service="seeded", where="duration >= 0")])
@pytest.mark.parametrize("cut_s", [2_000, 4_010])
def test_slices_have_every_transaction_from_minutes_and_one_by_one(
    engine: Engine, stored: Stored, filters: Filters, cut_s: int
) -> None:
    cut_ns = stored.start_ns + cut_s * S + 17
    windows = Window(stored.start_ns - 3_000 * S - 5, cut_ns), Window(cut_ns, stored.end_ns + 3_000 * S)
    tops = [top_of(engine, Scope(window, filters), stored.end_ns, limit=100) for window in windows]
    scopes = ((Scope(window, filters), top.transactions) for window, top in zip(windows, tops, strict=True))
    for window, side, top in zip(windows, read_slices(engine, *scopes), tops, strict=True):
        sums = {name: slices.sum(0)[1:4].tolist() for (_, name), slices in side.kinds.items()}
        assert sums == {each.name: [each.transactions, each.errors, each.total_ns] for each in top.kinds}
        for (service, name), slices in side.kinds.items():
            bound_ns = side.bounds_ns[service, name]
            (row,) = engine.query(
                "SELECT count() AS singles, sum(duration_ns) AS ns FROM transactions WHERE service = {service:String}"
                " AND name = {name:String} AND duration_ns > {bound_ns:UInt64} AND toUnixTimestamp64Nano(started_at)"
                " BETWEEN {start_ns:Int64} AND {end_ns:Int64}",
                {
                    "service": service,
                    "name": name,
                    "bound_ns": bound_ns,
                    "start_ns": window.start_ns,
                    "end_ns": window.end_ns - 1,
                },
            )
            assert slices.sum(0)[4:].tolist() == [int(row["singles"]), int(row["ns"])]


def test_few_transactions_are_not_judged(engine: Engine, stored: Stored) -> None:
    usual, now = stored.sides("seeded")
    short = replace(now, window=Window(stored.changed_ns, stored.changed_ns + 5 * S))
    answer = diff(engine, usual, short, stored.end_ns)
    assert answer.tested == 0
    assert {each.change for each in answer.kinds} <= {"too_few", "new", "gone"}
    # a kind is missing in five seconds by chance
    assert all(each.p_value is not None and each.p_value > 0.01 for each in answer.kinds if each.change == "gone")


def test_a_sample_of_very_many_transactions_is_compared(
    engine: Engine, stored: Stored, seeded: Diff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "MOST_READ", 1_000)
    usual, now = (
        replace(each, filters=Filters(service="seeded", where="duration >= 0")) for each in stored.sides("seeded")
    )
    answer = diff(engine, usual, now, stored.end_ns)
    assert answer.usual.one_in >= 16
    assert answer.usual.transactions == pytest.approx(seeded.usual.transactions, rel=0.3)
    assert 0 < answer.tested <= seeded.tested
    assert {name for name, (change, _) in changed(answer).items() if change in ("slower", "faster")} <= {
        "slower",
        "faster",
    }
    assert all(each.usual is None or each.usual.transactions % answer.usual.one_in == 0 for each in answer.kinds)


def test_an_empty_side_is_named(engine: Engine, stored: Stored) -> None:
    usual, now = stored.sides("seeded")
    empty = replace(usual, filters=Filters(service="seeded", version="0.1"))
    with pytest.raises(NotStored, match=r"no transaction of version 0\.1 started between") as refused:
        diff(engine, empty, now, stored.end_ns)
    assert refused.value.where == "against"


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"versions": ("1", "")}, "version"),
        ({"versions": ("1", "1")}, "version"),
        ({"versions": ("1", "2"), "when": "error"}, "when"),
        ({"versions": ("1", "2"), "against": "2h..1h"}, "against"),
        ({"against_when": "error"}, "against_when"),
        ({"when": "colour = red"}, "where"),
        ({"against": "2h..1h"}, ""),
        ({"during": "1h..now", "against": "2h..30m"}, "against"),
        ({"since": "soon"}, "since"),
    ],
)
def test_a_wrong_question_is_refused(wrong: dict[str, str], where: str) -> None:
    if not where:
        assert sides(10**18, Filters(), **wrong)  # type: ignore[arg-type]
        return
    with pytest.raises(BadParameter) as refused:
        sides(10**18, Filters(), **wrong)  # type: ignore[arg-type]
    assert refused.value.where == where


def test_a_kind_that_is_in_no_slice_that_was_read_is_new_without_certainty(engine: Engine, shop: VisitedShop) -> None:
    """Moments beside minutes: their slices are so short that only every n-th of the long side is read."""
    first_ns, last_ns = (choose(each.started_ns for each in shop.sent) for choose in (min, max))
    of_shop = Filters(service="shop")
    for tenths in range(2, 40, 3):
        at_ns = last_ns - tenths * S // 10
        sides = Scope(Window(first_ns, at_ns), of_shop), Scope(Window(at_ns, last_ns + 1), of_shop)
        one_sided = [each for each in diff(engine, *sides, last_ns).kinds if each.change in ("new", "gone")]
        assert all(0 <= (each.p_value or 0) <= 1 for each in one_sided)
