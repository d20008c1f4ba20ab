"""Tests of many values: every few of them by day, all of them in `make test-nightly`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def by_day(values: Iterable[Any], every: int) -> list[Any]:
    """
    Return the values as parameters of a test; all but each `every`-th, from the first on, are nightly.

    A tuple is the values of as many parameters.
    """
    return [each if at % every == 0 else _nightly(each) for at, each in enumerate(values)]


def _nightly(value: Any) -> Any:
    if isinstance(value, type(pytest.param())):  # a tuple too
        return pytest.param(*value.values, id=value.id, marks=[*value.marks, pytest.mark.nightly])
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.nightly)
