"""The gRPC port against frames that no gRPC library sends: it answers, refuses or closes; other clients are served."""

from __future__ import annotations

import time
from collections.abc import Iterator

import grpc
import pytest

from tests.collector.clickhouse.spans import request, span
from tests.collector.receive import http2_frames as frames
from tests.collector.receive.http2_frames import frame
from tests.collector.receive.http2_peer import OPEN, PATH, WHOLE, Peer
from tests.collector.receive.usage import cpu_s, resident_bytes
from tests.servers import Collector

MIB = 1024 * 1024


@pytest.fixture
def peer(receiver: Collector) -> Iterator[Peer]:
    made = Peer(receiver)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _others_are_served(receiver: Collector) -> Iterator[None]:
    with grpc.insecure_channel(receiver.grpc) as channel:
        export = channel.unary_unary(PATH)
        assert export(good(), timeout=20) == b""
        yield
        assert export(good(), timeout=20) == b""


def good() -> bytes:
    return request(span()).SerializeToString()


def test_calls_may_come_in_any_pieces(peer: Peer) -> None:
    whole = b"".join(peer.call(stream, good()) for stream in (1, 3, 5))
    for at in range(0, len(whole), 7):
        peer.send(whole[at : at + 7])
    assert [peer.status(stream) for stream in (1, 3, 5)] == ["0", "0", "0"]


def test_headers_may_be_continued_padded_and_have_a_priority(peer: Peer) -> None:
    block = peer.headers(1)[9:]
    peer.send(
        frame(frames.HEADERS, 0, 1, block[:5]),
        frame(frames.CONTINUATION, 0, 1, block[5:9]),
        frame(frames.CONTINUATION, frames.END_HEADERS, 1, block[9:]),
    )
    message = good()
    data = b"\x00" + len(message).to_bytes(4, "big") + message
    peer.send(frame(frames.DATA, frames.END_STREAM | frames.PADDED, 1, b"\x03" + data + bytes(3)))
    assert peer.status(1) == "0"
    block = peer.headers(3)[9:]
    flags = frames.END_HEADERS | frames.PADDED | frames.WITH_PRIORITY
    peer.send(frame(frames.HEADERS, flags, 3, b"\x02" + bytes(4) + b"\x10" + block + bytes(2)))
    peer.send(frame(frames.DATA, frames.END_STREAM, 3, data))
    assert peer.status(3) == "0"


def test_trailers_of_a_client_end_its_request(peer: Peer) -> None:
    message = good()
    data = b"\x00" + len(message).to_bytes(4, "big") + message
    peer.send(peer.headers(1), frame(frames.DATA, 0, 1, data), peer.trailers(1, b"x-checksum", b"1"))
    assert peer.status(1) == "0"
    peer.send(peer.call(3, good()))  # the table of both sides is still the same
    assert peer.status(3) == "0"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({b":path": b"/opentelemetry.proto.collector.trace.v1.TraceService/Other"}, "12"),
        ({b":path": PATH.encode() + b"/"}, "12"),
        ({b":method": b"GET"}, "415"),
        ({b"content-type": b"application/json"}, "415"),
        ({b"grpc-encoding": b"br"}, "12"),
    ],
)
def test_a_wrong_call_is_refused_by_its_headers(peer: Peer, changes: dict[bytes, bytes], status: str) -> None:
    peer.send(peer.headers(1, OPEN, changes))
    assert peer.status(1) == status
    peer.send(peer.call(3, good()))
    assert peer.status(3) == "0"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00",
        b"\x00\x00\x00\x00\x09abc",
        b"\x00\x00\x00\x00\x00extra",
        b"\x01\x00\x00\x00\x00",
        b"\x02" + bytes(4),
    ],
)
def test_a_body_that_is_not_one_message_is_refused(peer: Peer, body: bytes) -> None:
    peer.send(peer.headers(1), frame(frames.DATA, frames.END_STREAM, 1, body))
    assert peer.status(1) == "3"


def test_a_bomb_is_refused_without_being_inflated(receiver: Collector) -> None:
    before, cpu_before_s = resident_bytes(receiver), cpu_s(receiver)
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(receiver.grpc, compression=grpc.Compression.Gzip, options=options) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(PATH)(bytes(64 * MIB), timeout=20)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert resident_bytes(receiver, peak=True) - before < 96 * MIB
    assert cpu_s(receiver) - cpu_before_s < 1.0


def test_a_body_of_21_mib_is_refused_while_it_arrives(peer: Peer) -> None:
    peer.send(peer.headers(1))
    part = frame(frames.DATA, 0, 1, bytes(16_384))
    for _ in range(21 * 64):  # the windows let all of it through: the stream's is as large as the limit
        peer.send(part)
    assert peer.status(1) == "8"
    peer.send(peer.call(3, good()))
    assert peer.status(3) == "0"


def test_a_frame_over_the_limit_ends_the_connection(peer: Peer) -> None:
    for stream in (1, 3):
        peer.send(peer.headers(stream))
    part = frame(frames.DATA, 0, 1, bytes(65_536))
    peer.send(part * 100 + frame(frames.DATA, 0, 3, bytes(65_537)))
    assert peer.ending() == f"goaway {frames.FRAME_SIZE_ERROR}"


BROKEN = {
    "not HTTP/2": (b"POST /v1/traces HTTP/1.1\r\n\r\n", frames.PROTOCOL_ERROR),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32), frames.PROTOCOL_ERROR),
    "an even stream": (frame(frames.HEADERS, WHOLE, 2, b"\x82"), frames.PROTOCOL_ERROR),
    "data of no stream": (frame(frames.DATA, 0, 1, b"x"), frames.PROTOCOL_ERROR),
    "data of stream 0": (frame(frames.DATA, 0, 0, b"x"), frames.PROTOCOL_ERROR),
    "a reset of no stream": (frames.rst_stream(7, 8), frames.PROTOCOL_ERROR),
    "a continuation of nothing": (frame(frames.CONTINUATION, 4, 1, b"\x82"), frames.PROTOCOL_ERROR),
    "an interrupted block": (frame(frames.HEADERS, 0, 1, b"\x82") + frame(frames.PING, 0, 0, bytes(8)), 1),
    "a push": (frame(frames.PUSH_PROMISE, 4, 1, bytes(4)), frames.PROTOCOL_ERROR),
    "settings of a stream": (frame(frames.SETTINGS, 0, 1), frames.PROTOCOL_ERROR),
    "half a setting": (frame(frames.SETTINGS, 0, 0, b"abc"), frames.FRAME_SIZE_ERROR),
    "a window of 2^32-1": (frames.settings({frames.INITIAL_WINDOW_SIZE: 2**32 - 1}), frames.FLOW_CONTROL_ERROR),
    "a window update of 0": (frames.window_update(0, 0), frames.PROTOCOL_ERROR),
    "a window beyond 2^31": (frames.window_update(0, 2**31 - 1), frames.FLOW_CONTROL_ERROR),
    "a window update of 3 bytes": (frame(frames.WINDOW_UPDATE, 0, 0, bytes(3)), frames.FRAME_SIZE_ERROR),
    "a ping of 4 bytes": (frame(frames.PING, 0, 0, bytes(4)), frames.FRAME_SIZE_ERROR),
    "a frame of 16 MiB": (b"\xff\xff\xff\x00\x00\x00\x00\x00\x01", frames.FRAME_SIZE_ERROR),
    "more padding than frame": (frame(frames.HEADERS, WHOLE | frames.PADDED, 1, b"\x09\x82"), frames.PROTOCOL_ERROR),
    "an index beyond the table": (frame(frames.HEADERS, WHOLE, 1, b"\xff\xff\x7f"), frames.PROTOCOL_ERROR),
    "a broken literal": (frame(frames.HEADERS, WHOLE, 1, b"\x40\x7f\xff\xff"), frames.PROTOCOL_ERROR),
    "a broken Huffman code": (frame(frames.HEADERS, WHOLE, 1, b"\x00\x82\xff\xff\x01x"), frames.PROTOCOL_ERROR),
    "a table of 1 GiB": (frame(frames.HEADERS, WHOLE, 1, b"\x3f\xe1\xff\xff\xff\x03"), frames.PROTOCOL_ERROR),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_peer_that_breaks_the_rules_gets_a_goaway(receiver: Collector, broken: str) -> None:
    sent, code = BROKEN[broken]
    is_greeting = broken in ("not HTTP/2", "TLS")
    peer = Peer(receiver, sent) if is_greeting else Peer(receiver)
    if not is_greeting:
        peer.send(sent)
    assert peer.ending() == f"goaway {code}"
    peer.close()


def test_huge_headers_end_the_connection(receiver: Collector) -> None:
    field = b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4_000  # a: 4,000 bytes, remembered; then named again and again
    bombs = {
        "literal": frame(frames.HEADERS, WHOLE, 1, b"\x00\x01a\x7f\x81\x7f" + bytes(20_000)),
        "referred to": frame(frames.HEADERS, WHOLE, 1, field + b"\xbe" * 4_000),
        "continued": frame(frames.HEADERS, 0, 1, b"\x82") + frame(frames.CONTINUATION, 0, 1, bytes(9_000)) * 2,
        "continued by nothing": frame(frames.HEADERS, 0, 1, b"\x82") + frame(frames.CONTINUATION, 0, 1) * 100,
    }
    too_large = (frames.ENHANCE_YOUR_CALM, frames.FRAME_SIZE_ERROR)
    for name, bomb in bombs.items():
        peer = Peer(receiver)
        peer.send(bomb)
        assert peer.ending() in {f"goaway {code}" for code in too_large}, name
        peer.close()


@pytest.mark.parametrize("flood", ["resets", "pings", "settings", "empty data", "window updates", "unknown frames"])
def test_a_flood_of_useless_frames_ends_the_connection(peer: Peer, flood: str) -> None:
    if flood == "resets":
        parts = [peer.headers(stream) + frames.rst_stream(stream, frames.CANCEL) for stream in range(1, 20_001, 2)]
    elif flood == "empty data":
        parts = [peer.headers(1), *[frame(frames.DATA, 0, 1)] * 10_000]
    else:
        one = {
            "pings": frame(frames.PING, 0, 0, bytes(8)),
            "settings": frames.settings({}),
            "window updates": frames.window_update(0, 1),
            "unknown frames": frame(0x77, 0, 0, b"?"),
        }[flood]
        parts = [one] * 10_000
    peer.send(*parts)
    assert peer.ending() == f"goaway {frames.ENHANCE_YOUR_CALM}"


def test_calls_beyond_the_limit_are_refused_and_the_others_answered(peer: Peer) -> None:
    streams = range(1, 401, 2)
    peer.send(*[peer.headers(stream) for stream in streams])
    message = good()
    data = b"\x00" + len(message).to_bytes(4, "big") + message
    ends = [peer.status(stream) for stream in streams[128:]]
    assert set(ends) == {f"reset {frames.REFUSED_STREAM}"}
    peer.send(*[frame(frames.DATA, frames.END_STREAM, stream, data) for stream in streams[:128]])
    answered = 0
    for frame_type, flags, _, _ in peer.frames():
        answered += frame_type == frames.HEADERS and bool(flags & frames.END_STREAM)
        if answered == 128:
            break
    assert answered == 128


def test_a_response_waits_for_the_window_of_its_peer(receiver: Collector) -> None:
    peer = Peer(receiver, frames.PREFACE + frames.settings({frames.INITIAL_WINDOW_SIZE: 0}))
    peer.send(peer.call(1, good()))
    seen = []
    for frame_type, _, _, _ in peer.frames():
        seen.append(frame_type)
        if seen.count(frames.SETTINGS) == 2:  # ours, and the acknowledgement of theirs
            break
    time.sleep(0.3)
    assert frames.DATA not in seen
    peer.send(frames.window_update(1, 100))
    assert peer.status(1) == "0"
    peer.close()


def test_unfinished_calls_and_greetings_end_at_their_deadlines(receiver: Collector) -> None:
    slow, silent, half = Peer(receiver), Peer(receiver, b""), Peer(receiver, frames.PREFACE[:10])
    begun = Peer(receiver)
    slow.send(slow.headers(1))
    begun.send(frame(frames.HEADERS, 0, 1, b"\x82"))
    for _ in range(11):
        slow.send(frame(frames.DATA, 0, 1, b"\x00"))
        time.sleep(0.3)
    assert slow.status(1) == "4"
    assert [each.ending() for each in (silent, half, begun)] == [f"goaway {frames.PROTOCOL_ERROR}"] * 3
    for each in (slow, silent, half, begun):
        each.close()


def test_calls_that_are_open_at_a_goaway_of_the_client_are_answered(peer: Peer) -> None:
    message = good()
    data = b"\x00" + len(message).to_bytes(4, "big") + message
    peer.send(peer.headers(1), frame(frames.GOAWAY, 0, 0, bytes(8)), frame(frames.PING, 0, 0, bytes(8)))
    assert (frames.PING, frames.ACK) in ((frame_type, flags) for frame_type, flags, _, _ in peer.frames())
    peer.send(frame(frames.DATA, frames.END_STREAM, 1, data))
    assert peer.status(1) == "0"
    assert peer.ending() == "closed"


def test_the_rest_of_a_refused_body_does_not_end_the_other_calls(peer: Peer) -> None:
    peer.send(peer.headers(1, OPEN, {b"grpc-encoding": b"br"}), peer.headers(3))
    part = frame(frames.DATA, 0, 1, bytes(16_384))
    for _ in range(1_300):  # more frames than the limit of useless ones
        peer.send(part)
    message = good()
    data = b"\x00" + len(message).to_bytes(4, "big") + message
    peer.send(frame(frames.DATA, frames.END_STREAM, 3, data))
    assert peer.status(1) == "12"
    assert peer.status(3) == "0"


def test_every_refusal_is_counted_also_of_repeated_headers(receiver: Collector, peer: Peer) -> None:
    before = receiver.health()["counts"].get("refused_content_encoding", 0)
    for stream in (1, 3, 5, 7):
        peer.send(peer.headers(stream, OPEN, {b"grpc-encoding": b"br"}))
        assert peer.status(stream) == "12"
    assert receiver.health()["counts"]["refused_content_encoding"] == before + 4
