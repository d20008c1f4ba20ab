"""What the plugin makes of an answer, as its Go libraries do: the order of series above all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dashboards.conftest import Answer
from tests.dashboards.pictures.frames import TIME_SERIES, frames

TABLE = 1
COLUMNS = {"time": "DateTime", "component": "LowCardinality(String)", "ms": "Nullable(Float64)"}
NOON_MS = 1_790_000_000_000
NOON, LATER = "2026-09-21 14:13:20", "2026-09-21 14:13:30.500"


def test_strings_become_labels_and_series_are_in_the_order_of_the_alphabet() -> None:
    rows: list[list[Any]] = [[NOON, "mysql.query", 2.0], [NOON, "http.request", 1.0], [LATER, "http.request", None]]
    ((time, http, mysql),) = (frame["fields"] for frame in frames(Answer(COLUMNS, rows), "A", TIME_SERIES))
    assert (time["type"], time["values"]) == ("time", [NOON_MS, NOON_MS + 10_500])
    assert (http["labels"], http["values"]) == ({"component": "http.request"}, [1.0, None])
    assert (mysql["name"], mysql["labels"], mysql["values"]) == ("ms", {"component": "mysql.query"}, [2.0, None])


def test_a_table_keeps_its_columns_and_lists_become_text() -> None:
    columns = {
        "kind": "String",
        "calls": "UInt64",
        "kept": "Bool",
        "routes": "Array(String)",
        "at": "Nullable(DateTime64(3))",
    }
    (frame,) = frames(Answer(columns, [["GET /", 3, True, ["/ä"], None]]), "A", TABLE)
    assert [(each["type"], each["values"]) for each in frame["fields"]] == [
        *(("string", ["GET /"]), ("number", [3]), ("boolean", [True]), ("string", ['["/ä"]']), ("time", [None])),
    ]


def test_no_row_is_no_frame_of_a_time_series_but_an_empty_table() -> None:
    assert frames(Answer(COLUMNS, []), "A", TIME_SERIES) == []
    (frame,) = frames(Answer(COLUMNS, []), "A", TABLE)
    assert [each["values"] for each in frame["fields"]] == [[], [], []]


def test_a_series_out_of_order_is_refused() -> None:
    with pytest.raises(ValueError, match="sorted ascending by time"):
        frames(Answer(COLUMNS, [[LATER, "other", 1.0], [NOON, "other", 1.0]]), "A", TIME_SERIES)
