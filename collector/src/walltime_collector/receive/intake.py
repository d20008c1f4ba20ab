"""The one path of every request, however it came: opened, checked, counted, committed to the spool."""

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
from ..http.decompress import ENCODINGS, decompress
from ..http.in_flight import InFlight
from ..spool.group_commit import GroupCommit
from ..spool.segment import Record
from .check import Checked, check_traces, count_items
from .nested_values import write_nested_as_json
from .otlp_json import count_items_of_json, traces_from_json

log = logging.getLogger(__name__)

RETRY_AFTER_S = 5
_NAMED_ENCODINGS = ", ".join(each.decode() for each in ENCODINGS[2:])
_IN_THE_LOOP_BYTES = 256 * 1024
"""Bodies above this are opened in a thread, so that one large request does not hold up the others."""


class Signal(Enum):
    """What OTLP carries; the value is the word in its paths and names."""

    TRACES = "trace"
    METRICS = "metrics"
    LOGS = "logs"


class Head(NamedTuple):
    """What a request says before its body; `encoding` is one of decompress.ENCODINGS."""

    signal: Signal
    encoding: bytes


class Arrived(NamedTuple):
    """A request as it came over the wire; `encoding` is one of decompress.ENCODINGS."""

    signal: Signal
    encoding: bytes
    is_json: bool
    body: bytes


def check_encoding(encoding: bytes) -> None:
    """Raise RequestRefused, 415, for an encoding that is none of ENCODINGS."""
    if encoding not in ENCODINGS:
        raise RequestRefused(415, "content_encoding", f"the encoding must be {_NAMED_ENCODINGS}, or none")


class Intake:
    """
    Takes requests of both protocols.

    Args:
        credential: The token of the senders.
        in_flight: Bodies must be claimed there already; what they decompress to is claimed here.
        max_request_bytes: Also of a body after decompression.
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
        self._openers = ThreadPoolExecutor(2, "open")

    def admit(self, signal: Signal | None, authorization: bytes, encoding: bytes) -> Head:
        """
        Judge a request before its body is read.

        Args:
            signal: What is taken where it was sent to; None: nothing is.

        Raises:
            RequestRefused: 404, 401 or 415. Who has no token is told no more than where.
        """
        if signal is None:
            taken = "POST /v1/traces, /v1/metrics and /v1/logs over HTTP, the Export methods over gRPC"
            raise RequestRefused(404, "unknown_path", f"this collector takes OTLP here: {taken}")
        if not self._credential.accepts_bearer(authorization):
            raise RequestRefused(401, "unauthenticated", "the token is missing or not the collector's")
        check_encoding(encoding)
        return Head(signal, encoding)

    async def take(self, arrived: Arrived) -> int:
        """
        Take a request; it is on disk (fsync) when this returns. Metrics and logs are counted and not kept.

        Returns:
            How many of its spans were rejected: the others are stored, and none of them may be sent again.

        Raises:
            RequestRefused: Nothing of it is stored.
        """
        try:
            return await self._take(arrived)
        except RequestRefused:
            raise
        except SpoolError as error:
            reason = "spool_full" if isinstance(error, SpoolFull) else "spool_failed"
            # the path of the spool is nobody's business outside
            raise RequestRefused(503, reason, "the collector cannot store now; send again later") from error
        except Exception as error:
            log.exception("a request failed in a way nobody thought of; it was not acknowledged")
            raise RequestRefused(503, "internal", "the collector failed; send again later") from error

    def count_refused(self, reason: str) -> None:
        """Count a request that is answered with an error, by a word for why; each protocol does, once."""
        self._health.add(f"refused_{reason}")

    def close(self) -> None:
        """Wait for what is being opened."""
        self._openers.shutdown()

    async def _take(self, arrived: Arrived) -> int:
        if len(arrived.body) <= _IN_THE_LOOP_BYTES:
            payload, checked = self._open(arrived)
        else:
            loop = asyncio.get_running_loop()
            payload, checked = await loop.run_in_executor(self._openers, self._open, arrived)
        if arrived.signal is not Signal.TRACES:
            self._health.add(f"not_stored_{arrived.signal.name.lower()}", checked.spans)
            return 0
        good = checked.spans - checked.rejected
        if good:
            held = len(payload) if payload is not arrived.body else 0
            self.in_flight.take(held)
            try:
                await self._commit.append(Record(time.time_ns(), good, payload))
            finally:
                self.in_flight.give(held)
        if checked.spans:
            self._health.add("received", checked.spans)
        if checked.rejected:
            self._health.add("rejected", checked.rejected)
        reach("before_answer")
        return checked.rejected

    def _open(self, arrived: Arrived) -> tuple[bytes, Checked]:
        payload = decompress(arrived.body, arrived.encoding, self.max_request_bytes)
        if arrived.signal is not Signal.TRACES:
            count = count_items_of_json if arrived.is_json else count_items
            return b"", Checked(count(payload), 0)
        if arrived.is_json:
            payload = traces_from_json(payload)
        checked = check_traces(payload)
        if checked.has_nested:
            payload, cut = write_nested_as_json(payload, self.max_request_bytes)
            self._health.add("nested_values_cut", cut)
        return payload, checked
