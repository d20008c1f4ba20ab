"""The history of `make bench`: a line a run, and a page that has them all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bench.history import append, draw


def a_run(added_ns: float) -> dict[str, Any]:
    """As `report.for_programs` has it, as far as it is needed."""
    return {
        "machine": {"processor": "a </script> of a name", "cores": 2, "system": "Linux", "python": "CPython 3.11"},
        "foreign_cores": 0.1,
        "plan": {"processes": 2, "rounds": 8},
        "subjects": {
            "bare": {"overhead": {}},
            "walltime 1 %": {"overhead": {"sql_call_ns": added_ns, "request_cpu_ns": 200_000.4}},
        },
    }


def test_each_run_adds_a_line_and_the_page_draws_all(tmp_path: Path) -> None:
    history, page = tmp_path / "history.jsonl", tmp_path / "pages" / "history.html"
    append(a_run(2_100.2), history)
    append(a_run(1_900.0), history)
    first, second = map(json.loads, history.read_text().splitlines())
    assert first["added_ns"] == {"walltime 1 %": {"sql_call_ns": 2_100, "request_cpu_ns": 200_000}}
    assert second["added_ns"]["walltime 1 %"]["sql_call_ns"] == 1_900
    assert len(first["commit"].rstrip("+")) == 10
    assert (first["slices"], first["foreign_cores"], first["machine"]["cores"]) == (16, 0.1, 2)
    draw(history, page)
    text = page.read_text()
    assert text.count('"added_ns"') == 2
    assert text.count("</script>") == 2
    assert "uPlot=" in text
    assert not any(place in text for place in ("/*STYLE*/", "/*UPLOT*/", "/*RUNS*/"))


def test_without_a_run_the_page_has_none(tmp_path: Path) -> None:
    draw(tmp_path / "history.jsonl", tmp_path / "history.html")
    assert "const runs = [];" in (tmp_path / "history.html").read_text()
