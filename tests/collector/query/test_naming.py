"""A name that a command printed is accepted by the next one: cut, copied in any form, or only begun."""

from __future__ import annotations

import io
import json
import shlex
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from walltime_collector.cli.top import render
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import BadParameter, NotStored
from walltime_collector.query.answers import Kind as Ranked
from walltime_collector.query.answers import Top
from walltime_collector.query.names import Kind, find, listed, shown
from walltime_collector.query.top import top
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import comparison

from tests import servers
from tests.by_day import by_day
from tests.collector.cli.command import assert_one_sentence, run
from tests.collector.conftest import Collector, Store
from tests.collector.traffic import MS, Sent, export_request
from tests.servers import eventually

OSCAR = r"GET /en-gb/catalogue/category/(?P<category_slug>[\w-]+(/[\w-]+)*)_(?P<pk>\d+)/$"
WAGTAIL = r"GET /((?:[\w\-]+/)*)$"
PRODUCT = r"GET /en-gb/catalogue/(?P<product_slug>[\w-]*)_(?P<pk>\d+)/$"
QUOTED = """GET /it's/a "quoted" `name` with $HOME and \\\\two"""
PLAIN = "GET /product/{id}"
KNOWN = [Kind("shop", name) for name in (OSCAR, WAGTAIL, PRODUCT, QUOTED, PLAIN, "GET", "GET /größe/{maß}")]
KNOWN += [Kind("ranker", "GET /rank"), Kind("shop", "GET /a"), Kind("ranker", "GET /a")]

COPIES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "repr": repr,
    "the inside of a repr": lambda name: repr(name)[1:-1],
    "JSON": json.dumps,
    "for a shell": shlex.quote,
    "in quotes": lambda name: f'"{name}"',
    "in backticks": lambda name: f"`{name}`",
    "in typographic quotes": lambda name: f"“{name}”",
    "in a URL's path": lambda name: quote(name, safe=""),
    "in a URL's query": quote_plus,
    "repr of a repr": lambda name: repr(repr(name)),
    "broken over lines": lambda name: f" {name[:9]}\n{name[9:]} \n",
    "with its service": lambda name: f"{name}  shop",
    "behind its service": lambda name: f"shop: {name}",
    "a whole row": lambda name: f"{name}  shop    53.0 %    1,560  10.5 ms  36.2 ms  58.8 ms       0  mmmmcc..",
    "upper case": str.upper,
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("name", by_day([OSCAR, WAGTAIL, "GET /größe/{maß}", PRODUCT, QUOTED, PLAIN], 2))
def test_every_copied_form_means_the_name(name: str, copy: Callable[[str], str]) -> None:
    assert find(copy(name), KNOWN) == [Kind("shop", name)]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (PRODUCT[:40], PRODUCT),
        (f"{PRODUCT[:40]}…", PRODUCT),
        (f"{PRODUCT[:40]}...", PRODUCT),
        (f"'{PRODUCT[:40]}…'", PRODUCT),
        (f"{PRODUCT[:40]}…  shop   12.0 %", PRODUCT),
        (f"shop {PRODUCT[:40]}", PRODUCT),
        ("GET (no route)", "GET"),
        ("GET", "GET"),
        ("GET /gr??e/{ma?}", "GET /größe/{maß}"),
        ("get /prod", PLAIN),
        ("GET /rank", "GET /rank"),
    ],
)
def test_the_beginning_is_enough_where_it_is_unique(written: str, name: str) -> None:
    assert [kind.name for kind in find(written, KNOWN)] == [name]


def test_what_is_not_unique_is_listed_in_forms_that_are_accepted() -> None:
    for written, fit in (("GET /en-gb", {OSCAR, PRODUCT}), ("GET /a", {"GET /a"}), ("nothing like it", set())):
        found = find(written, KNOWN)
        assert {kind.name for kind in found} == fit
        for kind in found:
            (word,) = shlex.split(listed([kind, *found], KNOWN).split(", ")[0].replace("'  ", "'"))
            assert kind in find(word, KNOWN)
    assert listed([Kind("shop", "GET /a"), Kind("ranker", "GET /a")], KNOWN) == "'GET /a  shop', 'GET /a  ranker'"


def test_names_that_look_alike_differ_in_their_escaped_form() -> None:
    alike = [Kind("shop", "a\x00b"), Kind("shop", "a\x01b")]
    assert find("a b", alike) == alike
    offered = [shlex.split(word)[0] for word in listed(alike, alike).split(", ")]
    assert [find(word, alike) for word in offered] == [[each] for each in alike]


hostile = st.one_of(
    st.text(
        alphabet=st.one_of(
            st.sampled_from(list("'\"\\`${}()<>?*[]|&;…. /%+-_#~“”«»ßé漢😀\t\n\x00\x1b\u200b\u202e\u0301")),
            st.characters(codec="utf-8", exclude_categories=["Cs"]),
        ),
        min_size=1,
        max_size=60,
    ),
    st.builds(
        lambda part, times: f"GET /{part * times}",
        st.sampled_from(["ab…/", "x", "漢字 ", r"\d+'"]),
        st.integers(1, 300),
    ),
)


def ranked(name: str, service: str) -> Ranked:
    return Ranked(service, name, 9, 9.0, 0, 1, 1, 1, 1, 1, 9, 0.5, 9, 0, None, None, ())


def printed(top: Top, width: int, *, is_terminal: bool) -> str:
    out = io.StringIO()
    console = Console(width=width, color_system=None, file=out, force_terminal=is_terminal)
    with console.capture() as capture:
        console.print(render(top, console), crop=is_terminal)
    return capture.get()


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    names=st.lists(hostile, min_size=1, max_size=6, unique=True),
    width=st.sampled_from([20, 40, 80, 112, 120, 170]),
    services=st.sampled_from([["shop"], ["shop", "a service with a name of some length"], ["s", "’s…"]]),
    is_terminal=st.booleans(),
)
def test_whatever_top_prints_at_any_width_is_accepted(
    names: list[str], width: int, services: list[str], is_terminal: bool
) -> None:
    kinds = [ranked(name, services[at % len(services)]) for at, name in enumerate(names)]
    known = [Kind(kind.service, kind.name) for kind in kinds]
    whole = printed(Top("", "", 900.0, "total", "", len(kinds), 9, 0, 9, tuple(kinds)), width, is_terminal=is_terminal)
    for kind, stored in zip(kinds, known, strict=True):
        alone = printed(
            Top("", "", 900.0, "total", "", 1, 9, 0, 9, (kind,)), width, is_terminal=is_terminal
        ).splitlines()
        begin = next(at for at, line in enumerate(alone) if not line.strip()) + 1
        rows = alone[begin + 1 :] if alone[begin].startswith("kind ") else alone[begin:]
        lines: list[str] = []
        for line in rows:  # the row, or the lines of its name alone
            if line.startswith("  ") and lines:
                break
            lines.append(line)
        copied = "\n".join(lines)
        assert stored in find(copied, known), (copied, known)
        if shown(kind.name) and not is_terminal:
            assert "".join(shown(kind.name).split()) in "".join(whole.split())
        others = [each for each in known if each != stored]
        if not find(copied, others):
            assert find(copied, known) == [stored]


@pytest.fixture(scope="module")
def hostile_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector that has ten transactions of each kind."""
    now_ns = time.time_ns()
    sent = [
        Sent(
            f"{1 + at:016x}{7 + at:016x}",
            f"{at + 1:016x}",
            kind.name,
            now_ns - (at + 1) * 500 * MS,
            (1 + at) * MS,
            kind.service,
        )
        for at, kind in enumerate(kind for kind in KNOWN for _ in range(10))
    ]
    with servers.Collector(tmp_path_factory.mktemp("names") / "data") as program:
        assert program.send(export_request(sent)).status_code == 200
        running = Collector(program.web_url.removeprefix("http://"), sent)
        eventually(lambda: running.get("/api/top?since=1h")[1]["transactions"] == len(sent), 20)
        yield running


@pytest.mark.parametrize(
    "written", [OSCAR, f"{OSCAR[:40]}…", repr(OSCAR), quote(WAGTAIL), "GET (no route)", f"{QUOTED}  shop"]
)
def test_why_explains_the_kind_that_was_copied(hostile_names: Collector, written: str) -> None:
    status, answer, _ = hostile_names.get(f"/api/why?kind={quote(written)}")
    assert status == 200
    assert [answer["name"]] == [kind.name for kind in find(written, KNOWN)]


def test_why_lists_what_a_beginning_can_mean_and_each_can_be_pasted(hostile_names: Collector) -> None:
    done = run("why", "GET /en-gb", "--url", hostile_names.url)
    assert_one_sentence(done, 1, f"'GET /en-gb' can be '{PRODUCT}', '{OSCAR}'")
    assert "\\\\" not in done.stderr
    for name in (OSCAR, PRODUCT):
        assert run("why", name, "--url", hostile_names.url).returncode == 0
    typo = run("why", "GTE /produkt/{id}", "--url", hostile_names.url)
    offered = shlex.split(typo.stderr[typo.stderr.index("there is ") :])[2].rstrip(",")
    assert run("why", offered, "--url", hostile_names.url).returncode == 0


@pytest.mark.parametrize("service", ["rank", "ranker", "'ranker'", "RANKER", "ran…"])
def test_a_service_matches_in_the_same_forms(hostile_names: Collector, service: str) -> None:
    for question in ("top?", "digest?", "why?kind=GET+%2Frank&"):
        status, answer, _ = hostile_names.get(f"/api/{question}service={quote(service)}")
        assert (status, answer["service"]) == (200, "ranker")


def test_kinds_of_several_services_differ_by_the_service_behind_the_name(hostile_names: Collector) -> None:
    status, answer, _ = hostile_names.get("/api/why?kind=GET+%2Fa")
    assert status == 400
    assert "several services: ranker, shop" in answer["error"]["what"]
    for written in ("GET /a  ranker", "ranker: GET /a"):
        assert hostile_names.get(f"/api/why?kind={quote(written)}")[1]["service"] == "ranker"


@pytest.mark.parametrize("columns", ["80", "170"])
def test_a_pipe_has_every_name_whole(hostile_names: Collector, columns: str) -> None:
    said = run("top", "--url", hostile_names.url, environment={"COLUMNS": columns}).stdout
    for kind in KNOWN:
        assert shown(kind.name) in said


@settings(max_examples=2, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(hostile, min_size=2, max_size=5, unique=True))
def test_stored_names_match_what_is_printed_of_them(engine: Engine, store: Store, names: list[str]) -> None:
    now_ns = time.time_ns()
    service = f"service-{now_ns}"
    store([
        Sent(f"{now_ns + at:032x}", f"{at + 1:016x}", name, now_ns - (at + 1) * MS, (1 + at) * MS, service)
        for at, name in enumerate(name for name in names for _ in range(3))
    ])  # fmt: skip
    answer = top(engine, since_s=60, service=service)
    known = [Kind(kind.service, kind.name) for kind in answer.kinds]
    for kind in known:
        if find(shown(kind.name), known) == [kind]:
            assert explain(engine, shown(kind.name), comparison(time.time_ns()), service=service).name == kind.name
        else:
            with pytest.raises((BadParameter, NotStored)):
                explain(engine, shown(kind.name), comparison(time.time_ns()), service=service)
