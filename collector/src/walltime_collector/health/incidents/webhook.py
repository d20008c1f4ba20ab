"""Posts messages about incidents to a URL: in order, each until it is accepted, refused, or too old."""

from __future__ import annotations

import base64
import logging
import ssl
import threading
import time
from collections import deque
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection, responses
from urllib.parse import unquote, urlsplit

from ...background import BackgroundThread
from ...errors import SettingsRefused
from ..counters import Health
from .messages import Format, message
from .watch import Event

log = logging.getLogger(__name__)

_TIMEOUT_S = 10.0
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 60.0
_GIVEN_UP_S = 3600.0
_MOST_WAITING = 100
_MOST_RETRY_AFTER_S = 300
_RETRIED = frozenset({408, 425, 429})


class Webhook(BackgroundThread):
    """
    A thread with a bounded queue; the URL is a secret, and no message in the log or in an answer has it.

    A message is one POST about all events of a look. It is tried again after 1 s, 2 s … 60 s, for an hour, unless the
    receiver refuses it with a status of 400 to 499. TLS certificates are verified; SSL_CERT_FILE names other CAs.

    Args:
        url: http or https; user and password in it are sent as Basic authentication.
        pages_url: Where the pages are, without a slash at the end.

    Raises:
        SettingsRefused: `url` is no such address.
    """

    def __init__(
        self,
        url: str,
        format_name: Format,
        health: Health,
        pages_url: str,
        *,
        where: str = "incident_webhook",
        given_up_s: float = _GIVEN_UP_S,
    ) -> None:
        super().__init__("webhook", "send messages about incidents", 3600.0)
        try:
            parts = urlsplit(url)
            is_address = parts.scheme in ("http", "https") and parts.hostname and url.isascii() and url.isprintable()
            self._port = parts.port
        except ValueError:
            is_address = False
        if not is_address:
            raise SettingsRefused(f"{where}: not an http(s) address; write it like https://alerts.example.com/walltime")
        self._host, self._is_tls = str(parts.hostname), parts.scheme == "https"
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {"Content-Type": "application/json", "User-Agent": "walltime-collector"}
        if parts.username is not None:
            credential = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(credential).decode()}"
        self._format, self._health, self._pages_url, self._given_up_s = format_name, health, pages_url, given_up_s
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._changed = threading.Condition()

    def notify(self, events: Sequence[Event]) -> None:
        """Put a message into the queue; of a full queue the oldest message is lost."""
        body = message(self._format, events, self._pages_url)
        with self._changed:
            self._waiting.append((time.monotonic(), body))
            if len(self._waiting) > _MOST_WAITING:
                self._waiting.popleft()
                self._lose("the queue is full")
            self._changed.notify()

    def stop(self, within_s: float) -> None:
        """See BackgroundThread; what waits is lost."""
        self.stopping.set()
        with self._changed:
            self._changed.notify()
        super().stop(within_s)

    def step(self) -> bool:
        """Send the oldest message, or wait for one."""
        with self._changed:
            if not self._waiting:
                self._changed.wait_for(lambda: self._waiting or self.stopping.is_set())
                return True
            since_s, body = self._waiting[0]
        retry_s = _FIRST_RETRY_S
        while (again_s := self._send(body, retry_s)) and not self.stopping.is_set():
            if time.monotonic() + again_s - since_s > self._given_up_s:
                self._lose(f"it was tried for {self._given_up_s:.0f} s")
                break
            self._health.add("incident_messages_retried")
            self.stopping.wait(again_s)
            retry_s = min(2 * retry_s, _LAST_RETRY_S)
        with self._changed:
            if self._waiting and self._waiting[0][1] is body:
                self._waiting.popleft()
        return True

    def _send(self, body: bytes, retry_s: float) -> float:
        """Send once; returns after how many seconds to try again, 0 when it is accepted or lost."""
        try:
            status, retry_after = self._post(body)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            log.warning("the webhook for incidents does not answer (%s); trying again", reason)
            return retry_s
        if 200 <= status < 300:
            self._health.add("incident_messages_sent")
            return 0.0
        if 300 <= status < 500 and status not in _RETRIED:
            self._lose(f"it answered {status} {responses.get(status, '')}".strip())
            return 0.0
        log.warning("the webhook for incidents answered %d; trying again", status)
        after_s = int(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0
        return max(retry_s, float(min(after_s, _MOST_RETRY_AFTER_S)))

    def _post(self, body: bytes) -> tuple[int, str]:
        connection = (
            HTTPSConnection(self._host, self._port, timeout=_TIMEOUT_S, context=ssl.create_default_context())
            if self._is_tls
            else HTTPConnection(self._host, self._port, timeout=_TIMEOUT_S)
        )
        try:
            connection.request("POST", self._path, body, self._headers)
            response = connection.getresponse()
            response.read(65_536)
            return response.status, response.getheader("Retry-After", "")
        finally:
            connection.close()

    def _lose(self, why: str) -> None:
        self._health.add("incident_messages_lost")
        log.error("a message about incidents is lost: %s", why)
