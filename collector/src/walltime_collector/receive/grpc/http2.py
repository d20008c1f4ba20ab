"""HTTP/2 by the h2 library, with the gRPC port's settings, and with bounds where h2 has none or large ones."""

from __future__ import annotations

from h2.config import H2Configuration
from h2.connection import ConnectionInputs, H2Connection, H2ConnectionStateMachine
from h2.events import Event
from h2.exceptions import DenialOfServiceError, FrameTooLargeError
from h2.frame_buffer import FrameBuffer
from h2.settings import SettingCodes, Settings
from hyperframe.frame import Frame

MAX_CALLS = 128
"""Of one connection at once."""
_MAX_HEADER_BYTES = 16 * 1024
_MAX_CONTINUATIONS = 16
_FRAME_HEAD_BYTES = 9
_WINDOW_BYTES = 16 * 1024 * 1024
"""Of a connection; a call may fill half of it."""
_CONFIG = H2Configuration(
    client_side=False, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
)
_SETTINGS = {
    SettingCodes.MAX_CONCURRENT_STREAMS: MAX_CALLS,
    SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW_BYTES // 2,
    SettingCodes.MAX_HEADER_LIST_SIZE: _MAX_HEADER_BYTES,
}
_TOLERANT_SETTINGS = {**_SETTINGS, SettingCodes.MAX_CONCURRENT_STREAMS: 1 << 16}
"""h2 ends a connection with more calls than it announced. The port refuses each such call instead."""


class Http2(H2Connection):
    """The server's side of one connection."""

    MAX_CLOSED_STREAMS = 1_000
    """h2 remembers 65,536, which take 9 MB."""

    def __init__(self) -> None:
        super().__init__(_CONFIG)
        self.decoder.max_header_list_size = _MAX_HEADER_BYTES
        self._frames = self.incoming_buffer = _BoundedFrameBuffer(server=True)
        self.state_machine = _StateMachine()
        self.local_settings = Settings(client=False, initial_values=_SETTINGS)
        self.initiate_connection()
        self.local_settings = Settings(client=False, initial_values=_TOLERANT_SETTINGS)
        self.increment_flow_control_window(_WINDOW_BYTES - self.inbound_flow_control_window)

    @property
    def is_incomplete(self) -> bool:
        """Whether a frame or a header block has begun and its rest has not arrived."""
        return self._frames.is_incomplete


class _StateMachine(H2ConnectionStateMachine):
    """A GOAWAY, sent or received, lets the open calls be answered (RFC 9113, 6.8): h2 takes it for the end."""

    def process_input(self, input_: ConnectionInputs) -> list[Event]:
        if input_ in (ConnectionInputs.SEND_GOAWAY, ConnectionInputs.RECV_GOAWAY):
            return []
        return super().process_input(input_)


class _BoundedFrameBuffer(FrameBuffer):
    """Refuses a frame by its announced size: h2 would wait for all of it. Also bounds header blocks."""

    @property
    def is_incomplete(self) -> bool:
        return bool(self._data or self._headers_buffer)

    def __next__(self) -> Frame:
        if len(self._data) >= _FRAME_HEAD_BYTES and int.from_bytes(self._data[:3], "big") > self.max_frame_size:
            raise FrameTooLargeError(f"a frame of more than {self.max_frame_size} bytes")
        parts = self._headers_buffer
        if len(parts) > _MAX_CONTINUATIONS or sum(len(each.data) for each in parts) > _MAX_HEADER_BYTES:
            raise DenialOfServiceError(f"headers of more than {_MAX_HEADER_BYTES} bytes")
        return super().__next__()
