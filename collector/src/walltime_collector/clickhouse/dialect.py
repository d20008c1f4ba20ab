"""What is true of ClickHouse wherever it runs: limits of a query, meaning of error codes, format of an answer."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ..errors import EngineError, EngineFull, EngineUnavailable, InsertRefused
from .engine import Rows

QUERY_FORMAT = "JSONCompact"
QUERY_CONNECTIONS = 3  # of the embedded engine: how many of the collector's own queries run at once
QUERY_LIMITS = {
    "max_execution_time": "30",
    "max_memory_usage": str(1024 * 1024 * 1024),
    "max_result_rows": "1000000",
    "max_result_bytes": str(64 * 1024 * 1024),
    "result_overflow_mode": "throw",
    "max_query_size": "262144",
    "output_format_json_quote_64bit_integers": "0",
    "output_format_json_quote_denormals": "0",
    "output_format_json_validate_utf8": "1",
    # use skip indexes first: otherwise all columns of every part are opened before the index is read
    "use_skip_indexes_on_data_read": "0",
    "readonly": "1",  # the last one: nothing can be set after it
}

# ClickHouse's codes about the bytes that were sent: cannot parse (a number, a quote, a date …), read after the end, out
# of bounds, bad arguments (a value that is two), incorrect data, too large, sizes differ, bad cast. An INSERT with any
# other code is repeated for ever: a full disk that is taken for bad data would lose good data.
REFUSED_DATA = frozenset(
    {6, 25, 26, 27, 32, 33, 36, 38, 41, 69, 70, 72, 117, 128, 130, 131, 190, 321, 407, 436, 444, 467}
)
# Memory limit exceeded, not enough space, too many bytes: of a large INSERT, not of a small one.
_TOO_MUCH: Final = frozenset({241, 243, 307})
# Cannot write to a file, cannot open one, no space: the disk's fault, whatever the statement is.
DISK_FAILED: Final = frozenset({75, 76, 243})
NO_MEMORY: Final = re.compile(
    r"Code: (1001\. DB::Exception: (std::exception\. Code: 1001, type: )?std::bad_alloc|173\. )|MemoryError"
)
"""An allocation failed: the engine's process has a limit (embedded/memory.py)."""
LOST_TEXT: Final = "ClickHouse refused it with a text that is not UTF-8, which Python before 3.11.3 does not pass on"
_CODE = re.compile(r"Code: (\d+)")


def error_code(error: BaseException | str) -> int:
    """ClickHouse's number of the error; 0 when its text has none."""
    match = _CODE.search(str(error))
    return int(match[1]) if match else 0


def insert_error(where: str, text: str, code: int) -> EngineError:
    """What to raise for ClickHouse's error of an INSERT."""
    is_full = code in _TOO_MUCH or NO_MEMORY.match(text)
    kind = InsertRefused if code in REFUSED_DATA else EngineFull if is_full else EngineUnavailable
    return kind(f"{where}: {text}")


def first_line(error: BaseException | str) -> str:
    """The first line of an error's text; the name of its class when it has no text."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def read_rows(content: bytes) -> Rows:
    """
    The rows of an answer in QUERY_FORMAT; no bytes are no rows.

    Raises:
        ValueError: The answer is not complete.
    """
    if not content:
        return []
    answer: Any = json.loads(content.decode("utf-8", "replace"))  # names, types and values may have any bytes
    names = [column["name"] for column in answer["meta"]]
    return [dict(zip(names, row, strict=True)) for row in answer["data"]]
