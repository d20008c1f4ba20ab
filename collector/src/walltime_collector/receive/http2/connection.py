"""One HTTP/2 connection: frames in, whole requests to the service, responses out; nothing a peer sends is trusted."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Generic

from ...errors import RequestRefused
from ...http.ports.connections import Slot
from ...http.ports.deadlines import BODY_STALL_S, ReadingDeadline
from . import frames
from .frames import ConnectionFailed
from .header_blocks import MAX_HEADER_BYTES, Block, HeaderBlocks
from .patience import Patience
from .reader import MAX_FRAME_BYTES, Frame, FrameReader
from .service import Call, Response, Service
from .stream import Limits, Stream, framed

MAX_STREAMS = 128
"""Calls of one connection at once; a call that was reset counts until its work is done."""
_CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024
_RESET_COSTS = 5


class Http2Connection(asyncio.Protocol, Generic[Call]):
    """
    Args:
        slot: Where it is counted as open; it leaves when its transport is closed.
        limits: Enforced by sweep(), which somebody calls every second.
    """

    def __init__(self, service: Service[Call], slot: Slot, limits: Limits) -> None:
        self._service, self._slot, self._limits = service, slot, limits
        self._loop = asyncio.get_running_loop()
        self._blocks: HeaderBlocks[Call] = HeaderBlocks(service.open)
        self._streams: dict[int, Stream[Call]] = {}
        self._running = 0
        self._last_stream = 0
        self._reader = FrameReader()
        self._is_draining = self._has_called = self._will_flush = self._is_heard = False
        self._unacknowledged_bytes = 0
        self._room = _CONNECTION_WINDOW_BYTES
        self._send_window = self._initial_window = frames.DEFAULT_WINDOW_BYTES
        self._now_s = self._called_s = self._began_s = self._heard_s = self._loop.time()
        self._patience = Patience(self._now_s)
        self._out: list[bytes] = []

    # -- the transport's calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._reading = ReadingDeadline(transport, self._limits.request_s)
        self._slot.connection = self
        stream_window = min(self._service.max_body_bytes + MAX_FRAME_BYTES, frames.LARGEST_WINDOW_BYTES)
        values = {
            frames.MAX_CONCURRENT_STREAMS: MAX_STREAMS,
            frames.INITIAL_WINDOW_SIZE: stream_window,
            frames.MAX_FRAME_SIZE: MAX_FRAME_BYTES,
            frames.MAX_HEADER_LIST_SIZE: MAX_HEADER_BYTES,
        }
        room = _CONNECTION_WINDOW_BYTES - frames.DEFAULT_WINDOW_BYTES
        transport.write(frames.settings(values) + frames.window_update(0, room))

    def connection_lost(self, error: Exception | None) -> None:
        self._slot.leave()
        for stream in self._streams.values():
            if not stream.is_whole:
                self._service.in_flight.give(stream.size)
        self._streams.clear()

    def pause_writing(self) -> None:
        # Who does not read our answers is not listened to, or they would pile up here.
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._now_s = self._loop.time()
        self._is_heard, self._heard_s = True, self._now_s
        try:
            for frame in self._reader.feed(data):
                self._take(frame)
            if self._unacknowledged_bytes > _CONNECTION_WINDOW_BYTES // 2:
                self._out.append(frames.window_update(0, self._unacknowledged_bytes))
                self._room += self._unacknowledged_bytes
                self._unacknowledged_bytes = 0
        except ConnectionFailed as failure:
            self._fail(failure.code, str(failure))
        self._flush()

    def eof_received(self) -> bool:
        return False

    # -- what the server asks for

    def sweep(self, now_s: float) -> None:
        """End what takes longer than its limit."""
        limits, self._now_s = self._limits, now_s
        if self._reading.is_over(now_s):
            self._slot.note("slow_reader")
            self._transport.abort()
        elif self._transport.is_closing():
            return
        elif (
            not self._reader.is_greeted or self._blocks.unfinished_stream
        ) and now_s - self._began_s > limits.header_s:
            self._slot.note("slow_headers" if self._is_heard else "silent")
            self._fail(frames.PROTOCOL_ERROR, "too slow")
        elif not self._streams and not self._running:
            if now_s - self._called_s > (limits.idle_s if self._has_called else limits.first_call_s):
                self.drain()
        else:
            for each, stream in [*self._streams.items()]:
                if now_s > stream.deadline_s:
                    self._give_up(each, stream)
        self._flush()

    def _give_up(self, number: int, stream: Stream[Call]) -> None:
        if not stream.is_whole:
            what = f"the request did not arrive whole within {self._limits.request_s:g} s"
            self._refuse(number, RequestRefused(408, "late", what))
        elif stream.unsent is not None:  # the peer does not open its window for the answer
            self._out.append(frames.rst_stream(number, frames.CANCEL))
            self._forget(number)

    def drain(self) -> None:
        """Take no more calls, answer those that are here, then close."""
        if not self._is_draining:
            self._is_draining = True
            self._out.append(frames.goaway(self._last_stream, frames.NO_ERROR))
            for stream in [number for number, known in self._streams.items() if known.is_streaming]:
                self._end_stream(stream)
        self._close_if_done()
        self._flush()

    def idle_since_s(self) -> float | None:
        """See Connection."""
        if self._running:
            return None
        is_waiting = self._blocks.unfinished_stream or any(not each.is_streaming for each in self._streams.values())
        if is_waiting:  # a request that stalls may be given up for others
            return self._heard_s if self._loop.time() - self._heard_s > BODY_STALL_S else None
        return self._called_s

    def unread_bytes(self) -> int:
        """See Connection."""
        return self._reading.unread_bytes

    def abort(self) -> None:
        """Close now."""
        self._transport.abort()

    # -- frames

    def _take(self, frame: Frame) -> None:
        kind, flags, stream, payload = frame
        unfinished = self._blocks.unfinished_stream
        if unfinished and (kind != frames.CONTINUATION or stream != unfinished):
            raise ConnectionFailed(frames.PROTOCOL_ERROR, "a header block was interrupted")
        if kind == frames.DATA:
            self._take_data(stream, flags, payload)
        elif kind == frames.HEADERS:
            self._take_headers(stream, flags, payload)
        else:
            self._take_control(kind, flags, stream, payload)

    def _take_control(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == frames.CONTINUATION:
            self._open(self._blocks.proceed(flags, payload))
        elif kind == frames.WINDOW_UPDATE:
            self._take_window_update(stream, frames.read_number(payload) & frames.LARGEST_WINDOW_BYTES)
        elif kind == frames.PING:
            if stream or len(payload) != 8:
                raise ConnectionFailed(frames.FRAME_SIZE_ERROR, "not a PING")
            self._patience.lose(self._now_s)
            if not flags & frames.ACK:
                self._out.append(frames.frame(frames.PING, frames.ACK, 0, payload))
        elif kind == frames.SETTINGS:
            self._take_settings(flags, stream, payload)
        elif kind == frames.RST_STREAM:
            frames.read_number(payload)
            self._check_known(stream)
            self._patience.lose(self._now_s, _RESET_COSTS)
            self._forget(stream)
        elif kind == frames.PUSH_PROMISE:
            raise ConnectionFailed(frames.PROTOCOL_ERROR, "clients promise nothing")
        elif kind == frames.GOAWAY:
            self._is_draining = True
            self._close_if_done()
        else:  # PRIORITY, and kinds that nobody knows yet
            self._patience.lose(self._now_s)

    def _take_settings(self, flags: int, stream: int, payload: bytes) -> None:
        self._patience.lose(self._now_s)
        if stream:
            raise ConnectionFailed(frames.PROTOCOL_ERROR, "settings are of the connection")
        if flags & frames.ACK:
            return
        for name, value in frames.read_settings(payload):
            if name == frames.INITIAL_WINDOW_SIZE:
                if value > frames.LARGEST_WINDOW_BYTES:
                    raise ConnectionFailed(frames.FLOW_CONTROL_ERROR, "a window beyond 2^31-1")
                self._initial_window = value
        self._out.append(frames.frame(frames.SETTINGS, frames.ACK, 0))
        self._send_waiting()

    def _take_window_update(self, stream: int, count: int) -> None:
        if not count:
            raise ConnectionFailed(frames.PROTOCOL_ERROR, "a window update of nothing")
        if not stream:
            self._send_window += count
            if self._send_window > frames.LARGEST_WINDOW_BYTES:
                raise ConnectionFailed(frames.FLOW_CONTROL_ERROR, "a window beyond 2^31-1")
        else:
            self._check_known(stream)
            if (known := self._streams.get(stream)) is not None:
                known.granted += count
                if known.granted + self._initial_window > frames.LARGEST_WINDOW_BYTES:
                    raise ConnectionFailed(frames.FLOW_CONTROL_ERROR, "a window beyond 2^31-1")
        self._patience.lose(self._now_s)
        self._send_waiting()

    # -- requests

    def _take_headers(self, stream: int, flags: int, payload: bytes) -> None:
        if not stream & 1:
            raise ConnectionFailed(frames.PROTOCOL_ERROR, "the streams of clients are odd")
        self._began_s = self._now_s
        self._open(self._blocks.begin(stream, flags, payload))

    def _open(self, block: Block | None) -> None:
        if block is None:
            return
        stream, is_whole = block.stream, bool(block.flags & frames.END_STREAM)
        if stream <= self._last_stream:  # trailers, or of a call that we have answered already
            self._blocks.read(block.content)
            self._patience.lose(self._now_s)
            known = self._streams.get(stream)
            if known is not None and not known.is_whole and is_whole:
                self._run(stream, known)
            return
        self._last_stream, self._called_s = stream, self._now_s
        call = self._blocks.judge(block.content)
        if self._is_draining or len(self._streams) + self._running >= MAX_STREAMS:
            self._patience.lose(self._now_s)
            self._out.append(frames.rst_stream(stream, frames.REFUSED_STREAM))
        elif isinstance(call, Response):
            self._patience.lose(self._now_s)
            self._out.append(framed(stream, call))
            if not is_whole:
                self._out.append(frames.rst_stream(stream, frames.NO_ERROR))
        else:
            known = self._streams[stream] = Stream(call, self._now_s + self._limits.request_s)
            if is_whole:
                self._run(stream, known)

    def _take_data(self, stream: int, flags: int, payload: bytes) -> None:
        size = len(payload)
        self._room -= size
        if self._room < 0:
            raise ConnectionFailed(frames.FLOW_CONTROL_ERROR, "more data than the window lets through")
        self._unacknowledged_bytes += size
        known = self._streams.get(stream)
        if known is None or known.is_whole:
            self._check_known(stream)
            self._patience.lose(self._now_s)
            return
        chunk = frames.unpadded(flags, payload)
        if not chunk and not flags & frames.END_STREAM:
            self._patience.lose(self._now_s)
        try:
            self._check_size(known.size + len(chunk))
            self._service.in_flight.take(len(chunk))
        except RequestRefused as refusal:
            self._refuse(stream, refusal)
            return
        known.size += len(chunk)
        known.chunks.append(chunk)
        if flags & frames.END_STREAM:
            self._run(stream, known)

    def _check_size(self, size: int) -> None:
        most = self._service.max_body_bytes
        if size > most:
            raise RequestRefused(413, "too_large", f"the body is more than {most} bytes; send smaller batches")

    def _run(self, stream: int, known: Stream[Call]) -> None:
        known.is_whole = self._has_called = True
        self._running += 1
        body = known.chunks[0] if len(known.chunks) == 1 else b"".join(known.chunks)
        known.chunks.clear()
        self._service.run(known.call, body, partial(self._respond, stream, known.size))

    def _refuse(self, stream: int, refusal: RequestRefused) -> None:
        response = self._service.refuse(refusal)
        self._out.append(framed(stream, response) + frames.rst_stream(stream, frames.NO_ERROR))
        self._forget(stream)

    def _respond(self, stream: int, size: int, response: Response | None) -> bool:
        known = self._streams.get(stream)
        if response is None or not response.is_last:
            if response is not None and known is not None:
                self._stream(stream, known, response, size)
                self._flush()
            return stream in self._streams
        self._service.in_flight.give(size)
        self._running -= 1
        self._patience.regain()
        if known is not None:
            self._send(stream, known, response)
        self._close_if_done()
        if not self._will_flush:  # one fsync ends many calls: their answers go out together
            self._will_flush = True
            self._loop.call_soon(self._flush)
        return False

    def _stream(self, stream: int, known: Stream[Call], response: Response, size: int) -> None:
        if not known.is_streaming:  # it waits for nobody from now on
            known.is_streaming = True
            self._service.in_flight.give(size)
            self._running -= 1
        data_bytes = len(response.data)
        if data_bytes > self._send_window or data_bytes > self._initial_window + known.granted:
            self._end_stream(stream)  # the peer takes nothing
            return
        self._send_window -= data_bytes
        known.granted -= data_bytes
        self._out.append(framed(stream, response))

    def _end_stream(self, stream: int) -> None:
        self._out.append(frames.rst_stream(stream, frames.REFUSED_STREAM))
        del self._streams[stream]

    def _send(self, stream: int, known: Stream[Call], response: Response) -> None:
        size = len(response.data)
        if size > self._send_window or size > self._initial_window + known.granted:
            known.unsent = response  # until the peer opens its window; answers are small, so they wait whole
            return
        self._send_window -= size
        self._out.append(framed(stream, response))
        del self._streams[stream]

    def _send_waiting(self) -> None:
        for stream, known in [*self._streams.items()]:
            if known.unsent is not None:
                self._send(stream, known, known.unsent)
        self._close_if_done()

    def _forget(self, stream: int) -> None:
        known = self._streams.pop(stream, None)
        if known is not None and not known.is_whole:  # otherwise _respond gives it back
            self._service.in_flight.give(known.size)
        self._close_if_done()

    def _check_known(self, stream: int) -> None:
        if not stream or stream > self._last_stream:
            raise ConnectionFailed(frames.PROTOCOL_ERROR, "a frame of a stream that was never opened")

    def _fail(self, code: int, what: str) -> None:
        self._out.append(frames.goaway(self._last_stream, code, what))
        self._flush()
        self._transport.close()

    def _close_if_done(self) -> None:
        if self._is_draining and not self._streams and not self._running:
            self._flush()
            self._transport.close()

    def _flush(self) -> None:
        self._will_flush = False
        if self._out:
            written, self._out = b"".join(self._out), []
            if not self._transport.is_closing():
                self._transport.write(written)
