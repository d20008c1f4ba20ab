"""What reads other people's bytes takes linear time: each entry point gets odd texts of a size and of four times it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress

import pytest
from walltime.clients.otel import conventions
from walltime.propagation import propagation
from walltime.redaction import redact
from walltime.redaction.sql_lexer import lexer
from walltime.servers.request import headers, route
from walltime_collector.cli.profile.frames import frame
from walltime_collector.errors import CollectorError
from walltime_collector.format import printable, since_s
from walltime_collector.http.authentication import bearer
from walltime_collector.observe.slowlog.parser import Parser
from walltime_collector.pages.request import path_names
from walltime_collector.query.condition.parse import parse, sort_field
from walltime_collector.query.digest.short import shortened
from walltime_collector.query.names import Kind, find
from walltime_collector.query.windows import window
from walltime_collector.receive.check import check_traces
from walltime_collector.receive.nested_values import write_nested_as_json
from walltime_collector.receive.otlp_json import traces_from_json
from walltime_collector.sql.clickhouse_http import blocks, encodings, errors
from walltime_collector.sql.clickhouse_http.request import parameters_of, request_of
from walltime_collector.sql.client import describe_client
from walltime_collector.sql.guard.messages import public
from walltime_collector.statements.comment import sender, sender_of
from walltime_collector.statements.fingerprint import fingerprint, of_redacted
from walltime_collector.statements.long import lex_long
from walltime_collector.trace_id import find_trace_id

from tests.growth.growth import is_steep

BY_DAY, BY_NIGHT = 1_000, (4_000, 60_000)

# A beginning, a part that is repeated, and an end.
_REPEATED = [
    *"a1A _-/*.,:;=!?'\"`\\#$%&@()[]{}<>+|~^\n\t\r\0\x01\u00e9\u2026\u20ac",
    *("''", "\\'", '\\"', "'\\", '"\\', "/*", "*/", "/*!", "--", "-- ", "--\n", "# ", "#\n", "$$", "$a$", "``"),
    *("a,", "a, ", "a=1,", "a='1',", "a=1&", "a:1,", "a.", "a b ", "a-", "/a", "/1", "%41", "x'", "1.", "1e", ".1"),
    *("()", "(1),", "(?), ", "(a", "(select ", "select ", "in (", "in (?, ", "values (1),", "case when ", "- ", "-?"),
    *("<a>", "<int:a>", "{a}", "{a:", "(?P<a>", "[a]", "://", "//a@", "@ ", " @ []", "[a] ", "Id: 1 ", "a: 1 "),
    *(
        "trace id ",
        "request-",
        "0123456789abcdef",
        "0-",
        "last ",
        " ago",
        "T",
        "now..",
        "q=1;",
        ";q=",
        "...",
        "Code: 1",
    ),
    *("Maybe you meant: a", "(while reading from part a in table b ", "store/abc/", "Received from a:", "\n# a"),
    *(": In scope ", "# Time: ", "Code: 1"),
]
_AROUND = [
    *(("", ""), ("select ", ""), ("'", ""), ("a='", "'"), ("", "\x01"), ("in (", ")")),
    *(("# User@Host: ", "x"), ("/*", "*/")),
]
SHAPES = [(before, repeated, behind) for repeated in _REPEATED for before, behind in _AROUND]


def _headers(text: str) -> None:
    plain = text.replace("\n", " ")
    environ = {
        "HTTP_TRACEPARENT": plain,
        "HTTP_TRACESTATE": plain,
        "HTTP_BAGGAGE": plain,
        "HTTP_X_REQUEST_START": plain,
    }
    propagation.extract(environ)
    headers.from_asgi([(b"baggage", each.encode("utf-8")) for each in plain.split(",")])


def _span(text: str) -> None:
    names = ("messaging.url", "http.url", "db.statement", "rpc.method", "server.address", "messaging.destination.name")
    conventions.read({"messaging.system": "kafka", **dict.fromkeys(names, text)}, is_producer=True)
    conventions.read({"db.system": text, "db.operation": text}, is_producer=False)


def _slow_log(text: str) -> None:
    begins = f"# Time: 2026-11-25T03:49:00.000000Z\n# User@Host: {text[:2000]} @ a [] Id: 1\n# Schema: {text[:2000]}\n"
    parser = Parser()
    for content in (
        f"{begins}# Query_time: 1.0  Lock_time: 0\nSET timestamp=1;\n{text};\n",
        text,
        f"\n# Time: {text}\n",
    ):
        raw = content.encode("utf-8", "replace")
        for at in range(0, len(raw), 4096):
            parser.feed(raw[at : at + 4096])
    parser.finish()


def _clickhouse_request(text: str) -> None:
    raw = text.encode("utf-8", "replace")
    parameters = parameters_of(raw.replace(b"&", b""))
    form = b"--b\r\nContent-Disposition: form-data; name=query\r\n\r\n" + raw + b"\r\n--b--\r\n"
    request_of("POST", form, {b"content-type": "multipart/form-data; boundary=b"}, parameters, "walltime")
    request_of("POST", raw, {b"content-type": "multipart/form-data; boundary=b"}, parameters, "walltime")


def _client(text: str) -> None:
    latin = text.encode("latin-1", "replace")
    scope = {"headers": [(b"authorization", b"Basic " + latin), (b"user-agent", latin), (b"x-clickhouse-user", latin)]}
    describe_client(scope)
    bearer(latin)
    encodings.chosen(text)


def _spans_of_json(text: str) -> None:
    attributes = [{"key": text[:100], "value": {"stringValue": each}} for each in text.split(",")[:1000]]
    span = {"traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": text, "attributes": attributes}
    payload = traces_from_json(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode())
    check_traces(payload)
    write_nested_as_json(payload, 10**9)
    traces_from_json(text.encode("utf-8", "replace"))


ENTRY_POINTS: dict[str, Callable[[str], object]] = {
    "SDK: redact SQL": lexer.lex,
    "SDK: redact cut SQL": lambda text: lexer.redact(text, is_cut=True),
    "SDK: redact a key, an URL and an annotation": lambda text: (
        redact.redact_key(text, b"0" * 16),
        redact.redact_url(f"http://a/{text}"),
        redact.Redaction(b"0" * 16).annotation("a", text),
        redact.is_denied(text),
    ),
    "SDK: routes": lambda text: (route.simplified(text), route.from_django(text)),
    "SDK: headers": _headers,
    "SDK: attributes of others' spans": _span,
    "ClickHouse's messages": lambda text: (public(text, "walltime"), errors.failed(1, f"Code: 1. {text}")),
    "ClickHouse HTTP: request": _clickhouse_request,
    "ClickHouse HTTP: blocks": lambda text: blocks.decompress(blocks.compress(text.encode()), 10**9),
    "who asks": _client,
    "fingerprint": fingerprint,
    "fingerprint of what another SDK redacted": of_redacted,
    "comments": lambda text: (sender(text), sender_of([text, f"{text},traceparent='1'"])),
    "long statements": lambda text: (lex_long(text.encode(), is_cut=False), lex_long(text.encode(), is_cut=True)),
    "slow log": _slow_log,
    "OTLP as JSON": _spans_of_json,
    "OTLP": lambda text: check_traces(text.encode("utf-8", "replace")),
    "an id in a text": find_trace_id,
    "a window of time": lambda text: window("time", text, 10**18),
    "a length of time": since_s,
    "a name": lambda text: find(text, [Kind("shop", "GET /a"), Kind("shop", "GET /b…")]),
    "a condition": parse,
    "a sort field": sort_field,
    "a path": lambda text: path_names("/kinds/{service}/{name}", f"/kinds/a/{text}".encode("latin-1", "replace")),
    "a statement on one line": lambda text: shortened(text[:4_096]),
    "text on one line": printable,
    "a frame": frame,
}


def _steep(entry: str, size: int, shapes: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    def call(text: str) -> None:
        with suppress(CollectorError, errors.Refused, ValueError):
            ENTRY_POINTS[entry](text)

    def make(of: tuple[str, str, str]) -> Callable[[int], str]:
        return lambda size: of[0] + of[1] * (size // len(of[1])) + of[2]

    return [of for of in shapes if is_steep(call, make(of), size)]


def test_the_time_of_each_entry_point_is_linear() -> None:
    found = [(entry, _steep(entry, BY_DAY, SHAPES[at::211])) for at, entry in enumerate(ENTRY_POINTS)]
    assert [each for each in found if each[1]] == []


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("size", BY_NIGHT)
@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_the_time_of_each_entry_point_is_linear_whatever_it_is_given(entry: str, size: int) -> None:
    logging.disable(logging.ERROR)  # a form's parser says so of each of them
    try:
        assert _steep(entry, size, SHAPES) == []
    finally:
        logging.disable(logging.NOTSET)
