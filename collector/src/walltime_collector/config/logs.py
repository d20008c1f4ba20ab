"""The collector's log on stderr: text for a terminal, JSON lines for programs; repeated messages are limited."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone

from ..format import printable

REPEATS = 5
"""Times a message is logged per minute; the rest is counted, and the next one reports the count."""
_WINDOW_S = 60.0
_MAX_MESSAGES = 1_000


def log_to_stderr(log_format: str) -> None:
    """Configure the log of the process; the format `auto` is `plain` on a terminal and `json` elsewhere."""
    is_json = log_format == "json" or (log_format == "auto" and not sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if is_json else PlainLines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(RepeatLimit())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    # they warn of each attempt, with all its parameters, where the loader warns once; urllib3's own level is not kept
    for name in ("clickhouse_connect", "urllib3.connectionpool"):
        logging.getLogger(name).setLevel(logging.ERROR)


class JsonLines(logging.Formatter):
    """A record as one JSON object: time, level, logger, message, and exception when there is one."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        line = json.dumps(fields, ensure_ascii=False)
        # JSON escapes control characters, but not characters that hide text or change its direction
        return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in line)


class PlainLines(logging.Formatter):
    """A record as text: no message can begin another line or send control characters to the terminal."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802  logging's name
        lines = super().formatException(ei).splitlines()  # type: ignore[arg-type]  # as logging passes it
        return "\n".join(f"  {' ' * (len(line) - len(line.lstrip()))}{printable(line)}" for line in lines)


class RepeatLimit(logging.Filter):
    """Passes a message REPEATS times a minute, whatever its arguments; then reports how many were held back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        key = (record.name, record.levelno, str(record.msg))
        now_s = self._clock()
        with self._lock:
            since_s, times = self._seen.get(key, (now_s, 0))
            held_back = 0
            if now_s - since_s >= _WINDOW_S:
                held_back, since_s, times = max(times - REPEATS, 0), now_s, 0
            if len(self._seen) >= _MAX_MESSAGES:
                self._seen.clear()
            self._seen[key] = (since_s, times + 1)
        if times >= REPEATS:
            return False
        if held_back:
            record.msg, record.args = f"{record.getMessage()} (and {held_back} more like it were not logged)", ()
        return True
