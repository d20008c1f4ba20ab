"""aiomysql: connect, statements, the rows of unbuffered cursors, commit and rollback, ping, waiting for its pool."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from aiomysql.connection import Connection, MySQLResult
from aiomysql.cursors import Cursor
from aiomysql.pool import Pool

from walltime.clients.mysql.asyncio_statements import about, about_pool, methods
from walltime.clients.mysql.statements import row_read, sent, template_async
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.timed import whole_async

REQUIRES: Final = "aiomysql >= 0.1.1, < 1"


def patches() -> list[Patch]:
    connect = sent("aiomysql", "mysql.connect", about)
    read = row_read("aiomysql", attrgetter("connection"))
    return [
        *methods("aiomysql", Connection),
        Patch(Connection, "_connect", lambda original: connect.awaited(whole_async(original))),
        Patch(MySQLResult, "_read_rowdata_packet_unbuffered", read.awaited),
        Patch(MySQLResult, "_finish_unbuffered_query", read.awaited),
        Patch(Cursor, "execute", template_async),
        Patch(Cursor, "executemany", template_async),
        Patch(Pool, "_acquire", sent("aiomysql", "mysql.pool", about_pool).awaited),
    ]
