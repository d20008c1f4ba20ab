"""No regular expression takes more than linear time: other people write what most of them are applied to."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import Any

import pytest

from tests.growth.growth import is_steep
from tests.growth.patterns import Used, inputs, used_patterns

SIZE = 1_500
BY_DAY, BY_NIGHT = 4, 400
NOT_SEARCHED_FOR = frozenset(
    {
        "walltime_collector.clickhouse.schema_files._VIEW",  # our own files
        "walltime.propagation.propagation._MEMBERS",  # the module splits texts too, but with no pattern
        "walltime_collector.query.condition.parse._PART",  # the whole text has matched _NAME before
        "walltime_collector.sql.clickhouse_http.response._CONTENT_TYPES",
    }
)
"""Only what begins at the start of a text is measured."""


@cache
def patterns() -> list[Used]:
    at_the_start = ("match", "fullmatch")
    return [each for each in used_patterns() if each.name not in NOT_SEARCHED_FOR or each.method in at_the_start]


def steep(used: Used, tries: int, seed: int) -> list[tuple[str, str, str, str]]:
    for before, repeated, behind in islice(inputs(used.pattern, seed), tries):

        def make(size: int, parts: tuple[str, str, str] = (before, repeated, behind)) -> Any:
            text = parts[0] + parts[1] * (size // len(parts[1])) + parts[2]
            return text if isinstance(used.pattern.pattern, str) else text.encode("latin-1", "replace")

        if is_steep(used.apply, make, SIZE):
            return [(f"{used.name}.{used.method}", before, repeated, behind)]
    return []


def test_each_regular_expression_takes_linear_time() -> None:
    found = []
    assert len(patterns()) > 150
    for at, used in enumerate(patterns()):
        found += steep(used, BY_DAY, at)
    assert found == []


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(4))
def test_each_regular_expression_takes_linear_time_whatever_it_is_given(seed: int) -> None:
    found = []
    for at, used in enumerate(patterns()):
        found += steep(used, BY_NIGHT, 1000 * seed + at)
    assert found == []


def test_what_is_not_linear_is_found() -> None:
    slow = re.compile(r"[^\s'\"(),:]*\bstore/")
    assert is_steep(Used("", slow, "finditer").apply, lambda size: "a" * size, SIZE)
    assert not is_steep(re.compile(r"\s*x|y+").match, lambda size: " " * size, SIZE)
