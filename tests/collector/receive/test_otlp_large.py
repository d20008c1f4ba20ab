"""Large bodies are decoded in threads, in turns of their senders; all ports answer meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from backports import zstd
from walltime_collector.errors import RequestRefused
from walltime_collector.http.body import Disconnected
from walltime_collector.receive.decode import Head, Signal, decode, decode_soon
from walltime_collector.receive.turns import Turns

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive.taken import field
from tests.servers import Collector, over_http

MIB = 1024 * 1024
JSON = "application/json"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with Collector(tmp_path_factory.mktemp("large") / "data") as running:
        yield running


def spans_as_json(count: int) -> bytes:
    """As many spans as it takes, in few bytes with gzip."""
    one = {"traceId": "01" * 16, "spanId": "01" * 8, "name": "x", "kind": 2, "attributes": []}
    one["attributes"] = [{"key": f"k{number}", "value": {"stringValue": "v"}} for number in range(2)]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one] * count}]}]}).encode()


HARD: dict[str, tuple[bytes, str, str, int]] = {
    "JSON": (gzip.compress(spans_as_json(12_000)), "gzip", JSON, 200),
    "a million empty messages": (gzip.compress(b"\x0a\x00" * MIB), "gzip", "application/x-protobuf", 413),
    "members": (gzip.compress(b"") * 50_000, "gzip", "application/x-protobuf", 400),
    "frames": (zstd.compress(b"") * 29_127, "zstd", "application/x-protobuf", 400),
}


@pytest.mark.parametrize("name", HARD)
def test_the_ports_answer_while_a_small_body_is_decoded_that_takes_long(collector: Collector, name: str) -> None:
    body, encoding, content_type, status = HARD[name]
    orders = [answers_beside(collector, body, encoding, content_type)]
    # JSON is decoded, the others are refused at once. On a busy machine this program may not get to ask in between.
    while name == "JSON" and answers_before_the_last(orders[-1], status) <= 4 and len(orders) < 3:
        orders.append(answers_beside(collector, body, encoding, content_type))
    for order in orders:
        assert [each for each in order if each is not True] == [status] * 3
    assert name != "JSON" or answers_before_the_last(orders[-1], status) > 4


def answers_beside(collector: Collector, body: bytes, encoding: str, content_type: str) -> list[Any]:
    """Send it three times, one after the other as they have one sender; the order of these answers and of /readyz."""
    order: list[Any] = []

    def send() -> None:
        answer = collector.send(body, content_encoding=encoding, content_type=content_type)
        order.append(answer.status_code)

    sending = [threading.Thread(target=send) for _ in range(3)]
    for each in sending:
        each.start()
    while sending[-1].is_alive() and len(order) < 50:
        order.append(over_http("GET", f"{collector.web_url}/readyz").json()["ready"])
    for each in sending:
        each.join()
    return order


def answers_before_the_last(order: list[Any], status: int) -> int:
    return order[: max(at for at, each in enumerate(order) if each == status)].count(True)


def test_only_what_is_small_when_it_is_decompressed_is_decoded_in_the_event_loop() -> None:
    small = request(*[span()] * 100).SerializeToString()
    assert decode_soon(Head(Signal.TRACES, b""), small, MIB) is not None
    assert decode_soon(Head(Signal.TRACES, b"gzip"), gzip.compress(small), MIB) is not None
    large = request(span({"text": "x" * 300_000})).SerializeToString()
    for body, encoding in ((large, b""), (gzip.compress(large), b"gzip"), (zstd.compress(large), b"zstd")):
        assert decode_soon(Head(Signal.TRACES, encoding), body, MIB) is None
    json_head = Head(Signal.TRACES, b"gzip", True)
    assert decode_soon(json_head, gzip.compress(spans_as_json(20)), MIB) is not None
    assert decode_soon(json_head, gzip.compress(spans_as_json(200)), MIB) is None
    assert decode_soon(Head(Signal.TRACES, b""), b"\x0a\x00" * 10_000, MIB) is None
    nested = request(span({"list": [["x" * 20_000]]})).SerializeToString()
    assert decode_soon(Head(Signal.TRACES, b""), nested, MIB) is None


def test_too_many_messages_are_refused_before_the_parser_makes_objects_of_them() -> None:
    for many in (b"\x0a\x00", b"\x0a\x02\x12\x00", b"\x0a\x04\x12\x02\x12\x00", b"\x18\x0a"):
        with pytest.raises(RequestRefused) as refused:
            decode(Head(Signal.TRACES, b""), many * (2 * MIB // len(many)), 16 * MIB)
        assert refused.value.status == 413
    nested = field(9, field(2, field(5, field(1, field(5, b"")))))
    unknown = b"\x98\x06\x01"
    for odd in (nested, unknown):
        each = field(1, field(2, field(2, field(9, b"") * 3_100_000 + odd)))
        with pytest.raises(RequestRefused, match="too many attributes"):
            decode(Head(Signal.TRACES, b""), each, 16 * MIB)
    unknown = field(1, field(2, field(2, unknown * 350_000)))
    with pytest.raises(RequestRefused, match="too many unknown fields"):
        decode(Head(Signal.TRACES, b""), unknown, 16 * MIB)
    with pytest.raises(RequestRefused, match="more than"):
        decode(Head(Signal.LOGS, b""), field(1, field(2, field(2, b"") * 1_100_000)), 16 * MIB)


def test_json_is_read_in_parts_and_wrong_json_is_refused_in_each() -> None:
    whole = spans_as_json(3)
    head = Head(Signal.TRACES, b"", True)
    assert decode(head, b" \n" + whole + b"\r\t ", MIB).spans == 3
    for wrong in (whole + b"x", whole + b"{}", whole[:-1], whole[:-3], whole.replace(b'"kind": 2', b'"kind": NaN')):
        with pytest.raises(RequestRefused, match="is not JSON"):
            decode(head, wrong, MIB)


async def uses(turns: Turns, sender: str, order: list[str], is_waiting: bool = True) -> None:
    async with turns.turn(sender, lambda: is_waiting):
        order.append(sender)
        await asyncio.sleep(0)


def test_senders_take_turns_and_one_has_at_most_one_at_a_time() -> None:
    async def run() -> list[str]:
        turns, order = Turns(2), list[str]()
        many = [uses(turns, "many", order) for _ in range(20)]
        others = [uses(turns, sender, order) for sender in ("a", "b", "a")]
        await asyncio.gather(*many, *others)
        return order

    order = asyncio.run(run())
    assert sorted(order) == sorted(["many"] * 20 + ["a", "b", "a"])
    assert {"a", "b"} <= set(order[:4])
    assert order[6:] == ["many"] * 17


def test_a_sender_that_left_loses_its_turn_and_the_next_one_has_it() -> None:
    async def run() -> list[str]:
        turns, order = Turns(1), list[str]()

        @contextlib.asynccontextmanager
        async def held() -> AsyncIterator[None]:
            async with turns.turn("holder", lambda: True):
                yield

        async with held():
            left = asyncio.create_task(uses(turns, "left", order, is_waiting=False))
            stays = asyncio.create_task(uses(turns, "stays", order))
            with pytest.raises(Disconnected):
                await left
        await stays
        return order

    assert asyncio.run(run()) == ["stays"]
