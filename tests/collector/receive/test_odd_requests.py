"""What the receiver acknowledges is stored: odd protobuf is refused, or written again when ClickHouse refuses it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import InsertRefused, RequestRefused
from walltime_collector.receive.check import usual as written_again
from walltime_collector.receive.decode import Head, Signal, decode
from walltime_collector.spool.segment import Payload, Record

from tests.collector.clickhouse.spans import request as usual
from tests.collector.clickhouse.spans import span
from tests.collector.receive.odd_requests import OTHER_ENCODINGS, OTHER_TYPES, at_random, request
from tests.collector.receive.refusals import suppress_refusals
from tests.servers import Collector

TRACES = Head(Signal.TRACES, b"")
LIMIT = 1024 * 1024


def stored(engine: Engine, payloads: Sequence[Payload]) -> bool:
    """Whether ClickHouse stores them in one INSERT; no other error than its refusal is possible."""
    try:
        engine.insert([Record(time.time_ns(), 1, each) for each in payloads], os.urandom(8).hex())
    except InsertRefused:
        return False
    return True


def acknowledged(bodies: Iterator[bytes]) -> dict[bytes, bytes]:
    """Body → what is stored of it."""
    found = {}
    for body in bodies:
        with suppress_refusals():
            found[body] = decode(TRACES, body, LIMIT).payload
    return found


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_a_field_of_another_type_is_refused(name: str) -> None:
    with pytest.raises(RequestRefused, match="the body is not an ExportTraceServiceRequest") as refused:
        decode(TRACES, OTHER_TYPES[name], LIMIT)
    assert refused.value.status == 400


def test_the_refusal_names_the_field_and_its_type() -> None:
    with pytest.raises(RequestRefused, match=r"resource_spans\.scope_spans\.spans\.name is sent as a varint"):
        decode(TRACES, OTHER_TYPES["name"], LIMIT)


def test_clickhouse_refuses_what_the_door_refuses(engine: Engine) -> None:
    """Not all of it: it takes some for another type by chance."""
    assert sum(not stored(engine, [each]) for each in OTHER_TYPES.values()) > len(OTHER_TYPES) / 2


def test_other_encodings_are_stored(engine: Engine) -> None:
    payloads = acknowledged(iter(OTHER_ENCODINGS.values()))
    assert len(payloads) == len(set(OTHER_ENCODINGS.values()))
    again = {name: written_again(payloads[body]) for name, body in OTHER_ENCODINGS.items()}
    if not stored(engine, list(again.values())):
        assert [name for name, payload in again.items() if not stored(engine, [payload])] == []


def test_the_collector_stores_them_among_others(receiver: Collector) -> None:
    before = receiver.health()["spans"]
    bodies = [*OTHER_ENCODINGS.values(), usual(span()).SerializeToString()]
    assert {receiver.send(body).status_code for body in bodies} == {200}
    receiver.wait_until_loaded(before["stored"] + len(bodies))
    after = receiver.health()["spans"]
    assert [after[name] - before[name] for name in ("dead", "lost", "rejected")] == [0, 0, 0]


def test_usual_requests_are_stored_byte_for_byte() -> None:
    body = usual(
        span({"s": "x", "i": -1, "b": False, "d": 0.0, "l": [1, "x"], "m": {"k": 1}}, kind=3)
    ).SerializeToString()
    assert decode(TRACES, body, LIMIT).payload == body
    with_zeros = request(b"\x30\x00\x1a\x00\x50\x00")
    assert decode(TRACES, with_zeros, LIMIT).payload == with_zeros


@pytest.mark.parametrize("seed", [1, pytest.param(range(2, 40), marks=pytest.mark.nightly)])
def test_what_is_acknowledged_is_stored(engine: Engine, seed: int | range) -> None:
    for each in [seed] if isinstance(seed, int) else seed:
        payloads = acknowledged(at_random(each, 500))
        assert len(payloads) > 200
        again = {body: written_again(payload) for body, payload in payloads.items()}
        if not stored(engine, list(again.values())):
            assert [body.hex() for body, payload in again.items() if not stored(engine, [payload])] == []


def test_bad_requests_neither_reach_the_database_nor_delay_good_ones(receiver: Collector) -> None:
    before = receiver.health()["spans"]
    assert {receiver.send(body).status_code for body in OTHER_TYPES.values()} == {400}
    assert receiver.send(b"\x08\x01" + usual(span()).SerializeToString()).status_code == 400
    assert receiver.send(usual(span()).SerializeToString()).status_code == 200
    receiver.wait_until_loaded(before["stored"] + 1)
    after = receiver.health()["spans"]
    assert (after["received"], after["dead"]) == (before["received"] + 1, before["dead"])
