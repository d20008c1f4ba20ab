"""What `why` says of causes that are hard to arrange: dead caches, keys that moved, calls at once, a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest
from walltime_collector.clickhouse.engine import Engine, Parameter
from walltime_collector.query.components import Sums
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.answer import Contribution, Dimension, Population, Verdict
from walltime_collector.query.why.arithmetic import contribution
from walltime_collector.query.why.because import Lookup, Lookups
from walltime_collector.query.why.cause import Cause, everything_is_slower, failing, find
from walltime_collector.query.why.cause_sentences import findings
from walltime_collector.query.why.chance import Chance, Judged
from walltime_collector.query.why.dimensions import without_effects
from walltime_collector.query.why.reading import Reading
from walltime_collector.query.why.sentences import headline, of_calls_alone, of_failing, of_queue
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
EMPTIED = Lookups("because", (Lookup(line("memcache.get", FULL, EMPTY, ONE), 4.0),), follow=4.0)


def test_a_cache_that_fails_is_named_with_its_failures(reading: Reading) -> None:
    failed = Lookup(line("memcache.get", FULL, gets(400, errors=400), ONE), 4.0)
    steady = Lookup(line("memcache.get", FULL, gets(400, hits=396), TWO), 0.04)
    caches = Lookups("because", (failed,), steady=(steady,), follow=4.0)

    assert said(reading, Cause(MORE_QUERIES, True, False, caches)) == [
        "mysql.query: 3.0× the calls (2 → 6) at the usual speed (1.00 ms each), +4.00 ms, because memcache.get on"
        f" {ONE} fails in 100 % of its calls; {TWO} is unchanged (99.0 %)."
    ]


def test_statements_that_misses_add_are_effects_and_one_that_became_slow_is_not() -> None:
    added, new, slow = named("added", 0.1, 0.9), named("new", 0, 0.9), named("slow", 0.5, 0.5)
    host = replace(added, dimension="host")
    emptied, other = Cause(MORE_QUERIES, True, False, EMPTIED), Cause(MORE_QUERIES, True, False)
    assert without_effects([added, new, slow, host], [emptied]) == (slow, host)
    assert without_effects([added, new, slow, host], [other]) == (added, new, slow, host)


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


def test_a_cache_whose_keys_moved_to_the_other_is_named_too(reading: Reading) -> None:
    left = Lookup(line("memcache.get", FULL, gets(10, hits=10), ONE), 0.0)
    asked = Lookup(line("memcache.get", FULL, gets(790, hits=390), TWO), 4.0)
    (sentence,) = said(
        reading, Cause(MORE_QUERIES, True, False, Lookups("because", (asked,), abandoned=(left,), follow=4.0))
    )
    assert f"because memcache.get on {TWO} is asked 2.0× as often and hits 49 % instead of 100 %;" in sentence
    assert sentence.endswith(f"{ONE} is hardly asked any more.")


def test_a_cache_that_is_only_asked_more_often_is_not_said_to_hit_less(reading: Reading) -> None:
    more = Lookup(line("memcache.get", gets(400, hits=200), gets(1200, hits=590), ONE), 4.0)
    (sentence,) = said(reading, Cause(MORE_QUERIES, True, False, Lookups("because", (more,), follow=4.0)))
    assert sentence.endswith(f", because memcache.get on {ONE} is asked 3.0× as often (and hits 49 %).")


def test_a_reason_for_more_calls_is_none_for_slower_ones(reading: Reading) -> None:
    slower = line("mysql.query", queries(200), queries(600, 2 * MS))
    assert said(reading, Cause(slower, True, True, EMPTIED)) == [
        "mysql.query: 3.0× the calls (2 → 6), and each call takes 2.0× as long (1.00 ms → 2.00 ms each), +10.0 ms,"
        f" the number of calls because memcache.get on {ONE} hits 0 % instead of 100 %."
    ]


def test_caches_that_changed_at_the_same_time_are_not_blamed(reading: Reading) -> None:
    alone, some = replace(EMPTIED, outcome="same_time", follow=0.0), replace(EMPTIED, outcome="same_time", follow=1.3)
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
