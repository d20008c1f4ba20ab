"""`why` on an application that is not the shop: sixteen seeded faults, and two that are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.library.lab import Lab
from tests.server_folder import server_folder

pytestmark = [pytest.mark.nightly, pytest.mark.alone]
TRIES = 3
"""A stall of a busy machine can hide a fault, or make one; the right answer must come in one of so many."""


@dataclass
class Fault:
    """What is done, what `why` must say, and how it is undone."""

    change: Callable[[Lab], object]
    says: Sequence[str]
    """In its sentences; `{0}` and `{1}` are the addresses of the caches."""
    undo: Callable[[Lab], object] = lambda lab: None
    visits: int = 400
    dimension: tuple[str, str] | None = None


FAULTS: Mapping[str, Fault] = {
    "restarted cache": Fault(Lab.restart_cache, ["mysql.query: ", "because memcache.get on {0} hits "]),
    "dropped index": Fault(
        Lab.drop_index,
        ["mysql.query: each call takes ", "FROM reviews WHERE author"],
        lambda lab: lab.sql("ALTER TABLE reviews ADD INDEX of_author (author)"),
    ),
    "slow cache": Fault(
        lambda lab: setattr(lab.near_cache, "delay_s", 0.005),
        ["memcache.get: each call takes ", "{1}"],
        lambda lab: setattr(lab.near_cache, "delay_s", 0.0),
    ),
    "slow upstream": Fault(
        lambda lab: setattr(lab.upstream, "delay_s", 0.04),
        ["http.request: each call takes "],
        lambda lab: setattr(lab.upstream, "delay_s", 0.0),
    ),
    "upstream retried": Fault(lambda lab: lab.set_fault({"retries": 6}), ["http.request: ", "× the calls (1 → 7)"]),
    "N+1 statements": Fault(
        lambda lab: lab.set_fault({"queries": 20}), ["mysql.query: ", "× the calls ", "FROM books WHERE author"]
    ),
    "slow database": Fault(
        lambda lab: setattr(lab.near_database, "delay_s", 0.015),
        ["mysql.query: each call takes "],
        lambda lab: setattr(lab.near_database, "delay_s", 0.001),
    ),
    "row lock": Fault(lambda lab: lab.during(lab.lock)(), ["mysql.query: each call takes ", "UPDATE visits"], Lab.stop),
    "computing": Fault(
        lambda lab: lab.set_fault({"compute_s": 0.015}), ["other, in no measured call: ", "so this is computing"]
    ),
    "sleeping": Fault(
        lambda lab: lab.set_fault({"sleep_s": 0.03}), ["other, in no measured call: ", "waiting that is not measured"]
    ),
    "garbage": Fault(lambda lab: lab.set_fault({"rings": 20_000}), ["The garbage collector: "]),
    "busy interpreter": Fault(lambda lab: lab.during(lab.compute)(), ["The interpreter (GIL): "], Lab.stop),
    "slow host": Fault(lambda lab: lab.set_fault({"sleep_s": 0.03}, 1), ["On web-2 "], dimension=("host", "web-2")),
    "heavy user": Fault(
        lambda lab: lab.set_fault({"heavy_user": "7"}), ["For user 7 "], visits=1_200, dimension=("user", "7")
    ),
    "slow plan": Fault(
        lambda lab: lab.set_fault({"sleep_s": 0.03, "plan": "trial"}),
        ["With plan=trial "],
        dimension=("annotation", "plan=trial"),
    ),
    "deploy": Fault(
        Lab.deploy,
        ["With version 2.0, new "],
        lambda lab: lab.start_version("1.0"),
        dimension=("version", "2.0"),
    ),
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with server_folder() as folder, ExitStack() as running:
        lab = Lab(folder, running)
        lab.compare(lambda: None, 100)  # the first seconds of new servers are not like those that follow
        yield lab


def named(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The dimensions of who was slow, not of what was called."""
    called = ("server", "statement")
    return [(each["dimension"], each["value"]) for each in answer["dimensions"] if each["dimension"] not in called]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("none", ["nothing", "busier"])
def test_what_is_no_fault_is_no_difference(lab: Lab, none: str) -> None:
    answers = []
    for _ in range(TRIES):
        answer = lab.compare(lambda: None, busier=1.3 if none == "busier" else 1.0)
        if answer["verdict"] in ("chance", "small") and named(answer) == []:
            return
        answers.append(answer["sentences"])
    pytest.fail(str(answers))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_explained(lab: Lab, name: str) -> None:
    fault, answers = FAULTS[name], []
    expected = [each.format(*lab.cache_addresses) for each in fault.says]
    for _ in range(TRIES):
        try:
            answer = lab.compare(lambda: fault.change(lab), fault.visits)
        finally:
            fault.undo(lab)
            lab.set_fault({})
        text = " ".join(answer["sentences"])
        if all(each in text for each in expected) and named(answer) == ([fault.dimension] if fault.dimension else []):
            return
        answers.append((answer["sentences"], named(answer)))
    pytest.fail("\n".join(map(str, answers)))
