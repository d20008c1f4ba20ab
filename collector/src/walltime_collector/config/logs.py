"""The collector's log, on stderr: plain for people, a JSON object a line for machines; never the same over and over."""

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
"""So often a message is said a minute; the others are counted and told with the next one."""
_WINDOW_S = 60.0
_MOST_MESSAGES = 1_000
_PLAIN = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_stderr(log_format: str) -> None:
    """
    Set the log of the process up; what was set up before goes.

    Args:
        log_format: `json`, `plain`, or `auto`: plain when stderr is a terminal.
    """
    is_json = log_format == "json" or (log_format == "auto" and not sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if is_json else PlainLines(_PLAIN))
    handler.addFilter(Bounded())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # it says "started" and "finished", once per port
    # they warn of each attempt, with all its parameters, where the loader warns once; urllib3's own level is not kept
    for name in ("clickhouse_connect", "urllib3.connectionpool"):
        logging.getLogger(name).setLevel(logging.ERROR)


class JsonLines(logging.Formatter):
    """A record as one JSON object: time, level, logger, message, and exception when there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        said = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        written = json.dumps(said, ensure_ascii=False)
        # JSON escapes control characters, but not those that hide text or turn its direction
        return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in written)


class PlainLines(logging.Formatter):
    """A record as a line for people: nothing in a message can start another line or reach the terminal."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        """See logging.Formatter."""
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802  logging's name
        """See logging.Formatter."""
        lines = super().formatException(ei).splitlines()  # type: ignore[arg-type]  # as logging hands it over
        return "\n".join(f"  {' ' * (len(line) - len(line.lstrip()))}{printable(line)}" for line in lines)


class Bounded(logging.Filter):
    """Lets a message through REPEATS times a minute, whatever it is about; then says how many were held back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging.Filter."""
        key = (record.name, record.levelno, str(record.msg))
        now_s = self._clock()
        with self._lock:
            since_s, times = self._seen.get(key, (now_s, 0))
            held_back = 0
            if now_s - since_s >= _WINDOW_S:
                held_back, since_s, times = max(times - REPEATS, 0), now_s, 0
            if len(self._seen) >= _MOST_MESSAGES:
                self._seen.clear()
            self._seen[key] = (since_s, times + 1)
        if times >= REPEATS:
            return False
        if held_back:
            record.msg, record.args = f"{record.getMessage()} (and {held_back} more like it were not logged)", ()
        return True
