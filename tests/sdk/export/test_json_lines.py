"""Lines of JSON: a whole transaction each, attribute by attribute what a collector gets; nothing lost in silence."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import walltime
from hypothesis import given
from hypothesis import strategies as st
from walltime.export import json_lines
from walltime.export.json_lines import JsonLines
from walltime.export.otlp_span import span
from walltime.export.protobuf import attribute

from tests.sdk.sink import Sink


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def work(name: str = "job") -> None:
    with walltime.transaction(name) as transaction:
        transaction.annotate("cart.items", 3)
        with walltime.component("step"):
            pass


@pytest.mark.setting("json_lines")
def test_a_line_says_what_the_collector_gets(sink: Sink, tmp_path: Path) -> None:
    path = tmp_path / "bills.jsonl"
    walltime.configure(service_name="shop", endpoint=sink.endpoint, json_lines=str(path), sample_probability=1.0)
    work("first")
    work("second")
    sink.wait_for(2)
    spans = sink.spans()
    for line, root, call in zip(read(path), spans[::2], spans[1::2], strict=True):
        assert (line["name"], line["kind"], line["is_error"]) == (root.span.name, "internal", False)
        assert line["trace_id"] == root.span.trace_id.hex()
        assert line["span_id"] == root.span.span_id.hex()
        assert line["duration_ns"] == root.duration_ns
        assert line["attributes"] == root.attributes
        assert line["attributes"]["cart.items"] == 3
        assert line["resource"] == root.resource
        (said,) = line["calls"]
        assert said["name"] == "step"
        assert said["attributes"] == call.attributes
        assert said["offset_ns"] == call.span.start_time_unix_nano - root.span.start_time_unix_nano
        assert said["duration_ns"] == call.duration_ns
    assert path.stat().st_mode & 0o777 == 0o600
    assert walltime.counters()["file_written"] == 2


@pytest.mark.setting("exporters")
@pytest.mark.parametrize(
    ("exporters", "sent", "written"),
    [((), 0, 0), (("otlp",), 1, 0), (("console",), 0, 1), (("otlp", "console"), 1, 1)],
)
def test_exporters_are_chosen_by_setting(
    exporters: tuple[str, ...], sent: int, written: int, sink: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    walltime.configure(endpoint=sink.endpoint, exporters=exporters)
    work()
    assert len(sink.transactions()) == sent
    assert len([line for line in capsys.readouterr().err.splitlines() if json.loads(line)]) == written


def test_lines_alone_need_no_collector(tmp_path: Path, sink: Sink) -> None:
    path = tmp_path / "bills.jsonl"
    walltime.configure(endpoint=sink.endpoint, exporters=(), json_lines=str(path))
    work()
    assert walltime.flush(5)
    assert len(read(path)) == 1
    assert sink.requests == []


@given(
    st.dictionaries(
        st.text(max_size=20), st.text(max_size=50) | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.booleans()
    )
)
def test_any_attributes_read_back_as_they_were(attributes: dict[str, str | int | float | bool]) -> None:
    # Two keys that differ in what UTF-8 has no bytes for are one on the wire.
    attributes = {key: value for key, value in attributes.items() if key.isascii()}
    body = b"".join([attribute(key, value) for key, value in attributes.items()])
    spans = span(b"t" * 16, b"s" * 8, b"", "na\nme", 2, 10**18, 10**18 + 5, body, True, 0)
    text = json_lines.as_line(spans, {})
    assert text.count(b"\n") == 1
    assert text.isascii()
    said = json.loads(text)
    assert (said["name"], said["duration_ns"], said["is_error"], said["kind"]) == ("na\nme", 5, True, "server")
    for key, value in attributes.items():
        if isinstance(value, float) and not math.isfinite(value):
            assert said["attributes"][key] == str(value)
        elif isinstance(value, str):
            assert said["attributes"][key] == value.encode("utf-8", "replace").decode()
        else:
            assert said["attributes"][key] == value


def test_a_line_beyond_its_limit_goes_without_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = b"".join([span(b"t" * 16, b"s" * 8, b"", "x" * 1000, 2, 1, 2, b"", False, 0)] * 20)
    assert len(json.loads(json_lines.as_line(spans, {}))["calls"]) == 19
    monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 5000)
    cut = json.loads(json_lines.as_line(spans, {}))
    assert (cut["calls"], cut["calls_left_out"], cut["name"]) == ([], 19, "x" * 1000)


def test_a_line_of_the_longest_texts_is_cut_and_says_so() -> None:
    """64 statements of 4,096 characters, each of which JSON writes with twelve."""
    statements = attribute("walltime.statement.text", ["😀" * 4096] * 64)
    about = statements + attribute("app.cart", "x" * 4096) + attribute("app.items", 3)
    line = json_lines.as_line(span(b"t" * 16, b"s" * 8, b"", "job", 2, 1, 2, about, False, 0), {})
    assert len(line) < json_lines.MAX_LINE_BYTES
    cut = json.loads(line)
    assert (cut["is_cut"], cut["attributes"]["app.cart"], cut["attributes"]["app.items"]) == (True, "x" * 256, 3)
    assert cut["attributes"]["walltime.statement.text"] == ["😀" * 256] * 64


SPANS = span(b"t" * 16, b"s" * 8, b"", "job", 2, 1, 2, b"", False, 0)


def test_a_file_that_logrotate_moves_away_is_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "bills.jsonl"
    file = JsonLines(str(path), b"", {})
    file.write(SPANS)
    path.rename(tmp_path / "bills.jsonl.1")
    file.write(SPANS)
    (tmp_path / "bills.jsonl.2").touch()
    (tmp_path / "bills.jsonl.2").rename(path)  # `create`: another file at once in its place
    file.write(SPANS)
    file.write(SPANS)
    os.truncate(path, 0)  # `copytruncate`
    file.write(SPANS)
    file.close()
    assert len(read(tmp_path / "bills.jsonl.1")) == 1
    assert len(read(path)) == 1
    assert b"\0" not in path.read_bytes()


def test_what_cannot_be_written_is_counted_and_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    counts: dict[str, int] = {}
    file = JsonLines(str(tmp_path / "no such folder" / "bills.jsonl"), b"", counts)
    file.write(SPANS)
    file.write(SPANS)
    assert counts == {"file_lost": 2}
    assert len(caplog.records) == 1
    (tmp_path / "no such folder").mkdir()
    file.write(SPANS)
    file.close()
    assert counts == {"file_lost": 2, "file_written": 1}


def test_a_full_disk_tears_no_line_but_the_one_it_cuts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a disk behaves when it fills: what still fits is written, then no more; later there is room again."""
    path = tmp_path / "bills.jsonl"
    counts: dict[str, int] = {}
    file = JsonLines(str(path), b"", counts)
    file.write(SPANS)
    room = [10, 0]
    really = os.write

    def write(to: int, data: bytes) -> int:
        fits = room.pop(0)
        if not fits:
            raise OSError(28, "No space left on device")
        return really(to, data[:fits])

    with monkeypatch.context() as full:
        full.setattr(os, "write", write)
        file.write(SPANS)
    file.write(SPANS)
    file.close()
    first, torn, third = path.read_text().splitlines()
    assert len(torn) == 10
    assert first == third
    assert json.loads(first)
    assert counts == {"file_written": 2, "file_lost": 1}


def test_a_pipe_that_nobody_reads_does_not_stop_the_export(tmp_path: Path, sink: Sink) -> None:
    os.mkfifo(tmp_path / "pipe")
    walltime.configure(endpoint=sink.endpoint, json_lines=str(tmp_path / "pipe"))
    work()
    assert len(sink.wait_for(1)) == 1
    assert walltime.counters()["file_lost"] == 1


def test_processes_share_a_file_and_every_line_stays_whole(tmp_path: Path) -> None:
    program = """
import sys, walltime
walltime.configure(exporters=(), sample_probability=1.0)
for _ in range(50):
    with walltime.transaction("shared"):
        for _ in range(20):
            with walltime.component("a step with a name that is not short"): pass
sys.exit(not walltime.flush(30))
"""
    path = tmp_path / "bills.jsonl"
    environment = {**os.environ, "WALLTIME_JSON_LINES": str(path)}
    running = [subprocess.Popen([sys.executable, "-c", program], env=environment) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    lines = read(path)
    assert len(lines) == 200
    assert {len(line["calls"]) for line in lines} == {20}
    assert len({line["resource"]["process.pid"] for line in lines}) == 4
