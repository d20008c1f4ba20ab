"""What `why` says of causes that are hard to arrange: dead caches, keys that moved, calls at once, a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest
from walltime_collector.clickhouse.engine import Engine, Parameter
from walltime_collector.query.components import Sums
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.answer import Contribution, Population
from walltime_collector.query.why.arithmetic import contribution
from walltime_collector.query.why.causes.because import Lookups
from walltime_collector.query.why.causes.cause import Cause, everything_is_slower, find
from walltime_collector.query.why.causes.sentences import findings
from walltime_collector.query.why.reading import Reading
from walltime_collector.query.why.values import NO_MIX
from walltime_collector.query.why.wording import short
from walltime_collector.query.windows import Comparison, Window

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


@pytest.fixture
def reading(engine: Engine) -> Reading:
    """Of two windows without a transaction."""
    compared = Comparison(Window(2, 3), Window(1, 2))
    params: dict[str, Parameter] = {
        **Filters().parameters(),
        **compared.parameters(),
        "minutes": (),
        "threshold_ns": 0,
        "when": "",
        "bound_ns": 2**63 - 1,
        **NO_MIX,
    }
    return Reading(engine, params, compared, SOMEBODY, SOMEBODY, ())


def said(reading: Reading, *causes: Cause) -> list[str]:
    return [each.sentence for each in findings(reading, causes)]


def split(
    reading: Reading,
    *components: Contribution,
    targets: tuple[Contribution, ...] = (),
    statements: tuple[Contribution, ...] = (),
) -> list[str]:
    """What is said of these components."""
    read = replace(reading, components=components, targets=targets, statements=statements)
    return said(read, *find(read))


def gets(calls: int, hits: int = 0, errors: int = 0) -> Sums:
    return Sums(calls, calls * MS // 10, errors, hits, calls - hits - errors)


def queries(calls: int, each_ns: int = MS, errors: int = 0) -> Sums:
    return Sums(calls, calls * each_ns, errors)


MORE_QUERIES = line("mysql.query", queries(200), queries(600))


FULL, EMPTY = gets(400, hits=400), gets(400)
EMPTIED = Lookups((line("memcache.get", FULL, EMPTY, ONE),), is_why=True, follow=4.0)


def test_a_cache_that_fails_is_named_with_its_failures(reading: Reading) -> None:
    failed = line("memcache.get", FULL, gets(400, errors=400), ONE)
    steady = line("memcache.get", FULL, gets(400, hits=396), TWO)
    caches = Lookups((failed,), is_why=True, steady=(steady,), follow=4.0)

    assert said(reading, Cause(MORE_QUERIES, True, False, caches)) == [
        "mysql.query: 3.0× the calls (2 → 6) at the usual speed (1.00 ms each), +4.00 ms, because memcache.get on"
        f" {ONE} fails in 100 % of its calls; {TWO} is unchanged (99.0 %)."
    ]


def test_a_cache_whose_keys_moved_to_the_other_is_named_too(reading: Reading) -> None:
    left = line("memcache.get", FULL, gets(10, hits=10), ONE)
    asked = line("memcache.get", FULL, gets(790, hits=390), TWO)
    (sentence,) = said(
        reading, Cause(MORE_QUERIES, True, False, Lookups((asked,), is_why=True, abandoned=(left,), follow=4.0))
    )
    assert f"because memcache.get on {TWO} is asked 2.0× as often and hits 49 % instead of 100 %;" in sentence
    assert sentence.endswith(f"{ONE} is hardly asked any more.")


def test_a_cache_that_is_only_asked_more_often_is_not_said_to_hit_less(reading: Reading) -> None:
    more = line("memcache.get", gets(400, hits=200), gets(1200, hits=590), ONE)
    (sentence,) = said(reading, Cause(MORE_QUERIES, True, False, Lookups((more,), is_why=True, follow=4.0)))
    assert sentence.endswith(f", because memcache.get on {ONE} is asked 3.0× as often (and hits 49 %).")


def test_a_reason_for_more_calls_is_none_for_slower_ones(reading: Reading) -> None:
    slower = line("mysql.query", queries(200), queries(600, 2 * MS))
    assert said(reading, Cause(slower, True, True, EMPTIED)) == [
        "mysql.query: 3.0× the calls (2 → 6), and each call takes 2.0× as long (1.00 ms → 2.00 ms each), +10.0 ms,"
        f" the number of calls because memcache.get on {ONE} hits 0 % instead of 100 %."
    ]


def test_caches_that_changed_at_the_same_time_are_not_blamed(reading: Reading) -> None:
    alone, some = replace(EMPTIED, is_why=False, follow=0.0), replace(EMPTIED, is_why=False, follow=1.3)
    start = "mysql.query: 3.0× the calls (2 → 6) at the usual speed (1.00 ms each), +4.00 ms; "
    cache = f"memcache.get on {ONE} hits 0 % instead of 100 %."

    assert said(reading, Cause(MORE_QUERIES, True, False, alone)) == [f"{start}at the same time {cache}"]
    assert said(reading, Cause(MORE_QUERIES, True, False, some)) == [
        f"{start}of the 4 more calls 1.3 follow lost lookups: {cache}"
    ]
    assert said(reading, Cause(MORE_QUERIES, True, False, replace(EMPTIED, follow=2.5)))[0].endswith(
        f", because memcache.get on {ONE} hits 0 % instead of 100 %; of the 4 more calls 2.5 follow lost lookups."
    )


def test_the_same_reason_is_given_once(reading: Reading) -> None:
    stores = line("memcache.set", Sums(), queries(400, MS // 2))
    first, second = said(reading, *(Cause(each, True, False, EMPTIED) for each in (MORE_QUERIES, stores)))

    assert f"because memcache.get on {ONE} hits 0 % instead of 100 %." in first
    assert second == "memcache.set: calls that were not made before (4 a transaction), +2.00 ms, for the same reason."


def test_calls_take_longer_on_average_when_others_are_made(reading: Reading) -> None:
    whole = line("mysql.query", queries(200), queries(200, 4 * MS))
    cheap = line("", queries(200), queries(50), statement="SELECT cheap FROM item")
    dear = line("", Sums(), queries(150, 5 * MS), statement="SELECT dear FROM item")
    (sentence,) = split(reading, whole, statements=(cheap, dear))

    assert sentence == (
        "mysql.query: the average call takes 4.0× as long (1.00 ms → 4.00 ms each), of other statements, +6.00 ms, most"
        " of it in `SELECT … FROM item` (0 → 1.5 calls)."
    )
    one, two = (
        line("mysql.query", queries(200), queries(50), ONE),
        line("mysql.query", Sums(), queries(150, 5 * MS), TWO),
    )
    assert ", of other servers, +6.00 ms, on " in split(reading, whole, targets=(one, two))[0]


def test_most_of_it_is_in_a_statement_only_when_it_has_most_of_it(reading: Reading) -> None:
    for calls, is_named in ((500, True), (180, False)):
        sent = line("", queries(100), queries(calls), statement="SELECT 1 FROM item")
        rest = line("", queries(100), queries(100), statement="SELECT 2 FROM item")
        assert ("most of it in" in split(reading, MORE_QUERIES, statements=(sent, rest))[0]) is is_named
    rest = line("", queries(100), queries(500), statement="(other)")
    assert "most of it" not in split(reading, MORE_QUERIES, statements=(rest,))[0]


def test_one_statement_that_is_a_little_slower_is_named_where_the_others_are_as_usual(reading: Reading) -> None:
    part = line("mysql.query", queries(400), Sums(400, 424 * MS), "")
    slower = line("mysql.query", queries(100), Sums(100, 124 * MS), statement="SELECT 1 FROM reviews")
    others = [line("mysql.query", queries(100), queries(100), statement=f"SELECT {at}") for at in range(3)]
    (cause,) = find(replace(reading, components=(part,), statements=(slower, *others)))
    assert cause.statements == (slower,)
    alike = [line("mysql.query", queries(100), Sums(100, 120 * MS), statement=f"SELECT {at}") for at in range(3)]
    part = line("mysql.query", queries(400), Sums(400, 484 * MS), "")
    (cause,) = find(replace(reading, components=(part,), statements=(slower, *alike)))
    assert cause.statements == ()


def test_everything_is_slower_only_without_something_new_that_has_the_difference() -> None:
    alike = [line(each, queries(100, 3 * MS), queries(100, 6 * MS)) for each in ("mysql.query", "view", "http.request")]
    assert everything_is_slower(alike) == 2.0
    assert everything_is_slower([*alike, line("memcache.get", Sums(), queries(100, 30 * MS))]) is None


def test_one_statement_sent_more_often_is_named_with_its_calls(reading: Reading) -> None:
    statements = (
        line("", queries(100), queries(500), statement="SELECT name, price FROM product WHERE id = %s"),
        line("", queries(100), queries(100), statement="SELECT 1"),
    )
    target = line("mysql.query", queries(200), queries(600), "db:3306")
    (sentence,) = split(reading, MORE_QUERIES, targets=(target,), statements=statements)
    assert sentence.endswith("most of it in `SELECT … FROM product WHERE id = %s` (1 → 5 calls), on db:3306.")


def test_what_got_faster_does_not_explain_why_it_got_slower(reading: Reading) -> None:
    faster = line("http.request", queries(100, 9 * MS), queries(100, 8 * MS))
    slower = line("http.request", queries(100, 9 * MS), queries(100, 19 * MS))
    for other, components in ((faster, ["mysql.query"]), (slower, ["http.request", "mysql.query"])):
        found = find(replace(reading, components=(MORE_QUERIES, other)))
        assert [each.part.component for each in found] == components


def test_calls_that_no_longer_run_at_the_same_time_are_reported_as_overlap(reading: Reading) -> None:
    overlap = line("overlap", Sums(time_ns=-800 * MS), Sums(time_ns=-100 * MS))
    (sentence,) = split(reading, overlap)
    assert sentence == "overlap: calls that ran at the same time saved 1.00 ms instead of 8.00 ms."


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
