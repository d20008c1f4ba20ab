"""What `why` says of causes that are hard to arrange: dead caches, keys that moved, calls at once, a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest
from walltime_collector.query.components import Sums
from walltime_collector.query.why.answer import Contribution, Population, Verdict
from walltime_collector.query.why.arithmetic import contribution
from walltime_collector.query.why.cause import find
from walltime_collector.query.why.chance import Chance, Judged
from walltime_collector.query.why.sentences import headline, of_calls_alone, of_causes, of_queue
from walltime_collector.query.why.wording import short

MS = 1_000_000
N = 100
ONE, TWO = "127.0.0.1:11211", "127.0.0.1:11212"
SOMEBODY = Population(
    since="2026-11-21T09:00:00.000000000Z",
    until="2026-11-21T09:01:00.000000000Z",
    transactions=N,
    errors=0,
    total_ns=N * 5 * MS,
    mean_ns=5 * MS,
    p50_ns=5 * MS,
    p95_ns=9 * MS,
    p99_ns=9 * MS,
    max_ns=9 * MS,
    cpu_ns=None,
    other_on_cpu_least_ns=None,
    other_on_cpu_most_ns=None,
    queue_ns=None,
)


def line(component: str, usual: Sums, slow: Sums, address: str = "", statement: str = "") -> Contribution:
    return contribution(usual, N, slow, N, component=component, address=address, statement=statement)


def gets(calls: int, hits: int = 0, errors: int = 0) -> Sums:
    return Sums(calls, calls * MS // 10, errors, hits, calls - hits - errors)


def queries(calls: int, each_ns: int = MS, errors: int = 0) -> Sums:
    return Sums(calls, calls * each_ns, errors)


MORE_QUERIES = line("mysql.query", queries(200), queries(600))


def test_a_cache_that_fails_is_named_with_its_failures() -> None:
    targets = [
        line("memcache.get", gets(400, hits=400), gets(400, errors=400), ONE),
        line("memcache.get", gets(400, hits=400), gets(400, hits=396), TWO),
    ]
    (said,) = of_causes(find([MORE_QUERIES], targets, [], {"mysql.query": 1.0}), SOMEBODY, SOMEBODY)

    assert said == (
        "mysql.query: 3.0× the calls (2 → 6) at the usual speed (1.00 ms each), +4.00 ms, because memcache.get on"
        f" {ONE} fails in 100 % of its calls; {TWO} is unchanged (99.0 %)."
    )


def test_a_cache_whose_keys_moved_to_the_other_is_named_too() -> None:
    targets = [
        line("memcache.get", gets(400, hits=400), gets(10, hits=10), ONE),
        line("memcache.get", gets(400, hits=400), gets(790, hits=390), TWO),
    ]
    (said,) = of_causes(find([MORE_QUERIES], targets, [], {"mysql.query": 1.0}), SOMEBODY, SOMEBODY)

    assert f"because memcache.get on {TWO} is asked 2.0× as often and hits 49 % instead of 100 %;" in said
    assert said.endswith(f"{ONE} is hardly asked any more.")


@pytest.mark.parametrize("calls_per_lost", [{"mysql.query": 0.1}, {"http.request": 1.0}])
def test_misses_that_no_query_follows_are_not_blamed_for_queries(calls_per_lost: dict[str, float]) -> None:
    targets = [line("memcache.get", gets(400, hits=400), gets(400), ONE)]
    (said,) = of_causes(find([MORE_QUERIES], targets, [], calls_per_lost), SOMEBODY, SOMEBODY)
    assert "because" not in said


def test_where_nothing_varies_within_the_populations_the_numbers_must_match() -> None:
    all_lost, few_lost = gets(400), gets(400, hits=390)
    for now, is_blamed in ((all_lost, True), (few_lost, False)):
        targets = [line("memcache.get", gets(400, hits=400), now, ONE)]
        (said,) = of_causes(find([MORE_QUERIES], targets, [], {}), SOMEBODY, SOMEBODY)
        assert ("because" in said) is is_blamed


def test_the_same_reason_is_given_once() -> None:
    stores = line("memcache.set", Sums(), queries(400, MS // 2))
    targets = [line("memcache.get", gets(400, hits=400), gets(400), ONE)]
    follows = {"mysql.query": 1.0, "memcache.set": 1.0}
    first, second = of_causes(find([MORE_QUERIES, stores], targets, [], follows), SOMEBODY, SOMEBODY)

    assert f"because memcache.get on {ONE} hits 0 % instead of 100 %." in first
    assert second == "memcache.set: calls that were not made before (4 a transaction), +2.00 ms, for the same reason."


def test_one_statement_sent_more_often_is_named_with_its_calls() -> None:
    statements = [
        line("", queries(100), queries(500), statement="SELECT name, price FROM product WHERE id = %s"),
        line("", queries(100), queries(100), statement="SELECT 1"),
    ]
    target = line("mysql.query", queries(200), queries(600), "db:3306")
    (said,) = of_causes(find([MORE_QUERIES], [target], statements, {}), SOMEBODY, SOMEBODY)
    assert said.endswith("most of it in `SELECT … FROM product WHERE id = %s` (1 → 5 calls), on db:3306.")


def test_what_got_faster_does_not_explain_why_it_got_slower() -> None:
    faster = line("http.request", queries(100, 9 * MS), queries(100, 8 * MS))
    assert [each.part.component for each in find([MORE_QUERIES, faster], [], [], {})] == ["mysql.query"]
    slower = line("http.request", queries(100, 9 * MS), queries(100, 19 * MS))
    assert [each.part.component for each in find([MORE_QUERIES, slower], [], [], {})] == ["http.request", "mysql.query"]


def test_calls_that_no_longer_run_at_the_same_time_are_reported_as_overlap() -> None:
    overlap = line("overlap", Sums(time_ns=-800 * MS), Sums(time_ns=-100 * MS))
    (said,) = of_causes(find([overlap], [], [], {}), SOMEBODY, SOMEBODY)
    assert said == "overlap: calls that ran at the same time saved 1.00 ms instead of 8.00 ms."


def test_a_longer_queue_is_reported_beside_the_times() -> None:
    before, now = replace(SOMEBODY, queue_ns=0.1 * MS), replace(SOMEBODY, queue_ns=30.0 * MS)
    assert of_queue(before, now).startswith("Before they began they queued for 30.0 ms instead of 100 µs")
    assert of_queue(before, before) == of_queue(SOMEBODY, now) == ""


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT id,\n  name FROM product\n WHERE id = %s", "SELECT … FROM product WHERE id = %s"),
        ("INSERT INTO cart (a, b) VALUES (?, ?)", "INSERT INTO cart (a, b) VALUES (?, ?)"),
        ("UPDATE " + "x" * 200, "UPDATE " + "x" * 82 + "…"),
        ("", ""),
    ],
)
def test_a_statement_in_a_sentence_is_short(statement: str, said: str) -> None:
    assert short(statement) == said


TOLD = Chance(4.0 * MS, 0.0004, 0.1 * MS, 3.0 * MS, 5.0 * MS)
DRIFT = Chance(4.0 * MS, 0.0004, 1.5 * MS, 3.0 * MS, 5.0 * MS)
GUESS = Chance(4.0 * MS, 0.2, 0.1 * MS, -1.0 * MS, 9.0 * MS)


@pytest.mark.parametrize(
    ("verdict", "judged", "said"),
    [
        ("different", TOLD, "5.00 ms → 9.00 ms (+4.00 ms)."),
        ("chance", GUESS, "(+4.00 ms): no difference beyond chance (p = 0.2)."),
        ("chance", DRIFT, "no difference beyond chance (the usual time goes up and down as much by itself)."),
        ("small", TOLD, "(+4.00 ms): more than chance, but little."),
        ("too_few", None, "but with 100 transactions against 100, this can be chance."),
        ("selected", None, "the slowest 50 % take 9.00 ms, the others 5.00 ms (+4.00 ms)."),
    ],
)
def test_the_headline_states_how_certain_it_is(verdict: Verdict, judged: Chance | None, said: str) -> None:
    line = headline("GET /", verdict, judged, SOMEBODY, replace(SOMEBODY, mean_ns=9 * MS))
    assert line.startswith("GET /: ")
    assert line.endswith(said)


def test_the_headline_says_that_a_few_slow_ones_can_be_alike_by_chance() -> None:
    usual, slow = replace(SOMEBODY, transactions=19), replace(SOMEBODY, transactions=2, mean_ns=9 * MS)
    line = headline("GET /", "selected", None, usual, slow)
    said = "; but with 2 transactions against 19, what these have in common can be chance."
    assert line.endswith("(+4.00 ms)" + said)
    assert said not in headline(
        "GET /", "selected", None, replace(usual, transactions=190), replace(slow, transactions=10)
    )


def test_calls_alone_prove_a_difference_only_in_its_own_direction_and_only_a_large_one() -> None:
    assert Judged(GUESS, TOLD).calls_differ(1.0 * MS)
    assert not Judged(GUESS, TOLD).calls_differ(5.0 * MS)
    assert not Judged(replace(GUESS, difference_ns=-4.0 * MS), TOLD).calls_differ(1.0 * MS)
    assert not Judged(GUESS, DRIFT).calls_differ(1.0 * MS)
    assert of_calls_alone(GUESS, TOLD) == (
        "The times alone could be chance (p = 0.2), the number of calls could not (p < 0.001)."
    )
