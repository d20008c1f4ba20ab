"""Patterns of the lines of a slow log that are not part of a statement."""

from __future__ import annotations

import re
from typing import Final

MAX_HEADER_BYTES: Final = 32 * 1024

_STARTS: Final = rb"#\s+(?:Time|User@Host|User|Thread_id|Schema|Query_time): ?"
START: Final = re.compile(_STARTS)
NEXT_START: Final = re.compile(rb"^(?:%b|# administrator command: )" % _STARTS, re.MULTILINE)
_PAIR_NAMES: Final = (
    rb"Schema|Query_time|Rows_\w+|Bytes_\w+|Tmp_\w+|InnoDB_\w+|QC_[Hh]it|Full_\w+|Filesort\w*|Log_slow_\w+|Stored_routine"
    rb"|Pages_\w+|Killed|Errno|Last_errno|Profile_\w+|Merge_\w+|Disk_\w+|Sort_\w+|Read_\w+"
)
_LINE: Final = rb"(?:#(?! administrator command: )|[ \t]*(?:%b): +\S)[^\n]*\n" % _PAIR_NAMES
"""Some releases of Percona Server 8.0 write a line of the header without `#`."""
_USE: Final = rb"use (?:`(?:[^`]|``)*`|[^;`\n]+);[ \t\r]*\n"
_SET: Final = rb"SET (?:last_insert_id|insert_id|timestamp)=[^;\n]*;[ \t\r]*\n"
HEADER: Final = re.compile(rb"(?P<lines>(?:%b|[ \t\r]*\n)+)(?P<use>%b)?(?P<set>%b)?" % (_LINE, _USE, _SET))
USUAL_HEADER: Final = re.compile(
    rb"(?P<lines># (?:Time|User@Host|Query_time|Thread_id): [^\n]*\n"
    rb"(?:%b)*)(?P<use>%b)?(?P<set>%b)?" % (_LINE, _USE, _SET)
)
NEXT_HEADER: Final = re.compile(
    rb"# (?:Query_time: +\d|(?:Time|User@Host|Thread_id): [^\n]*\n(?:%b){0,39}?# Query_time: +\d)" % _LINE
)
KNOWN_LINE: Final = re.compile(
    rb"#\s*(?:Time|User@Host|User|Thread_id|Stored routine|Id|explain): |#?\s*(?:%b): |#?\s*\n"
    rb"|# (?:No InnoDB statistics|Warnings|Note \d|Warning \d|Error \d)" % _PAIR_NAMES
)
BEGINS_NEXT: Final = (b"use ", b"SET ", b"#", b"\r", b"\n", b" ", b"\t")
WHOLE: Final = re.compile(rb"(?:%b){0,40}?# Query_time: +\d" % _LINE)
ALL_HEADER: Final = re.compile(rb"(?:%b){0,40}(?:#[^\n]*|[ \t]*[A-Z]\w*:[^\n]*|[ \t]*\w{0,32})\Z" % _LINE)
AGAIN: Final = re.compile(rb"\n(?=# (?:Time|User@Host): )")
SERVER_STARTS: Final = re.compile(
    rb"^(?:[^'\"\n]{0,512}(?:mysqld|mariadbd)[^\s,]{0,32}, Version: [^\n]+(?:started with:|embedded library)[^\n]*"
    rb"(?:\n|\Z)(?:(?:[tT][cC][pP] [pP]ort: |Time\s+Id\s+Command)[^\n]*(?:\n|\Z))*)+",
    re.MULTILINE,
)
ADMINISTRATOR: Final = re.compile(rb"# (administrator command: [A-Za-z_ ]{1,64});?\s*")
SENDING_ROWS: Final = ("Execute", "Fetch", "Field List", "Statistics")
NO_GARBAGE: Final = re.compile(
    rb"[^'\"\n]{0,512}(?:mysqld|mariadbd)[^\s,]{0,32}, Version: .+(?:started with:|embedded library)"
    rb"|(?:[tT][cC][pP] [pP]ort: |Time\s+Id\s+Command)|\s*\Z"
)
LONGEST_BANNER_BYTES: Final = 2048


def banner_starts(buffer: bytes, starts: int, ends: int) -> int:
    """Where the lines of a starting server begin that end at `ends`; -1 if there are none."""
    first = max(starts, ends - LONGEST_BANNER_BYTES)
    if buffer.find(b", Version: ", first, ends) < 0:
        return -1
    found = [banner.start() for banner in SERVER_STARTS.finditer(buffer, first, ends) if banner.end() == ends]
    return found[-1] if found else -1


def garbage_bytes(text: bytes) -> int:
    """Bytes of a text outside of all entries that no server writes there."""
    return sum(len(line) + 1 for line in text.split(b"\n") if not NO_GARBAGE.match(line))


def without_end(text: bytes) -> bytes:
    return text.rstrip().removesuffix(b";").rstrip()


def known_header_bytes(lines: bytes) -> int:
    """Of lines without a `SET timestamp` behind them, those that a server writes; others begin the statement."""
    at = 0
    has_query_time = False
    for line in lines.splitlines(keepends=True):
        if has_query_time and not KNOWN_LINE.match(line):
            return at
        has_query_time = has_query_time or line.startswith(b"# Query_time: ")
        at += len(line)
    return at
