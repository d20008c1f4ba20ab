"""Parses the lines above a statement into an Entry."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from .entry import NO_FLAGS, Carried, Entry

MAX_FIELDS = 64
MAX_FIELD_CHARS = 256
MAX_EXPLAIN_CHARS = 4_096
ALWAYS_LOGGED_NS: Final = 10_000_000_000
"""Percona Server's default of slow_query_log_always_write_time."""
_LONGEST_S = 10 * 366 * 86_400
"""A Query_time beyond this is a counter that wrapped around."""
_MAX_COUNT = 2**64 - 1

_USER = re.compile(
    r"# User(?:@Host)?: (?P<names>[^\n]*?) ?@ *(?:(?P<host>[^\s\[\]@]+) *)?\[(?P<ip>[^\s\[\]]*)\]"
    r"(?=\s+Id:\s*\d+\s*$|\s*$)",
    re.MULTILINE,
)
_NAMES = re.compile(r"(?P<user>[^\[]*)(?:\[(?P<other>.*)\])?", re.DOTALL)
_TIME = re.compile(
    r"# Time: (?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)?|\d{6}\s+\d{1,2}:\d\d:\d\d)"
)
_SCHEMA = re.compile(r"Schema:(?: (?P<schema>\S(?:.*?\S)??)?)?(?=\s+\w+: |\s*$)", re.MULTILINE)
_PAIR = re.compile(r"\b(\w+): +(\S+)")
_QUERY_TIME = re.compile(
    r"\n?# Query_time: +(\S+)\s+Lock_time: +(\S+)\s+Rows_sent: +(\S+)\s+Rows_examined: +(\S+)[ \t]*(?=\n)"
)
"""Every server writes this line alike; read at once it takes a quarter of the time of its pairs."""
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d):(\d\d)(?:\.(\d+))?(Z|[-+]\d\d:\d\d|)")
_SECONDS = re.compile(r"\d{1,20}(?:\.\d{1,9})?")
_TIMESTAMP = re.compile(r"timestamp=(\d{1,18})")
_WARNING = re.compile(r"# (Note|Warning|Error) (\d+)")

FLAGS: Final = {
    "Full_scan": "is_full_scan",
    "Full_join": "is_full_join",
    "Tmp_table": "is_tmp_table",
    "Tmp_table_on_disk": "is_tmp_table_on_disk",
    "Filesort": "is_filesort",
    "Filesort_on_disk": "is_filesort_on_disk",
}
_FLAG_COUNTERS: Final = {
    "Created_tmp_tables": "is_tmp_table",
    "Created_tmp_disk_tables": "is_tmp_table_on_disk",
    "Sort_rows": "is_filesort",
    "Sort_merge_passes": "is_filesort_on_disk",
}
"""MySQL's log_slow_extra has counts where others have Yes or No; it has none for a full scan."""
_TIMES: Final = {
    "Lock_time": "lock_ns",
    "InnoDB_rec_lock_wait": "row_lock_ns",
    "InnoDB_IO_r_wait": "io_wait_ns",
}
_COUNTS: Final = {
    "Rows_sent": "rows_sent",
    "Rows_examined": "rows_examined",
    "Rows_affected": "rows_affected",
    "Bytes_sent": "bytes_sent",
    "Thread_id": "connection_id",
    "Id": "id",
    "Log_slow_rate_limit": "weight",
    "Last_errno": "errno",
    "Errno": "mysql_errno",
}
_NO_FIELDS: Final = frozenset({"Time", "User", "Host", "Start", "End"})
_LIKE_ABSENT: Final = frozenset({"No", "0", "0.000000", "0.0000"})


def read_header(
    lines: bytes, settings: bytes, use: bytes | None, carried: Carried, always_logged_ns: int = ALWAYS_LOGGED_NS
) -> tuple[Entry | None, Carried]:
    """
    Read the lines above a statement; None without a Query_time.

    Args:
        lines: Those that begin with `#`.
        settings: The `SET timestamp=…;` line.
        use: The `use …;` line.
        always_logged_ns: From this Query_time on the server logs every statement, whatever log_slow_rate_limit is.
    """
    text = lines.decode("utf-8", "replace").replace("\r\n", "\n")
    free_text: dict[str, str] = {}
    if "\n# explain: " in text or "\n# Warnings" in text:
        text = _take_free_text(text, free_text)
    user = client_host = ""
    at = text.find("# User")
    if at >= 0:
        line_ends = text.find("\n", at)
        found = read_user(text[at:line_ends])
        if found:
            user, client_host, rest = found
            text = text[:at] + rest + text[line_ends:]
    schema = _SCHEMA.search(text) if "Schema:" in text else None
    if schema:
        text = text[: schema.start()] + text[schema.end() :]
    when = _TIME.search(text) if "# Time: " in text else None
    carried = Carried(
        time=when[0][8:] if when else carried.time,
        database=carried.database if use is None else _used(use),
    )
    line = _QUERY_TIME.search(text)
    if line:
        text = text[: line.start()] + text[line.end() :]
    pairs = dict(_PAIR.findall(text))
    query_ns = nanoseconds(line[1] if line else pairs.pop("Query_time", ""))
    if query_ns is None:
        return None, carried
    columns: dict[str, Any] = {"query_ns": query_ns}
    if line:
        columns["lock_ns"] = nanoseconds(line[2]) or 0
        columns["rows_sent"] = _number(line[3])
        columns["rows_examined"] = _number(line[4])
    flags: set[str] = set()
    fields: dict[str, str] = {}
    for name, value in pairs.items():
        if value in _LIKE_ABSENT:
            continue
        if column := _TIMES.get(name):
            columns[column] = nanoseconds(value) or 0
        elif column := _COUNTS.get(name):
            columns[column] = _number(value)
        elif column := FLAGS.get(name):
            if value == "Yes":
                flags.add(column)
        elif name not in _NO_FIELDS:
            fields[name[:MAX_FIELD_CHARS]] = value[:MAX_FIELD_CHARS]
    if "Created_tmp_tables" in pairs:
        flags |= {column for name, column in _FLAG_COUNTERS.items() if pairs.get(name, "0") != "0"}
    if "Pages_read_time" in pairs:  # in milliseconds, unlike all other times
        columns["io_wait_ns"] = columns.get("io_wait_ns", 0) + (nanoseconds(pairs["Pages_read_time"]) or 0) // 1000
    if "End" in pairs:
        fields["End"] = pairs["End"]
    if len(fields) > MAX_FIELDS:
        fields = dict(list(fields.items())[:MAX_FIELDS])
    own_id, own_errno = columns.pop("id", 0), columns.pop("mysql_errno", 0)
    columns["connection_id"] = columns.get("connection_id") or own_id
    columns["errno"] = min(columns.get("errno") or own_errno, 2**32 - 1)
    if "weight" in columns:
        is_by_session = pairs.get("Log_slow_rate_type") == "session"
        columns["weight"] = _weight(
            columns["weight"], query_ns >= always_logged_ns, columns["connection_id"] if is_by_session else 0
        )
    entry = Entry(
        started_us=_started_us(pairs.get("Start", ""), carried.time, settings, query_ns, is_mariadb="QC_hit" in pairs),
        database=((schema["schema"] or "").strip() if schema else carried.database)[:MAX_FIELD_CHARS],
        user=user,
        client_host=client_host,
        flags=frozenset(flags) if flags else NO_FLAGS,
        fields={**fields, **free_text},
        **columns,
    )
    return entry, carried


def nanoseconds(seconds: str) -> int | None:
    """Seconds as the log writes them, exactly; None when it is not a number or a counter that wrapped around."""
    if not _SECONDS.fullmatch(seconds):
        return None
    whole, _, part = seconds.partition(".")
    whole_s = int(whole)
    return whole_s * 1_000_000_000 + int((part + "000000000")[:9]) if whole_s < _LONGEST_S else None


def _weight(rate_limit: int, is_always_logged: bool, session: int) -> int:
    """
    How many statements an entry stands for.

    Args:
        session: The connection where the server chooses whole ones, every n-th; of others it logs slow statements only.
            0 elsewhere.
    """
    rate_limit = min(rate_limit, 2**32 - 1)
    return 1 if is_always_logged or not rate_limit or session % rate_limit else rate_limit


@lru_cache(maxsize=1024)
def read_user(line: str) -> tuple[str, str, str] | None:
    """
    User, host and what follows on the line.

    `foo[foo] @ …` is foo, `[SQL_SLAVE] @ …` is SQL_SLAVE; a name may have brackets and `@` in it.
    """
    match = _USER.match(line)
    if match is None:
        return None
    name = match["names"].strip()
    half = len(name) // 2 - 1
    if half > 0 and name == f"{name[:half]}[{name[:half]}]":
        name = name[:half]
    elif parts := _NAMES.fullmatch(name):
        name = parts["user"].strip() or (parts["other"] or "").strip()
    return name[:MAX_FIELD_CHARS], (match["host"] or match["ip"])[:MAX_FIELD_CHARS], line[match.end() :]


def _used(line: bytes) -> str:
    """The database of a `use …;` line; in backticks, one in the name is doubled."""
    name = line.decode("utf-8", "replace")[4:].rstrip().removesuffix(";").strip()
    return name[1:-1].replace("``", "`") if name[:1] == "`" else name


def _number(written: str) -> int:
    return min(int(written), _MAX_COUNT) if written.isascii() and written.isdecimal() and len(written) < 30 else 0


def _started_us(start: str, when: str, settings: bytes, query_ns: int, *, is_mariadb: bool) -> int | None:
    """
    When the statement began.

    log_slow_extra has it; MySQL's ISO `# Time` is when it ended; `SET timestamp` is the second it began in with
    MariaDB (seen with 10.11) and the second it ended in with MySQL before 5.7, which write no ISO time.
    """
    if start:
        return _iso_us(start)
    if "T" in when:
        ended_us = _iso_us(when)
        return None if ended_us is None else ended_us - query_ns // 1000
    timestamp = _TIMESTAMP.search(settings.decode("ascii", "replace"))
    logged_us = int(timestamp[1]) * 1_000_000 if timestamp else _old_us(when)
    if logged_us is None or logged_us > 2**62:
        return None
    return logged_us if is_mariadb else max(logged_us - query_ns // 1000, 0)


def _iso_us(written: str) -> int | None:
    """`2026-11-21T05:38:04.123456Z`; without an offset it is local time (log_timestamps=SYSTEM has one)."""
    match = _ISO.fullmatch(written)
    if match is None:
        return None
    minute, second, fraction, zone = match.groups()
    began_s = minute_s(minute, zone)
    return None if began_s is None else (began_s + int(second)) * 1_000_000 + int((fraction or "").ljust(6, "0")[:6])


@lru_cache(maxsize=1024)
def minute_s(minute: str, zone: str) -> int | None:
    """The Unix time of `2026-11-21T05:38`; None if there is no such minute."""
    try:
        return int(datetime.fromisoformat(f"{minute}:00{'+00:00' if zone == 'Z' else zone}").timestamp())
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _old_us(written: str) -> int | None:
    """`071015 21:43:52`, in the server's time zone, which is unknown: read in this machine's."""
    try:
        day, clock = written.split()
        century = 20 if day < "69" else 19
        at = datetime.fromisoformat(f"{century}{day[:2]}-{day[2:4]}-{day[4:]}T{clock.zfill(8)}")
        return int(at.timestamp()) * 1_000_000
    except (ValueError, OverflowError):
        return None


def _take_free_text(text: str, kept: dict[str, str]) -> str:
    """Take out the plan and the warnings, which are not pairs; of warnings only numbers are kept: they quote values."""
    rest, plan, warnings = [], [], []
    is_warnings = False
    for line in text.split("\n"):
        if line.startswith("# explain: "):
            plan.append(line[11:])
        elif line == "# Warnings":
            is_warnings = True
        elif is_warnings and (match := _WARNING.match(line)):
            warnings.append(f"{match[1]} {match[2]}")
        elif not is_warnings or _TIME.match(line) or line.startswith("# User@Host: "):
            is_warnings = False
            rest.append(line)
    if plan:
        kept["explain"] = "\n".join(plan)[:MAX_EXPLAIN_CHARS]
    if warnings:
        kept["warnings"] = ", ".join(warnings)[:MAX_FIELD_CHARS]
    return "\n".join(rest)
