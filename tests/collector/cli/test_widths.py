"""Output in narrow and wide windows: nothing important is truncated, and a number stays with its unit."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from rich.console import Console, RenderableType
from rich.text import Text
from walltime_collector.cli import app
from walltime_collector.cli.drawing.bars import filled
from walltime_collector.cli.show import render as render_show
from walltime_collector.cli.top import render as render_top
from walltime_collector.query.answers import Call
from walltime_collector.query.top import top
from walltime_collector.query.transaction.show import show

from tests.collector.conftest import Collector, Stored

LONG = "GET /a/route/" + "/".join(f"{{part_{at}}}" for at in range(12))


def on(width: int, rendered: RenderableType, *, is_terminal: bool = True) -> list[str]:
    console = Console(width=width, color_system=None, file=io.StringIO(), force_terminal=is_terminal)
    with console.capture() as capture:
        console.print(rendered, crop=is_terminal)
    return [line.rstrip() for line in capture.get().splitlines()]


def at(width: int, *, is_terminal: bool = True) -> Console:
    return Console(width=width, color_system=None, file=io.StringIO(), force_terminal=is_terminal)


@pytest.mark.parametrize("width", [60, 80, 120, 170])
def test_top_keeps_numbers_with_their_headings_and_names_whole(shop: Stored, width: int) -> None:
    answer = top(shop.engine, since_s=3600)
    first = replace(answer.kinds[0], name=LONG, status_4xx=3, status_5xx=1)
    lines = on(width, render_top(replace(answer, kinds=(first, *answer.kinds[1:])), at(width)))
    assert LONG in "".join(lines).replace(" ", "").replace("GET/", "GET /")
    assert max(map(len, lines)) <= width
    assert not any(re.match(r"\s*%", line) for line in lines)
    assert not any(re.search(r"(4xx|5xx|p50|p95|p99|share|errors)$", line) for line in lines)
    assert any("where its time goes" in line for line in lines) == (width >= 112)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_show_has_every_span_id_of_a_trace_whole_and_a_pipe_every_call(shop: Stored, is_terminal: bool) -> None:
    callee = next(sent for sent in shop.sent if sent.parent_span_id)
    trace = show(shop.engine, callee.trace_id)
    assert trace is not None
    text = "SELECT " + ", ".join(f"column_{number}" for number in range(40)) + " FROM t"
    call = Call("mysql.query", "SELECT", 0, 1, 1, "10.0.0.5:3306", text, "1 row", "", "shop/views.py:42 product")
    bill = replace(trace.transactions[0], calls=(call,))
    lines = on(80, render_show(trace, bill, at(80, is_terminal=is_terminal), 60), is_terminal=is_terminal)
    assert all(len(line) <= 80 for line in lines)
    assert any(callee.span_id in line for line in lines)
    if not is_terminal:
        assert not any("…" in line for line in lines)
        assert "shop/views.py:42" in " ".join(lines)


def test_status_has_no_cut_cell_on_80_columns(collector: Collector) -> None:
    for width, has_all in (("80", False), ("120", True)):
        environment = {"WALLTIME_URL": collector.url, "COLUMNS": width}
        shown = CliRunner().invoke(app, ["status"], env=environment, catch_exceptions=False).stdout
        assert "kept for" in shown
        assert "400 days" in shown
        assert "…" not in shown.replace(" … ", "")
        assert ("packed to" in shown) == has_all


def test_an_item_that_fits_on_a_line_is_not_broken() -> None:
    items = [Text(f"heading{number} 0 %") for number in range(6)]
    assert filled(items, 32).plain.splitlines() == [
        "heading0 0 %  heading1 0 %",
        "heading2 0 %  heading3 0 %",
        "heading4 0 %  heading5 0 %",
    ]
    assert filled([], 10).plain == ""
