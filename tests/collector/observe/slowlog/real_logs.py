"""Slow logs of real servers, and what pt-query-digest says of them."""

from __future__ import annotations

from pathlib import Path

from walltime_collector.observe.slowlog.entry import Entry
from walltime_collector.observe.slowlog.parser import Losses, Parser

REAL_LOGS = Path(__file__).parents[5] / "shared" / "data" / "slowlogs"


# entries and total Query_time in µs, as pt-query-digest 3.2.1 counts them
PT_QUERY_DIGEST_SAYS = {
    "microslow001.txt": (2, 2_595),
    "mysql5.7.log": (2, 3_705),
    "slow-pt-243.txt": (2, 17_852),
    "slow001.txt": (2, 4_000_000),
    "slow003.txt": (1, 12),
    "slow005.txt": (1, 12),
    "slow007.txt": (1, 12),
    "slow009.txt": (2_001, 1_798_899),
    "slow011.txt": (4, 20_599),
    "slow013.txt": (5, 149_537),
    "slow015.txt": (0, 0),
    "slow017.txt": (0, 0),
    "slow019.txt": (3, 19_700),
    "slow021.txt": (2, 4_000_000),
    "slow023.txt": (1, 2_000_000),
    "slow025.txt": (1, 17_737_502),
    "slow027.txt": (1, 413_146_036),
    "slow029.txt": (3, 8_568_124),
    "slow031.txt": (1, 453_125),
    "slow033.txt": (6, 72),
    "slow035.txt": (2, 0),
    "slow037.txt": (1, 1_000),
    "slow041.txt": (2, 615),
    "slow043.txt": (1, 2_000_000),
    "slow045.txt": (2, 192),
    "slow047.txt": (1, 1_000_000),
    "slow049.txt": (10, 1_860_000_000),
    "slow051.txt": (2, 24),
    "slow053.txt": (10, 1_950_120),
    "slow055.txt": (3, 19_700),
    "slow057.txt": (4, 20_599),
    "slow059.txt": (3, 630),
    "slow061.txt": (1, 11_013_723),
}


MARIADB = b"""/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 261121  9:39:29
# User@Host: shop[shop] @  [127.0.0.1]
# Thread_id: 4  Schema: shop  QC_hit: No
# Query_time: 0.674386  Lock_time: 0.000719  Rows_sent: 3  Rows_examined: 8
# Rows_affected: 1  Bytes_sent: 199
# Pages_accessed: 6  Pages_read: 0  Pages_prefetched: 0  Pages_updated: 5  Old_rows_read: 0
# Pages_read_time: 2.5000  Engine_time: 675.3847
# Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No
# Filesort: Yes  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: Yes
#
# explain: id	select_type	table
# explain: 1	SIMPLE	t
#
# Warnings
# Warning 1366 Incorrect integer value: 'canary' for column
SET timestamp=1795253969;
update t set v = 'x' where id = 1;
# User@Host: shop[shop] @  [127.0.0.1]
# Thread_id: 5  Schema:   QC_hit: No
# Query_time: 0.000004  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
# Rows_affected: 0  Bytes_sent: 11
SET timestamp=1795253969;
COMMIT;
"""


MYSQL_8 = b"""/usr/sbin/mysqld, Version: 8.0.40 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
# Time: 2026-11-21T05:38:04.123456Z
# User@Host: root[root] @ localhost [127.0.0.1]  Id:    12
# Query_time: 0.250000  Lock_time: 0.100000 Rows_sent: 7  Rows_examined: 70
use shop;
SET timestamp=1795239483;
SELECT 1;
# Time: 2026-11-21T07:38:05.000001+02:00
# User@Host: root[root] @ localhost [127.0.0.1]  Id:    12
# Query_time: 0.000001  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1 Thread_id: 12 Errno: 1205 Killed: 0 \
Bytes_received: 30 Bytes_sent: 64 Read_first: 1 Sort_rows: 9 Created_tmp_disk_tables: 0 Created_tmp_tables: 2 \
Start: 2026-11-21T07:38:04.999999+02:00 \
End: 2026-11-21T07:38:05.000000+02:00
SET timestamp=1795239484;
SELECT 2;
"""


PERCONA_8 = b"""# Time: 2026-11-21T05:38:04.123456Z
# User@Host: app[app] @  [10.0.0.7]  Id:   99
# Schema: shop  Last_errno: 1213  Killed: 0
# Query_time: 1.000000  Lock_time: 0.000002  Rows_sent: 1  Rows_examined: 2  Rows_affected: 3  Bytes_sent: 4
# Tmp_tables: 1  Tmp_disk_tables: 1  Tmp_table_sizes: 4096
# InnoDB_trx_id: 1A88583F
# Full_scan: No  Full_join: Yes  Tmp_table: Yes  Tmp_table_on_disk: Yes
# Filesort: No  Filesort_on_disk: No  Merge_passes: 0
#   InnoDB_IO_r_ops: 3  InnoDB_IO_r_bytes: 49152  InnoDB_IO_r_wait: 0.012345
#   InnoDB_rec_lock_wait: 0.900000  InnoDB_queue_wait: 0.000000
#   InnoDB_pages_distinct: 2
# Log_slow_rate_type: query  Log_slow_rate_limit: 100
SET timestamp=1795239483;
SELECT foo FROM bar;
"""


def percona(query_s: str, *, limit: int = 100, rate_type: str = "query", connection: int = 12) -> bytes:
    """An entry of a log that has one in so many statements, as Percona Server 8.0 writes it."""
    return (
        f"# Time: 2026-11-25T03:49:00.000000Z\n# User@Host: app[app] @ localhost []  Id:    {connection}\n"
        f"# Schema: shop  Last_errno: 0  Killed: 0\n"
        f"# Query_time: {query_s}  Lock_time: 0.000100  Rows_sent: 1  Rows_examined: 2\n"
        f"# Log_slow_rate_type: {rate_type}  Log_slow_rate_limit: {limit}\n"
        f"SET timestamp=1795578540;\nselect heavy from reports where y=1;\n"
    ).encode()


def parsed(log: bytes, *pieces: int) -> tuple[list[Entry], Losses]:
    parser, entries, at = Parser(), [], 0
    for size in pieces:
        entries += parser.feed(log[at : at + size])
        at += size
    entries += parser.feed(log[at:]) + parser.finish()
    assert parser.position == len(log)
    return entries, parser.losses


HEADER = b"""# User@Host: a[a] @ h []
# Thread_id: 1  Schema: s  QC_hit: No
# Query_time: 0.000001  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
SET timestamp=1795253969;
"""
