"""Estimates from one in 16, 32, 64 … transactions what the sums per minute do not have, when there are very many."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..clickhouse.engine import Engine, Parameter
from .queries import Row, run
from .scope import Filters, Scope

MOST_READ = 100_000
"""Of more transactions in a window, a sample of at most so many is read."""
_MOST_FOR_CALLS = 200_000
"""Those that were kept may be few."""
_ENOUGH = 1_000
"""Of the sample must match the filters: a count is then within 6 % of the true one, 19 times of 20."""
_FEWEST = 200
"""Must match in the largest sample; otherwise all transactions are read."""
_LEAST_LEVEL = 4
"""sampled_transactions has one in 16."""
_LEAST_COVERED = 0.8
"""Of the window, by the sample: it is empty for transactions that were stored before it existed."""
_NOT_SUMS = re.compile(r"step|is_whole|bin|max_ns|first_ns|percentiles_ns|p\d\d_ns|\w+_mean_ns|(all_)?kinds")
"""The columns that are no sums; a mean may be a whole number, too."""


def sampled(engine: Engine, scope: Scope, *, is_for_calls: bool = False) -> Scope:
    """
    The scope, sampled where it has very many transactions and a filter that the sums per minute lack.

    A scope that is sampled stays as it is.

    Args:
        is_for_calls: Single transactions are wanted, also with no such filter.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    if scope.sample_level or (scope.filters.are_in_minutes and not is_for_calls):
        return scope
    by_kind = replace(scope, filters=Filters(service=scope.filters.service, kind=scope.filters.kind))
    transactions = transactions_about(engine, by_kind)
    if not (level := level_of(transactions, _MOST_FOR_CALLS if is_for_calls else MOST_READ)):
        return scope
    (in_sample,) = run(engine, "scoped/in_sample", **replace(scope, sample_level=level).parameters())
    if in_sample["transactions"] << level < transactions * _LEAST_COVERED:
        return scope
    matching = in_sample["matching"]
    if matching < _ENOUGH:
        if matching << (level - _LEAST_LEVEL) < _FEWEST:
            return scope
        level = _LEAST_LEVEL
    return replace(scope, sample_level=level)


def level_of(transactions: int, most: int) -> int:
    """The sample_level at which at most `most` transactions are read; 0 when there are few."""
    if transactions <= MOST_READ:
        return 0
    level = _LEAST_LEVEL
    while transactions >> level > most:
        level += 1
    return level


def transactions_about(engine: Engine, scope: Scope) -> int:
    """
    How many transactions the whole minutes of a scope have; only its service and kind are looked at.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    return int(run(engine, "timeline/count", **scope.in_whole_minutes().divided())[0]["transactions"])


def run_sums(engine: Engine, name: str, /, **parameters: Parameter) -> Sequence[Row]:
    """
    Run a query whose numbers are sums over transactions; those of a sample are multiplied, and so estimates of all.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    rows, level = run(engine, name, **parameters), int(str(parameters["sample_level"]))
    if not level:
        return rows
    return [
        {name: value if _NOT_SUMS.fullmatch(name) else _multiplied(value, 1 << level) for name, value in row.items()}
        for row in rows
    ]


def _multiplied(value: Any, times: int) -> Any:
    """A number; the values of a map; in a list of lists (a step and its sums) all but the first."""
    if isinstance(value, Mapping):
        return {key: each * times for key, each in value.items()}
    if isinstance(value, list):
        return [[key, *(each * times for each in sums)] for key, *sums in value]
    return value * times if isinstance(value, int) else value
