"""Statements with a marker in every literal and comment, as servers write them into slow logs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from walltime_collector.observe.slowlog.parser import Parser
from walltime_collector.observe.slowlog.rows import rows

from tests.sdk.redaction.sql_grammar import MARK

SECRET: Final = MARK.encode()
PASTED: Final = (
    b"# User@Host: root[root] @ localhost []\n"
    b"# Query_time: 5.000000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0\n" + SECRET,
    b";\n# Time: 2026-11-21T05:38:04.123456Z\n# User@Host: root[root] @ localhost [1.2.3.4]  Id: 5\n"
    b"# Query_time: 5.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0\nSET timestamp=1795239483;\n" + SECRET,
    b";\n/usr/sbin/mysqld, Version: 8.0.40 (MySQL). started with:\nTcp port: 3306  Unix socket: /tmp/mysql.sock\n"
    b"Time                 Id Command    Argument\n# Time: 2026-11-21T05:38:04.123456Z\n"
    b"# User@Host: root[root] @ localhost []\n# Query_time: 5.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 0\n"
    b"SET timestamp=1795239483;\n" + SECRET + b";\n",
)
"""Logs that somebody stores in a database, with and without the end of the statement before."""

_MYSQL: Final = b"# Time: 2026-11-21T05:38:04.123456Z\n# User@Host: a[a] @ h [1.2.3.4]  Id:    12\n"
_STATISTICS: Final = b"# Query_time: 0.250000  Lock_time: 0.100000 Rows_sent: 7  Rows_examined: 70"
FORMATS: Final = {
    "mysql 5.7": _MYSQL + _STATISTICS + b"\n",
    "mysql 8 extra": _MYSQL + _STATISTICS
    + b" Thread_id: 12 Errno: 0 Killed: 0 Bytes_received: 30 Bytes_sent: 64 Start: 2026-11-21T05:38:04.9Z"
    b" End: 2026-11-21T05:38:05.0Z\nuse shop;\n",
    "mariadb": b"# Time: 261121  9:39:29\n# User@Host: a[a] @ h [1.2.3.4]\n# Thread_id: 4  Schema: shop  QC_hit: No\n"
    + _STATISTICS + b"\n# Rows_affected: 1  Bytes_sent: 199\n# Full_scan: Yes  Full_join: No\n#\n# explain: id\tx\n#\n",
    "percona": b"# User@Host: a[a] @ h [1.2.3.4]  Id:   99\n# Schema: shop  Last_errno: 0  Killed: 0\n" + _STATISTICS
    + b"\n#   InnoDB_IO_r_ops: 3  InnoDB_IO_r_bytes: 49152  InnoDB_IO_r_wait: 0.012345\n",
}  # fmt: skip


def logged(statement: bytes, header: bytes = FORMATS["mysql 5.7"]) -> bytes:
    """An entry as the server writes it."""
    return header + b"SET timestamp=1795239483;\n" + statement + b";\n"


def stored(log: bytes, pieces: Sequence[int] = ()) -> list[dict[str, Any]]:
    """The rows that are stored of a log that is read in pieces of these sizes."""
    parser, entries, at = Parser(), [], 0
    for size in pieces:
        entries += parser.feed(log[at : at + size])
        at += size
    entries += parser.feed(log[at:]) + parser.finish()
    return [json.loads(line) for line in rows(entries, "db", 1_795_253_970).splitlines()]
