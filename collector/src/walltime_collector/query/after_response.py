"""What a request did after its response, out of the attributes of its transaction; it is no part of the bill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

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
    """The exception by which it ended; the request itself did not fail by it."""
    components: tuple[LaterCalls, ...]


def after_response(attributes: Mapping[str, str]) -> AfterResponse | None:
    """Read it; None when there is nothing. What another sender may have put there and is no number counts as 0."""
    if f"{_PREFIX}duration_ns" not in attributes:
        return None
    names = _array(attributes, "component")
    columns = [_numbers(attributes, name, len(names)) for name in ("calls", "time_ns", "errors")]
    components = tuple(LaterCalls(str(name), *counts) for name, *counts in zip(names, *columns, strict=True))
    duration = attributes[f"{_PREFIX}duration_ns"]
    return AfterResponse(
        int(duration) if duration.isdecimal() else 0, attributes.get(f"{_PREFIX}error_type", ""), components
    )


def _array(attributes: Mapping[str, str], name: str) -> list[object]:
    try:
        found = json.loads(attributes.get(_PREFIX + name, "[]"))
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _numbers(attributes: Mapping[str, str], name: str, length: int) -> list[int]:
    """As many as there are components; integers may have come as text, as OTLP's JSON has them."""
    found = [int(str(each)) if str(each).isdecimal() else 0 for each in _array(attributes, name)]
    return [*found, *[0] * length][:length]
