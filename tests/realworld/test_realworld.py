"""Applications that nobody here wrote, under `walltime-run`: unchanged, counted, and their time on named lines."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from shop.services import MariaDB, Memcached

from tests.realworld import sites
from tests.realworld.bills import CONTAINERS, bills, columns, kinds, total
from tests.realworld.pyspy import Recording, short
from tests.realworld.sites import Run, Site
from tests.sdk.sink import Sink
from tests.server_folder import server_folder

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

NAMES = ("oscar", "codered", "prefect")
TIMES = 8
ROUNDS = {"oscar": 40, "codered": 40, "prefect": 150}
VERBS = ("select", "insert", "update", "delete")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with server_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def mariadb(folder: Path) -> Iterator[MariaDB]:
    with MariaDB(folder) as server:
        yield server


@pytest.fixture(scope="module")
def memcached(folder: Path) -> Iterator[Memcached]:
    with Memcached("memcached", folder) as server:
        yield server


@pytest.fixture(scope="module", params=NAMES)
def site(request: pytest.FixtureRequest, folder: Path, mariadb: MariaDB, memcached: Memcached) -> Iterator[Site]:
    opened: dict[str, Callable[[], object]] = {
        "oscar": lambda: sites.oscar(folder / "oscar", mariadb, memcached),
        "codered": lambda: sites.codered(folder / "codered", mariadb, memcached),
        "prefect": lambda: sites.prefect(folder / "prefect"),
    }
    with opened[request.param]() as made:  # type: ignore[attr-defined]
        yield made


@pytest.fixture(scope="module")
def measured(site: Site) -> Run:
    return site.run(TIMES, walltime=True)


def test_every_answer_is_the_same(site: Site, measured: Run) -> None:
    first, second = (site.run(TIMES, walltime=False).answers for _ in range(2))
    assert [answer[:3] for answer in measured.answers] == [answer[:3] for answer in first]
    stable = [number for number, (one, other) in enumerate(zip(first, second, strict=True)) if one == other]
    assert len(stable) > len(first) * 0.8  # the others have times or random texts in them
    assert [measured.answers[number] for number in stable] == [first[number] for number in stable]


def test_the_calls_are_those_that_the_servers_counted(site: Site, mariadb: MariaDB, memcached: Memcached) -> None:
    if site.name == "prefect":
        pytest.skip("its database is SQLite")
    before: list[tuple[Counter[str], int]] = []
    run = site.run(3, walltime=True, beside=lambda _: before.append((statements(mariadb), gets(memcached))))
    counted = statements(mariadb) - before[0][0]
    found = bills(run.bills)
    billed: Counter[str] = Counter()
    for bill in found:
        attributes = bill["attributes"]
        texts = attributes.get("walltime.statement.text", ())
        for text, calls in zip(texts, attributes.get("walltime.statement.calls", ()), strict=True):
            billed[text.split(None, 1)[0].lower()] += calls
    for verb in VERBS:
        assert billed[verb] == counted[verb], verb
    assert total(found, "walltime.memcache.get.keys") == gets(memcached) - before[0][1]


def statements(mariadb: MariaDB) -> Counter[str]:
    with mariadb.admin() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_%'")
        rows = [(name.removeprefix("Com_"), value) for name, value in cursor.fetchall()]
    return Counter({name: int(value) for name, value in rows if name in VERBS})


def gets(memcached: Memcached) -> int:
    return int(memcached.stats()["cmd_get"])


def test_of_each_large_kind_95_percent_of_the_time_is_on_a_named_line(site: Site) -> None:
    run = site.run((20 if site.name == "prefect" else 5) * TIMES, walltime=True)
    large = kinds(bills(run.bills))
    report = "\n".join(map(str, large))
    print(report)
    assert large
    for kind in large:
        assert kind.named + kind.chance >= 0.95, report
    # Kind by kind, chance may be as large as what is unnamed; all of them together have more samples.
    duration_ns = sum(kind.duration_ns for kind in large)
    unnamed_ns = sum(kind.times_ns[name] - kind.sampled_ns[name] for kind in large for name in CONTAINERS)
    chance = 2 * sum(kind.squares for kind in large) ** 0.5 / duration_ns
    print(f"together: {1 - unnamed_ns / duration_ns:.1%} ± {chance:.1%}")
    assert abs(unnamed_ns) / duration_ns <= 0.05 + chance, report


def test_the_sampled_lines_are_those_that_py_spy_sees_in_the_same_run(site: Site, folder: Path) -> None:
    if site.name == "prefect":
        pytest.skip("py-spy does not see the stacks of suspended tasks")
    recording = Recording(folder / f"{site.name}.raw")
    run = site.run(10 * TIMES, walltime=True, beside=recording.start)
    seen = recording.lines()
    ours, squares = Counter[str](), 0.0
    for bill in bills(run.bills):
        for line, count, time_ns in columns(bill, "line", "count", "time_ns"):
            ours[short(line)] += time_ns
            squares += time_ns**2 / count
    # Samples have weights, so they are as good as fewer equal ones: Kish, Survey Sampling (1965), section 11.7.
    time_ns, looks = ours.total(), seen.total()
    samples = time_ns**2 / squares
    report = [f"{site.name}: {samples:.0f} samples, {looks} of py-spy; share of the time and of py-spy's, difference"]
    errors = []
    for line in {*dict(ours.most_common(10)), *dict(seen.most_common(10))}:
        share, expected = ours[line] / time_ns, seen[line] / looks
        both = (ours[line] + seen[line] / looks * time_ns) / (2 * time_ns)
        errors.append((share - expected) / (both * (1 - both) * (1 / samples + 1 / looks)) ** 0.5)
        report.append(f"{share:6.1%} {expected:6.1%} {errors[-1]:+.1f} standard errors  {line}")
    print("\n".join(report))
    assert samples > 50
    assert max(map(abs, errors)) < 4, "\n".join(report)


@pytest.mark.alone
def test_it_costs_at_most_5_percent_of_cpu(site: Site) -> None:
    with Sink() as sink:
        used_s = site.cpu_of_turns(ROUNDS[site.name], ("bare", "bare again", "walltime"), sink.endpoint)
    found = {way: more_than(used_s["bare"], used_s[way]) for way in ("bare again", "walltime")}
    noise, added = (f"{more:+.1%} ± {chance:.1%}" for more, chance in found.values())
    print(f"{site.name}: {statistics.median(used_s['bare']):.3f} s a visit, with Walltime {added}, noise {noise}")
    more, chance = found["walltime"]
    assert more <= 0.05
    assert chance < 0.03


def more_than(bare_s: list[float], with_it_s: list[float]) -> tuple[float, float]:
    """Return by which share the median of the rounds is more, and its standard error, by the bootstrap."""
    pick = random.Random(1)
    rounds = list(zip(bare_s, with_it_s, strict=True))

    def ratio(some: list[tuple[float, float]]) -> float:
        return statistics.median(s for _, s in some) / statistics.median(s for s, _ in some) - 1

    return ratio(rounds), statistics.stdev([ratio(pick.choices(rounds, k=len(rounds))) for _ in range(400)])
