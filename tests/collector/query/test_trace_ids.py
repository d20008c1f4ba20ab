"""`walltime show` takes what people have in their hands: part of a trace id, a comment, a header, a log line."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import NotStored
from walltime_collector.query import kinds as known
from walltime_collector.trace_id import find_span_id, find_trace_id

from tests.collector.cli.command import assert_one_sentence, run
from tests.collector.conftest import Collector, Store
from tests.collector.traffic import MS, Sent

TRACE, SPAN, OTHER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "d41d8cd98f00b204e9800998ecf8427e"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TRACE, (TRACE, "")),
        (TRACE.upper(), (TRACE, "")),
        (f"'{TRACE}'", (TRACE, "")),
        (TRACE[:4], (TRACE[:4], "")),
        (f"{TRACE[:12]}…", (TRACE[:12], "")),
        (f"{TRACE[:12]}...", (TRACE[:12], "")),
        (PARENT, (TRACE, SPAN)),
        (f"traceparent: {PARENT}", (TRACE, SPAN)),
        (f"SELECT 1 /*route='%2Fx',service='shop',traceparent='{PARENT}'*/", (TRACE, SPAN)),
        (f"/*traceparent=%27{PARENT}%27*/ SELECT 1", (TRACE, SPAN)),
        (PARENT.replace("-", "%2D"), (TRACE, SPAN)),
        (f"GET /x 200 48.2 ms: mysql.query 31.0 ms in 9 calls, CPU 9.7 ms [{TRACE}]", (TRACE, "")),
        (f'{{"level": "info", "etag": "{OTHER}", "trace_id": "{TRACE}", "span_id": "{SPAN}"}}', (TRACE, "")),
        (f"2026-11-22 INFO etag={OTHER} request_id={TRACE} done", (TRACE, "")),
        (f"walltime show {TRACE}   every call kept", (TRACE, "")),
        (f"trace {TRACE}   span {SPAN}   only the bill was kept", (TRACE, "")),
        (f"b3: {TRACE}-{SPAN}-1", (TRACE, "")),
        ("0af76519-16cd-43dd-8448-eb211c80319c", (TRACE, "")),
        ("Root=1-0af76519-16cd43dd8448eb211c80319c", (TRACE, "")),
    ],
)
def test_a_trace_id_is_extracted_from_copied_text(text: str, found: tuple[str, str]) -> None:
    assert find_trace_id(text) == found


@pytest.mark.parametrize("text", ["", "xyz", "abc", "0" * 32, "f" * 33, f"00-{'0' * 32}-{SPAN}-01", "GET /x 200"])
def test_what_has_no_trace_id_is_refused_with_what_may_be_written(text: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        find_trace_id(text)


@pytest.mark.parametrize(
    ("text", "found"), [(SPAN, SPAN), (SPAN[:4].upper(), SPAN[:4]), (f"{SPAN[:9]}…", SPAN[:9]), (f"'{SPAN}'", SPAN)]
)
def test_a_span_id_may_be_cut(text: str, found: str) -> None:
    assert find_span_id(text) == found


@pytest.mark.parametrize("text", ["", "b7a", "xyzx", SPAN + "0"])
def test_what_is_no_span_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="16 hexadecimal digits"):
        find_span_id(text)


def test_of_several_ids_one_has_to_be_taken() -> None:
    with pytest.raises(ValueError, match=f"2 ids in this text: {TRACE}, {OTHER}"):
        find_trace_id(f"{TRACE} {OTHER}")


@settings(max_examples=200, derandomize=True, deadline=None)
@given(before=st.text(max_size=30), trace=st.integers(1, 2**128 - 1), span=st.integers(1, 2**64 - 1))
def test_a_traceparent_is_extracted_behind_any_text(before: str, trace: int, span: int) -> None:
    assert find_trace_id(f"{before} traceparent='00-{trace:032x}-{span:016x}-01'") == (f"{trace:032x}", f"{span:016x}")


def test_show_takes_the_beginning_of_an_id_a_comment_and_a_log_line(collector: Collector) -> None:
    sent = collector.sent[0]
    for written in (sent.trace_id[:9], f"{sent.trace_id[:9]}…", f"request_id={sent.trace_id} done"):
        done = run("show", written, "--url", collector.url, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["trace_id"] == sent.trace_id
    comment = f"SELECT 1 /*traceparent='00-{sent.trace_id}-{sent.span_id}-01'*/"
    assert f"trace {sent.trace_id}   span {sent.span_id}" in run("show", comment, "--url", collector.url).stdout
    shown = run("show", sent.trace_id, "--span", sent.span_id[:6], "--url", collector.url)
    assert f"span {sent.span_id}" in shown.stdout
    assert_one_sentence(run("show", "ffff0", "--url", collector.url), 1, "no trace id of a stored transaction begins")


def test_the_beginning_of_several_ids_lists_them(engine: Engine, store: Store) -> None:
    traces = ["abcd1" + "0" * 27, "abcd2" + "0" * 26 + "1"]
    store([Sent(trace, "1" * 16, f"GET /{trace[4]}", time.time_ns() - MS, MS) for trace in traces])
    assert known.trace(engine, "abcd1") == traces[0]
    assert known.trace(engine, traces[1][:31]) == traces[1]
    with pytest.raises(NotStored, match="several trace ids begin with abcd") as caught:
        known.trace(engine, "abcd")
    for trace in traces:
        assert f"{trace} (GET /{trace[4]} at 20" in caught.value.what
