"""The path of every request, over HTTP and gRPC: decompress, check, count, append to the spool."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import NamedTuple

from ..crashpoint import reach
from ..errors import RequestRefused, SpoolError, SpoolFull
from ..health.counters import Health
from ..http.authentication import Credential
from ..http.body import InFlight
from ..http.decompress import ENCODINGS, decompress
from ..spool.group_commit import GroupCommit
from ..spool.segment import Record
from .check import Checked, check_traces, count_items
from .nested_values import write_nested_as_json
from .otlp_json import count_items_of_json, traces_from_json

log = logging.getLogger(__name__)

RETRY_AFTER_S = 5
_NAMED_ENCODINGS = ", ".join(each.decode() for each in ENCODINGS[2:])
_IN_THE_LOOP_BYTES = 256 * 1024
"""Larger bodies are decoded in a thread, so that one large request does not delay the others."""


class Signal(Enum):
    """The data of a request; the value is its name in gRPC's services."""

    TRACES = "trace"
    METRICS = "metrics"
    LOGS = "logs"


class Head(NamedTuple):
    """The checked headers of a request; `encoding` is one of decompress.ENCODINGS."""

    signal: Signal
    encoding: bytes


def check_encoding(encoding: bytes) -> None:
    """Raise RequestRefused, 415, for an unknown encoding."""
    if encoding not in ENCODINGS:
        raise RequestRefused(415, "content_encoding", f"the encoding must be {_NAMED_ENCODINGS}, or none")


class Intake:
    """
    Accepts requests of both protocols.

    Args:
        credential: The token of the senders.
        in_flight: The caller has claimed the bodies; decompressed bodies are claimed here.
        max_request_bytes: Also the limit of a decompressed body.
    """

    def __init__(
        self,
        commit: GroupCommit,
        health: Health,
        in_flight: InFlight,
        credential: Credential,
        *,
        max_request_bytes: int,
    ) -> None:
        self._commit, self._health, self._credential = commit, health, credential
        self.in_flight, self.max_request_bytes = in_flight, max_request_bytes
        self._decoders = ThreadPoolExecutor(2, "decode")

    def admit(self, signal: Signal | None, authorization: bytes, encoding: bytes) -> Head:
        """
        Check a request before its body is read.

        Args:
            signal: By the path of the request; None for an unknown path.

        Raises:
            RequestRefused: 404, 401 or 415, in this order.
        """
        if signal is None:
            paths = "POST /v1/traces, /v1/metrics and /v1/logs over HTTP, the Export methods over gRPC"
            raise RequestRefused(404, "unknown_path", f"this collector takes OTLP here: {paths}")
        if not self._credential.accepts_bearer(authorization):
            raise RequestRefused(401, "unauthenticated", "the token is missing or not the collector's")
        check_encoding(encoding)
        return Head(signal, encoding)

    async def take(self, head: Head, body: bytes, *, is_json: bool = False) -> int:
        """
        Accept a request; it is on disk (fsync) when this returns. Metrics and logs are counted and not stored.

        Returns:
            The number of rejected spans. The others are stored, and the client must not send any of them again.

        Raises:
            RequestRefused: Nothing of it is stored.
        """
        try:
            return await self._take(head, body, is_json)
        except RequestRefused:
            raise
        except SpoolError as error:
            reason = "spool_full" if isinstance(error, SpoolFull) else "spool_failed"
            # the message has the path of the spool, which clients must not see
            raise RequestRefused(503, reason, "the collector cannot store now; send again later") from error
        except Exception as error:
            log.exception("a request failed unexpectedly; it was not acknowledged")
            raise RequestRefused(503, "internal", "the collector failed; send again later") from error

    def count_refused(self, reason: str) -> None:
        """Count a request that gets an error response. Each protocol calls this once for each of them."""
        self._health.add(f"refused_{reason}")

    def close(self) -> None:
        """Wait for the bodies that are being decoded."""
        self._decoders.shutdown()

    async def _take(self, head: Head, body: bytes, is_json: bool) -> int:
        if len(body) <= _IN_THE_LOOP_BYTES:
            payload, checked = self._decode(head, body, is_json)
        else:
            loop = asyncio.get_running_loop()
            payload, checked = await loop.run_in_executor(self._decoders, self._decode, head, body, is_json)
        if head.signal is not Signal.TRACES:
            self._health.add(f"not_stored_{head.signal.name.lower()}", checked.spans)
            return 0
        good = checked.spans - checked.rejected
        if good or (payload and not checked.spans):  # without spans: the counters of a process without transactions
            held_bytes = len(payload) if payload is not body else 0
            self.in_flight.take(held_bytes)
            try:
                await self._commit.append(Record(time.time_ns(), good, payload))
            finally:
                self.in_flight.give(held_bytes)
        if checked.rejected:  # the others are counted as they are spooled
            self._health.add("received", checked.rejected)
            self._health.add("rejected", checked.rejected)
        reach("before_answer")
        return checked.rejected

    def _decode(self, head: Head, body: bytes, is_json: bool) -> tuple[bytes, Checked]:
        payload = decompress(body, head.encoding, self.max_request_bytes)
        if head.signal is not Signal.TRACES:
            return b"", Checked((count_items_of_json if is_json else count_items)(payload), 0)
        if is_json:
            payload = traces_from_json(payload)
        checked = check_traces(payload)
        if checked.has_nested:
            payload, cut = write_nested_as_json(payload, self.max_request_bytes)
            self._health.add("nested_values_cut", cut)
        return payload, checked
