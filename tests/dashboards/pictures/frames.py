"""What the ClickHouse plugin makes of an answer before a panel sees it: frames, as its Go libraries build them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from tests.dashboards.conftest import Answer

TIME_SERIES = 0


@dataclass
class Field:
    """A column of a frame, as Grafana's page reads it."""

    name: str
    type: str
    values: list[Any]
    labels: dict[str, str] | None = None
    config: dict[str, Any] = field(default_factory=dict)


def frames(answer: Answer, ref_id: str, form: int) -> list[dict[str, Any]]:
    """
    One frame; none for time series without a row, for which the plugin answers "no results".

    Args:
        form: `format` of the target: 0 is time series, 1 a table, 3 a trace.
    """
    fields = [_field(name, kind, answer.column(name)) for name, kind in answer.columns.items()]
    if form == TIME_SERIES:
        if not answer.rows:
            return []
        if any(each.type == "string" for each in fields) and any(each.type == "time" for each in fields):
            fields = _wide(fields)
    return [{"refId": ref_id, "name": ref_id, "fields": [vars(each) for each in fields]}]


def _field(name: str, kind: str, values: list[Any]) -> Field:
    if kind.startswith(("Array", "Map", "Tuple")):
        return Field(name, "string", [json.dumps(value, ensure_ascii=False) for value in values])
    if "Date" in kind:
        return Field(name, "time", [None if value is None else _milliseconds(value) for value in values])
    if "Bool" in kind:
        return Field(name, "boolean", values)
    return Field(name, "number" if any(part in kind for part in ("Int", "Float", "Decimal")) else "string", values)


def _milliseconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000


def _wide(fields: Sequence[Field]) -> list[Field]:
    """LongToWide of Grafana's Go library: a series for each set of strings, in the order of names and strings."""
    (time, *_) = (each for each in fields if each.type == "time")
    factors = [each for each in fields if each.type in ("string", "boolean")]
    numbers = [each for each in fields if each is not time and each not in factors]
    times = list(_ascending(time.values))
    at = {moment: row for row, moment in enumerate(times)}
    series: dict[tuple[str, tuple[str, ...]], Field] = {}
    for row, moment in enumerate(time.values):
        labels = tuple(str(factor.values[row]) for factor in factors)
        for number in numbers:
            key = (number.name, labels)
            if key not in series:
                named = {factor.name: label for factor, label in zip(factors, labels, strict=True)}
                series[key] = Field(number.name, number.type, [None] * len(times), named)
            series[key].values[at[moment]] = number.values[row]
    return [Field(time.name, "time", times), *(series[key] for key in sorted(series))]


def _ascending(times: Sequence[float]) -> Iterator[float]:
    last = float("-inf")
    for moment in times:
        if moment < last:
            raise ValueError("long series must be sorted ascending by time to be converted")
        if moment > last:
            yield moment
        last = moment
