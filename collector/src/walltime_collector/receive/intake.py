"""The path of every request, over HTTP and gRPC: decompress, check, count, append to the spool."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..crashpoint import reach
from ..errors import RequestRefused, SpoolError, SpoolFull
from ..health.counters import Health
from ..http.authentication import Credential
from ..http.body import Disconnected, InFlight
from ..http.decompress import ENCODINGS
from ..spool.group_commit import GroupCommit
from ..spool.segment import Record
from .decode import Decoded, Head, Signal, decode, decode_soon
from .turns import Turns

log = logging.getLogger(__name__)

RETRY_AFTER_S = 5
_NAMED_ENCODINGS = ", ".join(each.decode() for each in ENCODINGS[2:])
_DECODERS = 2


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
        self._turns = Turns(_DECODERS)
        self._threads = ThreadPoolExecutor(_DECODERS, "decode")

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

    async def take(self, head: Head, body: bytes, sender: str, is_waiting: Callable[[], bool]) -> int:
        """
        Accept a request; it is on disk (fsync) when this returns. Metrics and logs are counted and not stored.

        Args:
            sender: Its address: the large bodies of one sender do not delay those of others.
            is_waiting: Whether the client still waits for the response.

        Returns:
            The number of rejected spans. The others are stored, and the client must not send any of them again.

        Raises:
            RequestRefused: Nothing of it is stored.
            Disconnected: Neither, because the client left.
        """
        try:
            return await self._take(head, body, await self._decode(head, body, sender, is_waiting))
        except (RequestRefused, Disconnected):
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
        self._threads.shutdown()

    async def _decode(self, head: Head, body: bytes, sender: str, is_waiting: Callable[[], bool]) -> Decoded:
        if (decoded := decode_soon(head, body, self.max_request_bytes)) is not None:
            return decoded
        async with self._turns.turn(sender, is_waiting):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, decode, head, body, self.max_request_bytes)

    async def _take(self, head: Head, body: bytes, decoded: Decoded) -> int:
        payload, spans, rejected, cut = decoded
        if head.signal is not Signal.TRACES:
            self._health.add(f"not_stored_{head.signal.name.lower()}", spans)
            return 0
        if cut:
            self._health.add("nested_values_cut", cut)
        if spans > rejected or (payload and not spans):  # without spans: counters of a process without transactions
            held_bytes = len(payload) if payload is not body else 0
            self.in_flight.take(held_bytes)
            try:
                await self._commit.append(Record(time.time_ns(), spans - rejected, payload))
            finally:
                self.in_flight.give(held_bytes)
        if rejected:  # the others are counted as they are spooled
            self._health.add("received", rejected)
            self._health.add("rejected", rejected)
        reach("before_answer")
        return rejected
