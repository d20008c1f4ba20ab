"""One connection of the gRPC port: the h2 library speaks HTTP/2; this adds calls, limits and deadlines."""

from __future__ import annotations

import asyncio
from functools import partial

from h2 import events
from h2.errors import ErrorCodes
from h2.exceptions import DenialOfServiceError, ProtocolError

from ...errors import RequestRefused
from ...http.body import check_size, late
from ...http.ports.connections import Slot
from ...http.ports.deadlines import BODY_STALL_S, ReadingDeadline
from .calls import Call, Headers, Limits, Response, Service
from .http2 import MAX_CALLS, Http2

_SLICE_BYTES = 16 * 1024
"""h2 works through all it is given before a limit here can stop it."""
_MAX_USELESS_FRAMES = 1_000
_FORGIVEN_FRAMES = 20
"""Each second, and for each call that was answered."""
_RESET_COST = 5


class Connection(asyncio.Protocol):
    """
    Args:
        slot: Where it is counted as open; it leaves when its transport is closed.
        limits: Enforced by sweep(), which Connections calls every second.
    """

    def __init__(self, service: Service, limits: Limits, slot: Slot) -> None:
        self._service, self._slot, self._limits = service, slot, limits
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, Call] = {}
        self._tasks: set[asyncio.Task[Response | None]] = set()
        self._working: set[Call] = set()
        """Calls that the service works on, also after a reset; streaming responses are not among them."""
        self._useless_frames = 0
        self._is_heard = self._is_greeted = self._has_called = self._is_draining = self._will_flush = False
        self._called_s = self._whole_s = self._heard_s = self._loop.time()
        self._h2 = Http2()

    # -- asyncio calls these

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._reading = ReadingDeadline(transport, self._limits.request_s)
        self._slot.connection = self
        self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        self._slot.leave()
        for call in [*self._calls.values()]:
            self._forget(call)

    def pause_writing(self) -> None:
        # A peer that does not read its responses is not read from, or they would pile up here.
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._is_heard, self._heard_s = True, self._loop.time()
        try:
            for at in range(0, len(data), _SLICE_BYTES):
                self._flush()  # h2 drops what is not sent when it reads a GOAWAY
                for event in self._h2.receive_data(data[at : at + _SLICE_BYTES]):
                    self._take(event)
        except ProtocolError as error:
            self._fail(error.error_code, str(error))
        if self._is_greeted and not self._h2.is_incomplete:
            self._whole_s = self._heard_s
        self._flush()

    # -- the server and its limits call these

    def sweep(self, now_s: float) -> None:
        """End what takes longer than its limit."""
        limits = self._limits
        self._useless_frames = max(0, self._useless_frames - _FORGIVEN_FRAMES)
        is_refused = all(each.handler is None for each in self._calls.values())  # or there is no call
        is_begun = not self._is_greeted or (self._h2.is_incomplete and is_refused)
        if self._reading.is_over(now_s):
            self._slot.note("slow_reader")
            self._transport.abort()
        elif self._transport.is_closing():
            return
        elif is_begun and now_s - self._whole_s > limits.header_s:
            self._slot.note("slow_headers" if self._is_heard else "silent")
            self._fail(ErrorCodes.PROTOCOL_ERROR, "too slow")
        elif not self._calls and not self._working:
            if now_s - self._called_s > (limits.idle_s if self._has_called else limits.first_call_s):
                self.drain()
        else:
            for call in [each for each in self._calls.values() if now_s > each.deadline_s]:
                self._end_late(call)
        self._flush()

    def drain(self) -> None:
        """See http.ports.connections.Connection."""
        if not self._is_draining:
            self._is_draining = True
            self._h2.close_connection()
            for call in [each for each in self._calls.values() if each.is_streaming]:
                self._reset(call, ErrorCodes.REFUSED_STREAM)
        self._close_if_done()
        self._flush()

    def idle_since_s(self) -> float | None:
        """See http.ports.connections.Connection."""
        if self._working:
            return None
        if self._h2.is_incomplete or not all(each.is_streaming for each in self._calls.values()):
            # a request that stalls may be given up for others
            return self._heard_s if self._loop.time() - self._heard_s > BODY_STALL_S else None
        return self._called_s

    def unread_bytes(self) -> int:
        """See http.ports.connections.Connection."""
        return self._reading.unread_bytes

    def abort(self) -> None:
        """Close now."""
        self._transport.abort()

    # -- requests

    def _take(self, event: events.Event) -> None:
        if isinstance(event, events.DataReceived):
            self._take_data(event)
        elif isinstance(event, events.RequestReceived):
            self._open(event.stream_id, event.headers)
        elif isinstance(event, events.StreamEnded):
            self._run(event.stream_id)
        elif isinstance(event, events.StreamReset):
            if (call := self._calls.get(event.stream_id)) is not None:
                self._forget(call)
                self._count_useless(1 if call.handler is None or call.is_streaming else _RESET_COST)
        elif isinstance(event, events.ConnectionTerminated):
            self._is_draining = True
            self._close_if_done()
        else:
            self._count_useless()
            if isinstance(event, (events.WindowUpdated, events.RemoteSettingsChanged)):
                self._is_greeted = True
                for call in [*self._calls.values()]:
                    if call.unsent is not None:
                        self._send(call, call.unsent)
                self._close_if_done()

    def _open(self, stream: int, headers: Headers) -> None:
        self._called_s = self._heard_s
        if self._is_draining or len({*self._calls.values(), *self._working}) >= MAX_CALLS:
            self._count_useless()
            self._h2.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
            return
        call = self._calls[stream] = Call(stream, self._heard_s + self._limits.request_s)
        opened = self._service.open(headers)
        if isinstance(opened, Response):
            self._refuse(call, opened)
            self._count_useless()
        else:
            call.handler = opened

    def _take_data(self, event: events.DataReceived) -> None:
        self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        call, size = self._calls.get(event.stream_id), len(event.data)
        if not size and event.stream_ended is None:
            self._count_useless()
        if call is None or call.handler is None:
            return
        try:
            check_size(call.size + size, self._service.max_body_bytes)
            self._service.in_flight.take(size)
        except RequestRefused as refusal:
            self._refuse(call, self._service.refuse(refusal))
        else:
            call.size += size
            call.chunks.append(event.data)

    def _run(self, stream: int) -> None:
        call = self._calls.get(stream)
        if call is None or call.handler is None:  # refused
            self._calls.pop(stream, None)
            self._close_if_done()
            return
        call.is_whole = self._has_called = True
        self._working.add(call)
        body = call.chunks[0] if len(call.chunks) == 1 else b"".join(call.chunks)
        call.chunks.clear()
        task = self._loop.create_task(call.handler(body, partial(self._send_message, call), self._slot.address))
        self._tasks.add(task)
        task.add_done_callback(partial(self._finished, call))

    # -- responses

    def _finished(self, call: Call, task: asyncio.Task[Response | None]) -> None:
        self._tasks.discard(task)
        if call.is_streaming:
            return
        self._end_work(call)
        self._useless_frames = max(0, self._useless_frames - _FORGIVEN_FRAMES)
        if self._is_open(call) and not task.cancelled() and (response := task.result()) is not None:
            self._send(call, response)
        self._close_if_done()
        if not self._will_flush:  # one fsync ends many calls: their responses go out together
            self._will_flush = True
            self._loop.call_soon(self._flush)

    def _send(self, call: Call, response: Response) -> None:
        """Responses are small: one that the peer's window has no room for waits whole."""
        call.unsent = response
        if len(response.data) <= self._h2.local_flow_control_window(call.stream):
            self._h2.send_headers(call.stream, response.headers, end_stream=not response.trailers)
            if response.trailers:
                self._h2.send_data(call.stream, response.data)
                self._h2.send_headers(call.stream, response.trailers, end_stream=True)
            del self._calls[call.stream]

    def _send_message(self, call: Call, headers: Headers, data: bytes) -> bool:
        """See SendMessage."""
        if data and self._is_open(call):
            if not call.is_streaming:
                call.is_streaming = True
                self._end_work(call)
                self._h2.send_headers(call.stream, headers)
            if len(data) <= self._h2.local_flow_control_window(call.stream):
                self._h2.send_data(call.stream, data)
            else:  # the peer takes nothing
                self._reset(call, ErrorCodes.REFUSED_STREAM)
            self._flush()
        return self._is_open(call)

    def _refuse(self, call: Call, response: Response) -> None:
        """Answer before the body is whole. Without a reset: h2 would answer each frame of the rest with another."""
        call.handler = None
        call.chunks.clear()
        self._service.in_flight.give(call.size)
        call.size = 0
        self._h2.send_headers(call.stream, response.headers, end_stream=True)

    def _end_late(self, call: Call) -> None:
        if not call.is_whole and call.handler is not None:
            call.deadline_s += self._limits.request_s
            self._refuse(call, self._service.refuse(late(self._limits.request_s)))
        elif not call.is_whole or call.unsent is not None:
            self._reset(call, ErrorCodes.CANCEL)

    def _reset(self, call: Call, code: ErrorCodes) -> None:
        self._h2.reset_stream(call.stream, code)
        self._forget(call)

    def _is_open(self, call: Call) -> bool:
        return self._calls.get(call.stream) is call and not self._transport.is_closing()

    def _end_work(self, call: Call) -> None:
        self._working.remove(call)
        self._service.in_flight.give(call.size)

    def _forget(self, call: Call) -> None:
        del self._calls[call.stream]
        if not call.is_whole:  # otherwise _end_work gives it back
            self._service.in_flight.give(call.size)
        self._close_if_done()

    def _count_useless(self, count: int = 1) -> None:
        """Bound floods of frames that move no data: pings, settings, resets, empty frames."""
        self._useless_frames += count
        if self._useless_frames > _MAX_USELESS_FRAMES:
            raise DenialOfServiceError("too many frames that move nothing")

    def _fail(self, code: ErrorCodes, what: str) -> None:
        self._h2.close_connection(code, what.encode())
        self._flush()
        self._transport.close()

    def _close_if_done(self) -> None:
        if self._is_draining and not self._calls and not self._working:
            self._flush()
            self._transport.close()

    def _flush(self) -> None:
        self._will_flush = False
        output = self._h2.data_to_send()
        if output and not self._transport.is_closing():
            self._transport.write(output)
