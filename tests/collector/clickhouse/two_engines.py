"""The same records in the embedded engine and on a server."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from walltime_collector.clickhouse.engine import Engine, Parameter, Rows
from walltime_collector.query import queries
from walltime_collector.spool.segment import Record

from tests.collector.traffic import Shop, export_request

MINUTE_NS = 60_000_000_000


_FOLDER = Path(queries.__file__).parent


QUERIES = sorted(
    str(path.relative_to(_FOLDER).with_suffix("")) for path in _FOLDER.rglob("*.sql") if not path.name.startswith("_")
)


def some_records(seed: int, visits: int = 20) -> list[Record]:
    first_ns, makes = time.time_ns() - 9 * MINUTE_NS, Shop(seed=seed)
    sent = [makes.visit(first_ns + at * (8 * MINUTE_NS // visits)) for at in range(visits)]
    return [Record(first_ns + at, len(each), export_request(each)) for at, each in enumerate(sent)]


def slow_rows(number: int) -> bytes:
    """Entries of a slow log as the reader inserts them."""
    now_s = int(time.time())
    lines = [
        {
            "started_us": (now_s - 60 + at) * 1_000_000,
            "read_at": now_s,
            "query_ns": 1_000_000 * at,
            "fingerprint": f"select {at % 3}",
            "fingerprint_id": at % 3,
            "trace_id": f"{at:032x}",
            "service": "shop",
            "route": "GET /product/{id}",
            "weight": 1,
        }
        for at in range(number)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def count(engine: Engine, table: str = "transactions") -> int:
    return int(engine.query("SELECT count() AS n FROM {table:Identifier}", {"table": table})[0]["n"])


@dataclass
class Both:
    """The embedded engine and the server's, with the same ten minutes of the shop in both."""

    embedded: Engine
    server: Engine
    records: list[Record]

    def agree(self, sql: str, parameters: dict[str, Parameter] | None = None) -> Rows:
        answer = self.embedded.query(sql, parameters)
        assert self.server.query(sql, parameters) == answer
        return answer
