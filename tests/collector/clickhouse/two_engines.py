"""The same records in the embedded engine and on a server."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from walltime_collector.clickhouse.engine import Engine, Parameter, Rows
from walltime_collector.query import queries
from walltime_collector.query.queries import query_text
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

    def answer_alike(self, name: str) -> None:
        """Run a query of the answers on both, with parameters that select the shop's ten minutes."""
        sql = query_text(name)
        (one,) = self.embedded.query(
            "SELECT lower(hex(any(trace_id))) AS id, max(duration_ns) AS longest_ns FROM transactions"
        )
        now_ns = time.time_ns()
        known: dict[str, Parameter] = {
            **dict.fromkeys(("since_ns", "start_ns", "slow_start_ns", "usual_start_ns"), now_ns - 30 * MINUTE_NS),
            **dict.fromkeys(("end_ns", "until_ns", "slow_end_ns", "usual_end_ns"), now_ns),
            "trace_id": one["id"],
            "threshold_ns": one["longest_ns"] // 4,
            "name": "GET /product/{id}",
            "service": "shop",
            "by": "total",
            "limit": 50,
        }
        of_type: dict[str, Parameter] = {
            "String": "",
            "Float64": 0.5,
            "Array(UInt64)": [1, 2],
            "Array(String)": ["a", "b"],
        }
        placeholders = dict(re.findall(r"\{(\w+):([^}]+)\}", sql))
        parameters = {each: known.get(each, of_type.get(kind, 2)) for each, kind in placeholders.items()}
        answer = self.agree(sql, parameters)
        if name in {"kinds/top", "show/transactions"}:
            assert answer
