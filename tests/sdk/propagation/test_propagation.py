"""What other services say about a request's place in the trace, and what is said to them; whatever a client sends."""

from __future__ import annotations

import logging
import random
import re
from typing import Any, Final

import pytest
import requests
import walltime
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import baggage, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from walltime.core.transaction import Transaction
from walltime.propagation import propagation

from tests.running import running_transaction
from tests.sdk.sink import Sink

TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
VALID: Final = f"00-{TRACE_ID}-{SPAN_ID}-01"
X: Final = "x" * 100
FEW, MANY = 4_000, 1_000_000
OTELS: Final = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])


def caller(**headers: str) -> Any:
    context = propagation.extract({f"HTTP_{name.upper()}": value for name, value in headers.items()})
    return trace.get_current_span(context or Context()).get_span_context()


@pytest.fixture(autouse=True)
def default_propagators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(propagate, "propagator", OTELS)


# ---- in ----


@pytest.mark.parametrize(
    ("traceparent", "flags"),
    [
        (VALID, 1),
        (f"  {VALID}\t", 1),
        (f"00-{TRACE_ID}-{SPAN_ID}-00", 0),
        (f"00-{TRACE_ID}-{SPAN_ID}-ff", 0xFF),
        (f"cc-{TRACE_ID}-{SPAN_ID}-03", 3),  # a later version
        (f"cc-{TRACE_ID}-{SPAN_ID}-03-what comes then", 3),
    ],
)
def test_a_valid_traceparent_is_the_caller(traceparent: str, flags: int) -> None:
    found = caller(traceparent=traceparent)
    assert (f"{found.trace_id:032x}", f"{found.span_id:016x}", found.trace_flags) == (TRACE_ID, SPAN_ID, flags)
    assert found.is_remote


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        "00",
        VALID.upper(),
        VALID[:-1],
        VALID + "0",
        VALID + "-more",  # not in version 00
        "ff" + VALID[2:],
        f"00-{'0' * 32}-{SPAN_ID}-01",
        f"00-{TRACE_ID}-{'0' * 16}-01",
        f"00_{TRACE_ID}_{SPAN_ID}_01",
        VALID.replace("4", "４"),  # a digit, but not an ASCII one
        VALID + "\n",
        f"{VALID},{VALID}",
        f"cc{VALID[2:]}-{'x' * 10_000}",
    ],
)
def test_an_invalid_traceparent_begins_a_new_trace(sink: Sink, traceparent: str) -> None:
    walltime.configure(endpoint=sink.endpoint)
    environ = {"REQUEST_METHOD": "GET", "HTTP_TRACEPARENT": traceparent, "HTTP_TRACESTATE": "a=1"}
    for _ in walltime.WSGIMiddleware(lambda _, start: (start("200 OK", []), [b""])[1])(environ, lambda *_: None):
        pass
    span = sink.transaction().span
    assert span.trace_id.hex() not in {TRACE_ID, "0" * 32}
    assert not span.parent_span_id
    assert not span.trace_state
    assert span.flags & 0x02, "the id of a new trace is random"


def test_the_random_bit_stays_and_bits_without_a_meaning_go() -> None:
    for sent, passed in [(0x00, 0x00), (0x02, 0x02), (0xFC, 0x00), (0xFF, 0x03)]:
        theirs = caller(traceparent=f"00-{TRACE_ID}-{SPAN_ID}-{sent:02x}")
        ours = propagation.own_ids(theirs, 0.0)
        assert ours.trace_flags == passed
        assert f"{ours.trace_id:032x}" == TRACE_ID
        assert f"{ours.span_id:016x}" != SPAN_ID


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"),
        (" a=1 ,, \tb@v=2\t,", "a=1,b@v=2"),
        ("a=1,A=2", ""),
        ("a=1,a=2", ""),
        ("a=1,b", ""),
        (",".join(f"k{number}=1" for number in range(32)), ",".join(f"k{number}=1" for number in range(32))),
        (",".join(f"k{number}=1" for number in range(33)), ""),
        (",".join(f"k{number}={X}" for number in range(4)), ",".join(f"k{number}={X}" for number in range(4))),
        ("x" * 100_000, ""),
    ],
)  # fmt: skip
def test_tracestate_passes_through_within_its_limits(sink: Sink, sent: str, kept: str) -> None:
    walltime.configure(endpoint=sink.endpoint)
    headers: dict[str, str] = {}

    def app(_: Any, start_response: Any) -> list[bytes]:
        transaction = running_transaction()
        headers.update(propagation.outgoing_headers(transaction))
        start_response("200 OK", [])
        return [b""]

    environ = {"REQUEST_METHOD": "GET", "HTTP_TRACEPARENT": VALID, "HTTP_TRACESTATE": sent}
    for _ in walltime.WSGIMiddleware(app)(environ, lambda *_: None):
        pass
    assert headers.get("tracestate", "") == kept
    assert len(kept) <= 512
    assert sink.transaction().span.trace_state == kept


def test_baggage_is_read_within_its_limits() -> None:
    def read(sent: str) -> dict[str, object]:
        return dict(baggage.get_all(propagation.extract({"HTTP_BAGGAGE": sent}) or Context()))

    assert read("user=ann, tenant = 7;p=1 ,bad entry,=x,%41=%20b%2C") == {"user": "ann", "tenant": "7;p=1", "A": "b,"}
    thousand = ",".join(f"key{number}=value{number}" for number in range(1000))
    assert list(read(thousand)) == [f"key{number}" for number in range(180)]
    long = ",".join(f"key{number}={'v' * 500}" for number in range(1000))
    assert list(read(long)) == [f"key{number}" for number in range(16)]
    assert read("x" * 1_000_000) == {}


def test_a_request_without_headers_or_with_useless_ones_is_not_looked_at_further() -> None:
    assert propagation.extract({}) is None
    assert propagation.extract({"HTTP_TRACEPARENT": "no", "HTTP_TRACESTATE": "a=1", "HTTP_BAGGAGE": "no"}) is None
    odd: Any = {"HTTP_TRACEPARENT": [VALID], "HTTP_TRACESTATE": 1, "HTTP_BAGGAGE": {"a": 1}}
    assert propagation.extract(odd) is None


# ---- out ----


def test_what_goes_out_names_our_own_span_and_carries_what_came_in(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    walltime.instrument("urllib3")
    sent: list[dict[str, str]] = []

    def app(_: Any, start_response: Any) -> list[bytes]:
        prepared = requests.get(sink.endpoint.replace("/v1/traces", "/x"), timeout=5).request
        transaction = running_transaction()
        sent.append(dict(propagation.outgoing_headers(transaction)))
        assert prepared is not None
        start_response("200 OK", [])
        return [b""]

    environ = {
        "REQUEST_METHOD": "GET",
        "HTTP_TRACEPARENT": VALID.replace("-01", "-02"),
        "HTTP_TRACESTATE": "a=1",
        "HTTP_BAGGAGE": "user=ann",
    }
    for _ in walltime.WSGIMiddleware(app)(environ, lambda *_: None):
        pass
    span = sink.transaction().span
    assert span.parent_span_id.hex() == SPAN_ID
    assert sent == [
        {"traceparent": f"00-{TRACE_ID}-{span.span_id.hex()}-02", "tracestate": "a=1", "baggage": "user=ann"}
    ]


# ---- fuzz ----


PIECES: Final = (
    VALID, TRACE_ID, SPAN_ID, "00", "ff", "01", "-", "--", "0" * 32, "0" * 16, "a=1", "b=2;p", "k@v=3", ",", ";", "=",
    " ", "\t", "\n", "\r", "\0", "é", "\udcff", "%", "%41", "%zz", "*/", "'", '"', "\\", X, "A", "g", "٣", "-more",
    "\x7f", "\x1f",
)  # fmt: skip


def fuzzed(source: random.Random) -> str:
    kind = source.random()
    if kind < 0.3:  # nearly valid: one letter other than it should be
        text = VALID.replace("00-", source.choice(("00-", "cc-", "01-")), 1)
        at = source.randrange(len(text))
        return text[:at] + source.choice((*PIECES, "")) + text[at + source.randint(0, 1) :]
    if kind < 0.4:
        return VALID
    return "".join(source.choice(PIECES) for _ in range(source.randint(0, 12)))


def survives(seed: int, count: int) -> None:
    """Nothing raises or logs, limits hold, and what OpenTelemetry reads of well-formed headers is read the same."""
    source = random.Random(seed)
    accepted = 0
    logging.disable(logging.WARNING)  # OpenTelemetry warns of each bad entry
    try:
        for _ in range(count):
            headers = {
                "HTTP_TRACEPARENT": fuzzed(source),
                "HTTP_TRACESTATE": fuzzed(source),
                "HTTP_BAGGAGE": fuzzed(source),
            }
            context = propagation.extract(headers) or Context()
            ours = trace.get_current_span(context).get_span_context()
            decodable = {name: sent.replace("\udcff", "\xff") for name, sent in headers.items()}
            theirs_context = OTELS.extract(decodable, Context(), propagation._getter)
            theirs = trace.get_current_span(theirs_context).get_span_context()
            if not headers["HTTP_TRACEPARENT"].endswith("\n"):  # OpenTelemetry's pattern lets it pass
                assert (ours.trace_id, ours.span_id, ours.trace_flags) == (
                    theirs.trace_id,
                    theirs.span_id,
                    theirs.trace_flags,
                ), headers
                if theirs.trace_state:
                    assert ours.trace_state == theirs.trace_state, headers
            sent, read = headers["HTTP_BAGGAGE"], dict(baggage.get_all(context))
            assert read == dict(baggage.get_all(theirs_context)), sent
            own = propagation.own_ids(ours, 0.5)
            assert all(own[:2])
            assert own.trace_flags <= 3
            transaction = Transaction("x", "server", own, ours.span_id, 0)
            for name, value in propagation._headers(transaction, context):
                assert re.fullmatch(r"[\x20-\x7e]*", value), (name, value)
            assert transaction.request_id == f"{own.trace_id:032x}"
            accepted += ours.is_valid
    finally:
        logging.disable(logging.NOTSET)
    assert count * 0.05 < accepted < count * 0.9


def test_no_header_breaks_a_request_or_is_read_otherwise_than_opentelemetry_does() -> None:
    survives(1, FEW)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_no_header_of_a_million_breaks_a_request() -> None:
    survives(2, MANY)


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_survived(traceparent: str, tracestate: str, sent: str) -> None:
    propagation.extract({"HTTP_TRACEPARENT": traceparent, "HTTP_TRACESTATE": tracestate, "HTTP_BAGGAGE": sent})


def test_hostile_headers_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    propagation.extract(
        {
            "HTTP_TRACEPARENT": VALID,
            "HTTP_TRACESTATE": "bad," + "x" * 10_000,
            "HTTP_BAGGAGE": ",".join(["bad entry"] * 1000),
        }
    )
    assert not caplog.records
    long = propagation.extract({"HTTP_BAGGAGE": "x=1," * 100_000, "HTTP_TRACESTATE": "x=1," * 100_000})
    assert dict(baggage.get_all(long)) == {"x": "1"}
    assert not caplog.records


def test_an_application_with_opentelemetry_of_its_own_exports_what_it_would_without_us(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, exported = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    walltime.configure(service_name="test", endpoint=sink.endpoint, sample_probability=0.0)

    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        with trace.get_tracer("its own").start_as_current_span("inner"):
            sent.append(dict(propagation.outgoing_headers(running_transaction())))
        return [b""]

    sent: list[dict[str, str]] = []
    caller = f"00-{'a' * 32}-{'b' * 16}-01"
    for headers in ({}, {"HTTP_TRACEPARENT": caller, "HTTP_BAGGAGE": "tenant=7"}):
        body = walltime.WSGIMiddleware(app)({"REQUEST_METHOD": "GET", **headers}, lambda *_: None)
        body.close()  # type: ignore[attr-defined]
    alone, called = exported.get_finished_spans()
    assert alone.parent is None, "its sampler decides for a trace that begins here"
    assert called.parent is not None
    assert (called.parent.span_id, called.context.trace_id) == (int("b" * 16, 16), int("a" * 32, 16))
    assert sent[1]["baggage"] == "tenant=7"
    assert trace.get_current_span() is trace.INVALID_SPAN
