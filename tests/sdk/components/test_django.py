"""Components of Django: their counts equal the truth, their times add up, answers are the same bytes as without us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.by_day import by_day

ROOT = Path(__file__).parents[3]
COUNTED = {"view", "template.render", "serialize", "orm.compile", "orm.load"}
"""What the site counts in every request, except Django's own queries for sessions and users."""


@pytest.fixture(scope="module", params=by_day(["wsgi", "wsgi --late", "asgi"], 2))
def site(request: pytest.FixtureRequest) -> Any:
    """The site's life in a process of its own: settings of Django are those of a process."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.sdk.components.django_site", *request.param.split()],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "WALLTIME_TESTING_RAISE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_answers_are_the_same_bytes(site: Any) -> None:
    assert site["with"] == site["without"]
    assert [name for name in site["counters"] if name.startswith("failed_")] == []


def test_counts_equal_the_truth(site: Any) -> None:
    for bill in site["bills"]:
        counted = COUNTED - ({"orm.compile", "orm.load"} if bill["path"] in ("/login", "/me") else set())
        expected = {name: count for name, count in bill["truth"].items() if name in counted}
        assert {name: calls for name, calls in bill["calls"].items() if name in counted} == expected, bill
        assert bill["calls"]["middleware"] == 1


def test_sessions_and_authentication_are_counted(site: Any) -> None:
    bills = {bill["path"]: bill for bill in site["bills"]}
    assert bills["/login"]["calls"]["auth"] == bills["/login"]["truth"]["auth"] == 1, "with the hash in it"
    assert bills["/login"]["calls"]["session"] == 1, "saved with the response"
    assert bills["/me"]["calls"]["session"] == bills["/me"]["truth"]["session"] == 1, "loaded at its first use"
    assert bills["/me"]["calls"]["auth"] == bills["/me"]["truth"]["auth"] == 3, "encoded, verified, user of the request"
    assert bills["/rest"]["calls"]["auth"] == bills["/rest"]["truth"]["auth"] == 1
    assert bills["/me"]["times_ns"]["auth"] > bills["/me"]["times_ns"]["view"], "PBKDF2 is what takes the time"


def test_times_are_exclusive_and_add_up(site: Any) -> None:
    for bill in site["bills"]:
        assert 0 < sum(bill["times_ns"].values()) == bill["covered_ns"] <= bill["duration_ns"], bill
        assert all(time_ns >= 0 for time_ns in bill["times_ns"].values()), bill


def test_an_exception_is_an_error_of_the_template_and_not_of_what_contains_it(site: Any) -> None:
    bills = {bill["path"]: bill for bill in site["bills"]}
    assert bills["/broken"]["errors"] == {"middleware": 0, "view": 0, "template.render": 1}
    assert bills["/missing"]["errors"] == {"middleware": 0, "view": 0, "template.render": 0}
    assert "view" not in bills["/nowhere"]["calls"]
