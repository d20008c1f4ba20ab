"""
`walltime why` beside what really happened: a cache restarts, a server gets slow, an index is dropped, nothing happens.

Each scenario is two runs of visits with one change between them. What the servers counted themselves (shop.watch) is
the truth. `make test` restarts a cache once; `make test-nightly` runs each scenario, two of them twenty times.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pymemcache.client.hash import HashClient
from shop.ask import Asker, iso
from shop.load import Crowd, Load, Visit, each_product, visits
from shop.stack import Stack
from shop.story import KIND, restart, warm
from shop.watch import Watch, Window

from tests.server_folder import server_folder
from tests.servers import Collector, over_http

pytestmark = pytest.mark.alone

VISITS, VISITS_BY_NIGHT, VISITS_PER_S = 160, 400, 80.0
AWAY_S = 0.002
REPETITIONS = 20


@dataclass
class Answer:
    """What `walltime why --json` says, and the truth."""

    why: dict[str, Any]
    before: Window
    after: Window

    @property
    def first(self) -> dict[str, Any]:
        """What it names first."""
        cause: dict[str, Any] = self.why["components"][0]
        return cause

    def target(self, component: str, address: str) -> dict[str, Any]:
        (found,) = (
            each for each in self.why["targets"] if (each["component"], each["address"]) == (component, address)
        )
        return dict(found)

    @property
    def is_no_difference(self) -> bool:
        return self.why["verdict"] in {"chance", "small"}


class Lab:
    """
    The shop and a collector; every comparison starts with warm caches.

    Its database is 2 ms away, as in another building; its second cache is behind a proxy that can become slow.
    """

    def __init__(self, stack: Stack, web: str) -> None:
        self.stack = stack
        self.emptied, self.kept = (stack.seen(cache).address for cache in stack.caches)
        self._asker, self._web = Asker(web), web
        self._watch = Watch(stack)
        self._seeds = itertools.count(1)
        self.visits = VISITS
        self._sent = 0

    def compare(self, change: Callable[[], object], plan: Callable[[], Iterable[Visit]] | None = None) -> Answer:
        """Visits, the change, as many visits again; then why the second ones differ."""
        crowd = self._crowd()
        database = self.stack.proxies["mariadb"]
        database.delay_s = 0.0  # filling the caches need not take long
        self._sent += warm(self.stack, crowd)
        database.delay_s = AWAY_S
        windows = []
        for what in (lambda: None, change):
            visited = plan() if plan else visits(next(self._seeds), crowd)
            what()
            load = Load(self.stack.url, visited, threads=2, rate=VISITS_PER_S, limit=self.visits)
            with self._watch.window(load) as window:
                sent = load.start().wait()
            assert sent.errors == 0
            self._sent += sent.total
            windows.append(window)
        self._wait_until_visible()
        during, against = (f"{iso(each.since_ns)}..{iso(each.until_ns)}" for each in reversed(windows))
        return Answer(self._asker.read("why", KIND, "--during", during, "--against", against), *windows)

    def restart_a_cache(self) -> Answer:
        return self.compare(lambda: restart(self.stack.caches[0]))

    def slow_down_a_cache(self) -> Answer:
        proxy = self.stack.proxies["memcached-2"]

        def change() -> None:
            proxy.delay_s = 0.003

        try:
            return self.compare(change)
        finally:
            proxy.delay_s = 0.0

    def drop_an_index(self) -> Answer:
        """The index of a statement whose rows are cached, so they are taken out of the caches before both runs."""

        def each_product_without_what_goes_with_it() -> Iterator[Visit]:
            caches = HashClient([self.emptied, self.kept])
            for product in range(1, self.visits + 1):
                caches.delete(f"together:{product}")
            caches.close()
            return each_product(self._crowd())

        def change() -> None:
            self._alter("DROP FOREIGN KEY order_items_ibfk_2, DROP INDEX of_product")

        try:
            return self.compare(change, each_product_without_what_goes_with_it)
        finally:
            self._alter(
                "ADD INDEX of_product (product_id), "
                "ADD CONSTRAINT order_items_ibfk_2 FOREIGN KEY (product_id) REFERENCES products (id)"
            )

    def do_nothing(self) -> Answer:
        return self.compare(lambda: None)

    def _crowd(self) -> Crowd:
        """Looks at product pages only, so that each of MariaDB's SELECTs is one of theirs, and at most of them once."""
        return Crowd(mix={KIND: 1}, products=self.visits, skew=0.5)

    def _alter(self, how: str) -> None:
        with self.stack.mariadb.admin() as connection, connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE order_items {how}")
            cursor.execute("ANALYZE TABLE order_items")

    def _wait_until_visible(self) -> None:
        deadline = time.monotonic() + 20
        seen = -1
        while seen < self._sent and time.monotonic() < deadline:
            seen = over_http("GET", f"{self._web}/api/top?since=1d").json()["transactions"]
            time.sleep(0.05)
        assert seen == self._sent


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with server_folder() as folder, Collector(folder / "collector") as receiver:
        # exported soon: what is waited for after each run is not what is measured
        environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.otlp_url.removesuffix("/v1/traces"),
            "OTEL_BSP_SCHEDULE_DELAY": "200",
        }
        with Stack(folder, environment, workers=2, far={"mariadb": 0.0, "memcached-2": 0.0}) as stack:
            lab = Lab(stack, receiver.web_url)
            lab.do_nothing()  # the first seconds of new servers are not like those that follow
            yield lab


def names_the_restarted_cache(lab: Lab, answer: Answer) -> object:
    first, emptied, kept = answer.first, *(answer.target("memcache.get", each) for each in (lab.emptied, lab.kept))
    return (
        answer.why["verdict"] == "different"
        and first["component"] == "mysql.query"
        and first["more_ns"] > abs(first["slower_ns"])
        and lab.emptied in answer.why["sentences"][1]
        and emptied["slow"]["misses"] > 10 * max(kept["slow"]["misses"], 1)
    )


def names_the_slow_cache(lab: Lab, answer: Answer) -> object:
    first, slow, usual = answer.first, *(answer.target("memcache.get", each) for each in (lab.kept, lab.emptied))
    return (
        answer.why["verdict"] == "different"
        and first["component"] == "memcache.get"
        and first["slower_ns"] > abs(first["more_ns"])
        and slow["slower_ns"] > 5 * abs(usual["slower_ns"])
    )


def first_clear(scenario: Callable[[], Answer], is_clear: Callable[[Answer], object]) -> Answer:
    """
    The first of three tries in which the claim holds.

    A stall of a busy machine (0.3 s are 50 product pages) can hide a difference, or make one. Whether that is rare is
    what the twenty repetitions of the night find out.
    """
    said = []
    for _ in range(3):
        answer = scenario()
        if is_clear(answer):
            return answer
        said.append(answer.why["sentences"])
    pytest.fail(f"{said}")


def test_a_restarted_cache_is_why_there_are_more_queries(lab: Lab) -> None:
    answer = first_clear(lab.restart_a_cache, lambda answer: names_the_restarted_cache(lab, answer))
    first, before, after = answer.first, answer.before, answer.after
    assert first["usual"]["calls"] == before.mariadb["Com_select"]
    assert first["slow"]["calls"] == after.mariadb["Com_select"]
    assert first["slow"]["calls_per_transaction"] > 1.5 * first["usual"]["calls_per_transaction"]
    assert 0.5 < first["slow"]["per_call_ns"] / first["usual"]["per_call_ns"] < 2
    for cache in lab.stack.caches:
        lookups = answer.target("memcache.get", lab.stack.seen(cache).address)
        for counter in ("hits", "misses"):
            assert lookups["usual"][counter] == before.memcached[cache.address][f"get_{counter}"]
            assert lookups["slow"][counter] == after.memcached[cache.address][f"get_{counter}"]


@pytest.mark.nightly
def test_a_slow_cache_is_why_its_calls_take_longer(lab: Lab) -> None:
    answer = first_clear(lab.slow_down_a_cache, lambda answer: names_the_slow_cache(lab, answer))
    assert answer.after.memcached[lab.stack.caches[1].address]["get_misses"] == 0
    # 3 ms more on every call: what the proxy added is what was found
    slow = answer.target("memcache.get", lab.kept)
    assert slow["slow"]["per_call_ns"] - slow["usual"]["per_call_ns"] > 2_000_000
    assert slow["slow"]["per_call_ns"] > 3_000_000


@pytest.mark.nightly
def test_a_dropped_index_is_why_one_statement_takes_longer(lab: Lab) -> None:
    answer = first_clear(lab.drop_an_index, lambda answer: answer.why["verdict"] == "different")
    assert answer.first["component"] == "mysql.query"
    assert answer.first["usual"]["calls"] == answer.first["slow"]["calls"] == answer.after.mariadb["Com_select"]
    assert answer.first["slower_ns"] > 0
    slowest = max(answer.why["statements"], key=lambda each: each["slower_ns"])
    assert "FROM order_items AS this" in slowest["statement"]
    assert slowest["slower_ns"] > 0.5 * answer.first["slower_ns"]


@pytest.mark.nightly
def test_where_nothing_changed_there_is_no_difference(lab: Lab) -> None:
    first_clear(lab.do_nothing, lambda answer: answer.is_no_difference)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_twenty_restarts_are_understood_twenty_times(lab: Lab) -> None:
    lab.visits = VISITS_BY_NIGHT
    answers = [lab.restart_a_cache() for _ in range(REPETITIONS)]
    assert [each.why["sentences"] for each in answers if not names_the_restarted_cache(lab, each)] == []


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_where_nothing_changes_twenty_times_there_is_at_most_one_false_alarm(lab: Lab) -> None:
    lab.visits = VISITS_BY_NIGHT
    answers = [lab.do_nothing() for _ in range(REPETITIONS)]
    alarms = [each.why["sentences"] for each in answers if not each.is_no_difference]
    assert len(alarms) <= 1, alarms
