"""A gunicorn with workers that are instrumented."""

from __future__ import annotations

import time
import urllib.error
import urllib.request

ALARM_S = 60


GUNICORN = ("gunicorn", "--workers", "2", "--bind", "127.0.0.1:0", "--no-control-socket", "--graceful-timeout", "10")


READY = r"(?:Listening at: http://|Uvicorn running on http://|bound to TCP address )127\.0\.0\.1:(\d+)"


def ask(url: str) -> str:
    deadline_s = time.monotonic() + ALARM_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=ALARM_S) as answer:  # noqa: S310  # our own server
                return str(answer.read().decode())
        except urllib.error.URLError as error:
            # uvicorn's port is bound before a worker of its listens.
            if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > deadline_s:
                raise
            time.sleep(0.02)
