"""What `why` says of changes whose cause is known, in a real engine; and that it says nothing where nothing changed."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import pytest
from rich.console import Console
from walltime_collector.cli.why import render
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.conversion import from_json
from walltime_collector.errors import BadParameter, NotStored
from walltime_collector.format import iso_time
from walltime_collector.query.statistics import CHANCE
from walltime_collector.query.transaction.show import show
from walltime_collector.query.why.answer import Contribution, Why
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window, comparison

from tests.by_day import by_day
from tests.collector.simulated_shop import CACHE_1, CACHE_2, MINUTE_NS, SECOND_NS, USUAL, Page, simulate
from tests.servers import with_tables

REPETITIONS, BY_NIGHT = 3, 20
FEWER, FEWER_BY_NIGHT = 2, 5
USUAL_TRANSACTIONS, SLOW_TRANSACTIONS = 1500, 300

CAUSES = {
    "cache 1 emptied": Page(hits_1=0.12),
    "both caches emptied": Page(hits_1=0.2, hits_2=0.3),
    "cache 2 slow": Page(cache_2_slowness=12),
    "index dropped": Page(statement_slowness=25),
    "more http": Page(http_calls=8),
    "http times out": Page(http_slowness=30, http_failures=0.6),
    "more cpu": Page(more_cpu_ns=4e6),
    "waits": Page(more_waiting_ns=4e6),
    "busy machine": Page(slowness=2),
    "nothing": USUAL,
}
STORY = ("cache 1 emptied", "cache 2 slow", "index dropped")
"""The causes of the demo and its tests: these must be right in all repetitions; of the others a few are enough."""
SAYS = {
    "cache 1 emptied": [
        r"mysql.query: ",
        " at the usual speed (",
        f"because memcache.get on {CACHE_1} hits 1",
        f"; {CACHE_2} is unchanged (9",
    ],
    "both caches emptied": ["mysql.query: ", f"memcache.get on {CACHE_1} hits ", f"memcache.get on {CACHE_2} hits "],
    "cache 2 slow": ["memcache.get: each call takes ", f", on {CACHE_2} (", f"; {CACHE_1} is unchanged."],
    "index dropped": ["mysql.query: each call takes ", "most of it in `SELECT … FROM reviews WHERE", "127.0.0.1:3306"],
    "more http": ["http.request: ", "× the calls (0.", "127.0.0.1:8000"],
    "http times out": ["http.request: each call takes ", "127.0.0.1:8000; ", " of its calls fail instead of none"],
    "more cpu": ["other, in no measured call: ", "so this is computing."],
    "waits": ["other, in no measured call: ", "so this is waiting that is not measured"],
    "busy machine": ["Everything alike takes ", "rather the machine"],
}


@dataclass
class Days:
    """The usual page for five minutes, then a minute of the page with each cause; all of it so many times."""

    engine: EmbeddedEngine
    start_ns: int
    repetitions: int
    answers: dict[tuple[str, int], Why] = field(default_factory=dict)

    @property
    def usual(self) -> Window:
        return Window(self.start_ns, self.start_ns + 5 * MINUTE_NS)

    def minute(self, cause: str) -> Window:
        start_ns = self.start_ns + (6 + list(CAUSES).index(cause)) * MINUTE_NS
        return Window(start_ns, start_ns + MINUTE_NS)

    def why(self, cause: str, repetition: int = 0) -> Why:
        if (cause, repetition) not in self.answers:
            compared = Comparison(self.minute(cause), self.usual)
            self.answers[cause, repetition] = explain(self.engine, name(repetition), compared)
        return self.answers[cause, repetition]

    def right_causes(self, cause: str, repetitions: int) -> None:
        """Fail unless each repetition is explained by its cause."""
        for repetition in range(repetitions):
            answer = self.why(cause, repetition)
            assert answer.verdict == "different"
            for words in SAYS[cause]:
                assert words in answer.headline, (repetition, answer.headline)

    def false_alarms(self) -> int:
        """How many repetitions of `nothing` are called a change."""
        verdicts = [self.why("nothing", repetition).verdict for repetition in range(self.repetitions)]
        return self.repetitions - verdicts.count("chance")


def name(repetition: int) -> str:
    return f"GET /product/{{id}}/{repetition}"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    yield from simulated(tmp_path_factory.mktemp("days"), REPETITIONS)


@pytest.fixture(scope="module")
def many_days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    yield from simulated(tmp_path_factory.mktemp("days"), BY_NIGHT)


def simulated(folder: Path, repetitions: int) -> Iterator[Days]:
    engine = EmbeddedEngine(with_tables(folder), "walltime")
    engine.migrate()
    days = Days(engine, time.time_ns() - 60 * MINUTE_NS, repetitions)
    days.start_ns -= days.start_ns % SECOND_NS
    minutes = [(page, days.minute(cause), SLOW_TRANSACTIONS) for cause, page in CAUSES.items()]
    for seed, (page, window, transactions) in enumerate([(USUAL, days.usual, USUAL_TRANSACTIONS), *minutes]):
        simulate(
            engine,
            page,
            seed=seed,
            kinds=repetitions,
            transactions=repetitions * transactions,
            from_ns=window.start_ns,
            length_ns=window.end_ns - window.start_ns,
        )
    yield days
    engine.close()


def said(answer: Why, width: int = 120) -> str:
    console = Console(width=width, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(render(answer, console))
    return capture.get()


def part(parts: tuple[Contribution, ...], component: str, address: str = "") -> Contribution:
    return next(each for each in parts if (each.component, each.address) == (component, address))


@pytest.mark.parametrize("cause", [*STORY, *by_day([each for each in CAUSES if each not in (*STORY, "nothing")], 2)])
def test_the_right_cause_is_named_in_every_repetition(days: Days, cause: str) -> None:
    days.right_causes(cause, REPETITIONS if cause in STORY else FEWER)


def test_nothing_changed_is_called_a_change_at_most_once(days: Days) -> None:
    assert days.false_alarms() <= 1


@pytest.mark.nightly
@pytest.mark.parametrize("cause", [cause for cause in CAUSES if cause != "nothing"])
def test_the_right_cause_is_named_twenty_times(many_days: Days, cause: str) -> None:
    many_days.right_causes(cause, BY_NIGHT if cause in STORY else FEWER_BY_NIGHT)


@pytest.mark.nightly
def test_nothing_changed_is_called_a_change_at_most_once_in_twenty(many_days: Days) -> None:
    assert many_days.false_alarms() <= 1


def test_no_change_is_one_sentence_without_a_cause(days: Days) -> None:
    answer = next(each for each in (days.why("nothing", at) for at in range(3)) if each.verdict == "chance")

    assert "no difference beyond chance" in answer.headline
    assert len(answer.sentences) == 1


@pytest.mark.parametrize("cause", CAUSES)
def test_the_parts_add_up_to_the_difference_and_the_difference_is_that_of_the_rows(days: Days, cause: str) -> None:
    answer, window = days.why(cause), days.minute(cause)
    means = [
        float(
            days.engine.query(
                "SELECT avg(duration_ns) AS mean FROM transactions WHERE name = {name:String}"
                " AND toUnixTimestamp64Nano(started_at) BETWEEN {start:Int64} AND {end:Int64} - 1",
                {"name": name(0), "start": each.start_ns, "end": each.end_ns},
            )[0]["mean"]
        )
        for each in (days.usual, window)
    ]

    assert answer.difference_ns == pytest.approx(means[1] - means[0])
    assert (answer.usual.transactions, answer.slow.transactions) == (USUAL_TRANSACTIONS, SLOW_TRANSACTIONS)
    single_ns = answer.singles.part_ns if answer.singles else 0.0
    parts_ns = single_ns + sum(each.difference_ns for each in answer.components)
    assert parts_ns == pytest.approx(answer.difference_ns, rel=1e-9)
    for component in ("mysql.query", "memcache.get", "memcache.set", "http.request"):
        whole = part(answer.components, component)
        drilled = [each for each in answer.targets if each.component == component]
        assert sum(each.difference_ns for each in drilled) == pytest.approx(whole.difference_ns, abs=10)
        assert sum(each.slow.calls for each in drilled) == whole.slow.calls
    queries = part(answer.components, "mysql.query")
    assert sum(each.difference_ns for each in answer.statements) == pytest.approx(queries.difference_ns, abs=10)


def test_an_emptied_cache_is_seen_in_calls_hits_and_statements(days: Days) -> None:
    answer = days.why("cache 1 emptied")
    queries = part(answer.components, "mysql.query")
    emptied, other = (part(answer.targets, "memcache.get", cache) for cache in (CACHE_1, CACHE_2))

    assert queries.slow.calls_per_transaction / queries.usual.calls_per_transaction > 2
    assert queries.more_ns > 0.9 * queries.difference_ns
    assert queries.more_ns > 0.7 * answer.difference_ns
    assert emptied.slow.hits / (emptied.slow.hits + emptied.slow.misses) == pytest.approx(0.12, abs=0.04)
    assert other.slow.hits / (other.slow.hits + other.slow.misses) == pytest.approx(0.96, abs=0.02)
    assert sum(each.more_ns for each in answer.statements[:4]) == pytest.approx(queries.more_ns, rel=0.1)


def test_when_the_times_are_too_noisy_the_calls_can_still_be_certain(days: Days) -> None:
    at = {"name": "noisy", "transactions": 120, "length_ns": MINUTE_NS}
    for seed, (page, window) in enumerate(
        [(USUAL, days.usual), (Page(hits_1=0.4), days.minute("cache 1 emptied")), (USUAL, days.minute("nothing"))]
    ):
        simulate(days.engine, replace(page, noise=1.6), seed=seed, from_ns=window.start_ns, **at)  # type: ignore[arg-type]
    emptied, nothing = (
        explain(days.engine, "noisy", Comparison(days.minute(cause), days.usual))
        for cause in ("cache 1 emptied", "nothing")
    )

    assert emptied.p_value is not None
    assert emptied.p_value > CHANCE > (emptied.calls_p_value or 1.0)
    assert emptied.verdict == "different"
    assert f"because memcache.get on {CACHE_1} hits" in emptied.headline
    assert "The times alone could be chance" in emptied.sentences[-1]
    assert nothing.verdict == "chance"


def test_the_other_way_round_it_got_faster_because_the_cache_answers(days: Days) -> None:
    answer = explain(days.engine, name(0), Comparison(days.usual, days.minute("cache 1 emptied")))

    assert answer.difference_ns < 0
    assert "% of the calls (" in answer.headline
    assert f"because memcache.get on {CACHE_1} hits 96 % instead of 1" in answer.headline


def test_the_bounds_for_computing_and_waiting_in_other_hold(days: Days) -> None:
    for cause, grew_ns in (("more cpu", 4e6), ("waits", 0)):
        answer = days.why(cause)
        usual, slow = answer.usual, answer.slow
        assert usual.cpu_ns is not None
        assert slow.cpu_ns is not None
        assert slow.cpu_ns - usual.cpu_ns == pytest.approx(grew_ns, abs=0.5e6)
        for side, other in ((usual, "usual"), (slow, "slow")):
            cost = getattr(part(answer.components, "other"), other)
            assert side.other_on_cpu_least_ns is not None
            assert side.other_on_cpu_most_ns is not None
            assert 0 <= side.other_on_cpu_least_ns <= side.other_on_cpu_most_ns <= cost.mean_ns


def test_a_transaction_belongs_to_the_time_it_started_in_and_to_one_side_only(days: Days) -> None:
    for at in (0, 59 * SECOND_NS, 60 * SECOND_NS):
        simulate(days.engine, USUAL, seed=at + 7, transactions=20, from_ns=days.start_ns + at, length_ns=1, name="edge")
    edge_ns = days.start_ns + 60 * SECOND_NS
    answer = explain(days.engine, "edge", Comparison(Window(edge_ns, edge_ns + 1), Window(days.start_ns, edge_ns)))

    assert (answer.usual.transactions, answer.slow.transactions) == (40, 20)


def test_by_percentile_the_slowest_are_compared_with_all_the_others(days: Days) -> None:
    window = days.minute("cache 1 emptied")
    answer = explain(days.engine, name(0), Comparison(window, window, 5.0))

    assert answer.verdict == "selected"
    assert answer.p_value is None
    assert (answer.slow.transactions, answer.usual.transactions) == (15, 285)
    assert answer.usual.max_ns < answer.threshold_ns
    assert answer.headline.startswith(f"{name(0)}: the slowest 5 % take ")
    assert sum(each.difference_ns for each in answer.components) == pytest.approx(answer.difference_ns)


def test_examples_are_as_long_as_the_mean_of_their_population_and_can_be_shown(days: Days) -> None:
    answer = days.why("index dropped")

    assert len(answer.usual_examples) == len(answer.slow_examples) == 3
    for side, examples in ((answer.usual, answer.usual_examples), (answer.slow, answer.slow_examples)):
        for each in examples:
            assert side.mean_ns / 2 < each.duration_ns < 2 * side.mean_ns
            assert side.since <= each.started_at < side.until
            trace = show(days.engine, each.trace_id)
            assert trace is not None
            assert each.duration_ns in [bill.duration_ns for bill in trace.transactions]


def test_with_too_few_transactions_the_verdict_is_too_few(days: Days) -> None:
    minute = days.minute("cache 1 emptied")
    second = Window(minute.start_ns, minute.start_ns + SECOND_NS)
    answer = explain(days.engine, name(0), Comparison(second, days.usual))

    assert 0 < answer.slow.transactions < 10
    assert answer.verdict == "too_few"
    assert f"with {answer.slow.transactions} transaction" in answer.headline
    assert "this can be chance" in answer.headline


def test_calls_that_were_not_made_before_are_called_so(days: Days) -> None:
    nothing, eight = Page(http_calls=0), Page(http_calls=8)
    at = {"name": "new calls", "transactions": 200, "length_ns": MINUTE_NS}
    simulate(days.engine, nothing, seed=1, from_ns=days.usual.start_ns, **at)  # type: ignore[arg-type]
    simulate(days.engine, eight, seed=2, from_ns=days.usual.end_ns, **at)  # type: ignore[arg-type]
    after = Window(days.usual.end_ns, days.usual.end_ns + MINUTE_NS)
    answer = explain(days.engine, "new calls", Comparison(after, days.usual))

    http = part(answer.components, "http.request")
    assert (http.more_ns, http.slower_ns, http.usual.per_call_ns) == (http.difference_ns, 0, None)
    assert "http.request: calls that were not made before (2" in answer.headline


def test_an_unknown_kind_is_answered_with_the_names_that_are_like_it(days: Days) -> None:
    with pytest.raises(NotStored, match=r"no transaction 'GET /produkt/\{id\}/3' is stored; there is .*'GET /product/"):
        explain(days.engine, "GET /produkt/{id}/3", Comparison(days.minute("nothing"), days.usual))


@pytest.mark.parametrize("empty", ["slow", "usual"])
def test_an_empty_population_is_an_error_that_names_it(days: Days, empty: str) -> None:
    never = Window(days.start_ns - 2 * MINUTE_NS, days.start_ns - MINUTE_NS)
    compared = Comparison(never, days.usual) if empty == "slow" else Comparison(days.minute("nothing"), never)
    with pytest.raises(NotStored) as caught:
        explain(days.engine, name(0), compared)
    assert caught.value.where == {"slow": "during", "usual": "against"}[empty]
    assert f"between {iso_time(never.start_ns)[:19]}Z and {iso_time(never.end_ns)[:19]}Z" in caught.value.what


def test_a_kind_of_several_services_is_ambiguous_until_the_service_is_named(days: Days) -> None:
    for service in ("shop", "api"):
        for seed, window in ((3, days.usual), (4, days.minute("nothing"))):
            at = {"from_ns": window.start_ns, "length_ns": MINUTE_NS, "name": "GET /", "service": service}
            simulate(days.engine, USUAL, seed=seed, transactions=50, **at)  # type: ignore[arg-type]
    compared = Comparison(days.minute("nothing"), days.usual)
    with pytest.raises(BadParameter, match="several services: api, shop; say --service"):
        explain(days.engine, "GET /", compared)

    answer = explain(days.engine, "GET /", compared, service="api")
    assert (answer.service, answer.slow.transactions) == ("api", 50)
    with pytest.raises(NotStored, match="of service 'x\" OR 1' is stored"):
        explain(days.engine, "GET /", compared, service='x" OR 1')


def test_all_transactions_equally_long_cannot_be_compared_by_percentile(days: Days) -> None:
    days.engine.command(
        "INSERT INTO transactions (trace_id, span_id, name, service, started_at, duration_ns)"
        " SELECT toString(number), toString(number), 'same', 'shop', now64(9) - 10, 5000000 FROM numbers(100)"
    )
    with pytest.raises(NotStored, match="took equally long"):
        explain(days.engine, "same", comparison(time.time_ns()))


@pytest.mark.parametrize("width", [50, 80, 111, 112, 120, 200])
@pytest.mark.parametrize("cause", ["cache 1 emptied", "http times out", "nothing"])
def test_the_picture_fits_every_width_and_shows_parts_servers_and_examples(days: Days, width: int, cause: str) -> None:
    answer = days.why(cause)
    shown = said(answer, width)

    assert max(len(line.rstrip()) for line in shown.splitlines()) <= width
    assert "\x1b" not in shown
    for sentence in answer.sentences:
        assert " ".join(sentence.removeprefix(f"{name(0)}:").split()) in " ".join(shown.split())
    for example in (*answer.usual_examples, *answer.slow_examples):
        assert width < 60 or example.trace_id in shown
    if cause == "cache 1 emptied":
        assert CACHE_1 in shown
        assert CACHE_2 in shown
        assert "hit" in shown


def bars(answer: Why) -> dict[str, str]:
    """Component → its bar as it is without colours: m for more calls, s for slower ones."""
    found = [re.match(r"  (\S+) +\S+ [µm]?s  ( *[ms]+)  ", line) for line in said(answer, 160).splitlines()]
    return {line[1]: line[2] for line in found if line}


def test_bars_are_as_long_as_the_contributions_and_of_the_right_kind(days: Days) -> None:
    emptied = days.why("cache 1 emptied")
    queries, stored = (part(emptied.components, each) for each in ("mysql.query", "memcache.set"))
    drawn = bars(emptied)
    more = {component: bar.count("m") for component, bar in drawn.items()}

    assert more["memcache.set"] / more["mysql.query"] == pytest.approx(
        stored.more_ns / queries.more_ns, abs=1 / more["mysql.query"]
    )
    assert drawn["mysql.query"].count("s") <= 1 + more["mysql.query"] * abs(queries.slower_ns / queries.more_ns)
    assert "m" not in bars(days.why("index dropped"))["mysql.query"]


def test_the_answer_survives_json(days: Days) -> None:
    answer = days.why("cache 1 emptied")
    assert from_json(Why, asdict(answer)) == answer


def test_every_call_kept_is_printed_only_for_transactions_of_walltime(days: Days) -> None:
    answer = days.why("cache 1 emptied", 0)
    assert len(answer.slow_examples) == len(answer.usual_examples) == 3
    for kept, times in (("slow", 3), ("", 0), ("foreign", 0)):
        slow = tuple(replace(each, kept=kept) for each in answer.slow_examples)
        usual = tuple(replace(each, kept="") for each in answer.usual_examples)
        shown = said(replace(answer, slow_examples=slow, usual_examples=usual))
        assert shown.count("every call kept") == times
