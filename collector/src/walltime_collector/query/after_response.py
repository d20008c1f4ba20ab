"""What a request did after its response, read from the attributes of its transaction; it is no part of the bill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .components import number

_PREFIX = "walltime.after_response."


@dataclass(frozen=True)
class LaterCalls:
    """The calls of one component that ended after the response."""

    component: str
    calls: int
    time_ns: int
    """Exclusive; of a call around the end of the response, only the time after it."""
    errors: int


@dataclass(frozen=True)
class AfterResponse:
    """From the end of the response until the application returned."""

    duration_ns: int
    error_type: str
    """The exception that ended it; it does not make the request fail."""
    components: tuple[LaterCalls, ...]


def after_response(attributes: Mapping[str, str]) -> AfterResponse | None:
    """Read it; None when there is nothing. What is not a number, which another sender may have put there, is 0."""
    if f"{_PREFIX}duration_ns" not in attributes:
        return None
    names = _array(attributes, "component")
    columns = [
        [*map(number, _array(attributes, counter)), *[0] * len(names)][: len(names)]
        for counter in ("calls", "time_ns", "errors")
    ]
    return AfterResponse(
        number(attributes[f"{_PREFIX}duration_ns"]),
        attributes.get(f"{_PREFIX}error_type", ""),
        tuple(LaterCalls(str(name), *counts) for name, *counts in zip(names, *columns, strict=True)),
    )


def _array(attributes: Mapping[str, str], name: str) -> list[Any]:
    try:
        array = json.loads(attributes.get(_PREFIX + name, "[]"))
    except ValueError:
        return []
    return array if isinstance(array, list) else []
