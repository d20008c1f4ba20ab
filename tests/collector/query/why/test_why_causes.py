"""What `why` says of causes that are hard to arrange: dead caches, keys that moved, calls at once, a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest
from walltime_collector.query.components import Sums
from walltime_collector.query.why.answer import Contribution, Dimension, Population
from walltime_collector.query.why.arithmetic import contribution
from walltime_collector.query.why.cause import failing, find
from walltime_collector.query.why.cause_sentences import of_causes
from walltime_collector.query.why.dimensions import without_effects
from walltime_collector.query.why.sentences import of_failing, of_queue
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


def test_statements_that_misses_add_are_effects_and_one_that_became_slow_is_not() -> None:
    added, new, slow = named("added", 0.1, 0.9), named("new", 0, 0.9), named("slow", 0.5, 0.5)
    host = replace(added, dimension="host")
    targets = [line("memcache.get", gets(400, hits=400), gets(400, hits=0), ONE)]
    emptied = find([MORE_QUERIES], targets, [], {"mysql.query": 1.0})
    assert without_effects([added, new, slow, host], emptied) == (slow, host)
    assert without_effects([added, new, slow, host], find([MORE_QUERIES], [], [], {})) == (added, new, slow, host)


def named(text: str, usual_share: float, slow_share: float) -> Dimension:
    """A statement that explains a part of the difference."""
    return Dimension(
        "statement",
        text,
        same=(),
        values=3,
        usual_transactions=round(N * usual_share),
        slow_transactions=round(N * slow_share),
        usual_share=usual_share,
        slow_share=slow_share,
        lift=slow_share / usual_share if usual_share else None,
        usual_mean_ns=5 * MS,
        slow_mean_ns=9 * MS,
        usual_rest_mean_ns=5 * MS,
        slow_rest_mean_ns=5 * MS,
        more_ns=0,
        slower_ns=4 * MS,
        p_value=0.001,
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


def test_servers_on_which_more_calls_fail_are_named_and_those_that_always_failed_are_not() -> None:
    refused = line("memcache.connect", queries(100), queries(100, errors=100), ONE)
    always = line("mysql.query", queries(100, errors=30), queries(100, errors=35), "db:3306")
    rare = line("http.request", queries(100), queries(100, errors=2), "pay:443")

    assert [of_failing(each) for each in failing([always, rare, refused])] == [
        f"memcache.connect on {ONE}: 100 % of its calls fail instead of none."
    ]


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
