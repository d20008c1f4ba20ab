"""The real shop's transactions and slow log behind ClickHouse's HTTP interface, as Grafana asks it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from shop.load import Load
from shop.services import ProgramMissingError, fast_folder
from shop.stack import Stack

from tests.clickhouse_server import ClickHouseServer
from tests.dashboards.grafana import ALL, Plugin, Range, expand
from tests.servers import Collector, eventually

QUIET_S = 3
BUYER_TRACE_ID = "c" * 32

SLOW_LOG = """
INSERT INTO slow_queries (started_at, read_at, query_ns, rows_examined, server, fingerprint, fingerprint_id, sample,
    trace_id, span_id, service, route, weight, is_full_scan)
SELECT started_at, now(), time_ns / 2, 10, 'mariadb', text, cityHash64(text), text,
    trace_id, span_id, service, replaceRegexpOne(name, '^[A-Z]+ ', ''), 1, true
FROM transactions ARRAY JOIN statement.text AS text, statement.time_ns AS time_ns
"""


@dataclass
class Answer:
    """Names and ClickHouse types of the columns, and the rows."""

    columns: dict[str, str]
    rows: list[list[Any]]

    def column(self, name: str) -> list[Any]:
        at = list(self.columns).index(name)
        return [row[at] for row in self.rows]

    def by_name(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass
class Grafana:
    """Asks as the plugin does, apart from the format: JSON instead of Native."""

    url: str
    user: tuple[str, str]
    shown: Range

    def ask(self, sql: str, plugin: Plugin = "4", variables: Mapping[str, str | Sequence[str]] | None = None) -> Answer:
        chosen = {"service": [ALL], "kind": [ALL], "trace_id": "", **(variables or {})}
        return self.ask_raw(expand(sql, plugin, self.shown, chosen))

    def ask_raw(self, statement: str) -> Answer:
        """
        Fails with the server's own words.

        64-bit integers come as numbers.
        """
        response = httpx.post(
            self.url,
            params={
                "default_format": "JSONCompact",
                "database": "walltime",
                "output_format_json_quote_64bit_integers": "0",
            },
            content=statement,
            auth=self.user,
            timeout=60,
        )
        assert response.status_code == 200, f"{response.text}\n{statement}"
        document = response.json()
        return Answer({column["name"]: column["type"] for column in document["meta"]}, document["data"])


@pytest.fixture(scope="session")
def grafana() -> Iterator[Grafana]:
    folder = fast_folder()
    try:
        with ClickHouseServer(folder) as clickhouse:
            user = (clickhouse.user, clickhouse.password)
            store = {"clickhouse": clickhouse.url, "clickhouse_user": user[0], "clickhouse_password": user[1]}
            with Collector(folder / "collector", **store) as collector:
                from_s = int(time.time()) - 1
                transactions = shop(folder, collector)
                eventually(lambda: loaded(collector) >= transactions, 30)
            grafana = Grafana(clickhouse.url, user, Range(from_s, int(time.time()) + 1, interval_s=1))
            httpx.post(
                clickhouse.url, params={"database": "walltime"}, content=SLOW_LOG, auth=user, timeout=60
            ).raise_for_status()
            yield grafana
    except ProgramMissingError as missing:
        pytest.skip(str(missing))
    finally:
        shutil.rmtree(folder)


def shop(folder: Any, collector: Collector) -> int:
    """Let visitors come; how many transactions that makes."""
    endpoint = collector.otlp_url.removesuffix("/v1/traces")
    settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    with Stack(folder, settings, workers=2, slow_log_s=0.0) as stack:
        stack.mariadb.write_logs(on=True)
        transactions = 0
        for visits in (200, 200):
            sent = Load(stack.url, limit=visits, rate=80).start().wait()
            assert sent.errors == 0
            transactions += sent.total + sent.requests["GET /recommendations"]
            time.sleep(QUIET_S)
        traceparent = f"00-{BUYER_TRACE_ID}-00000000000000a1-01"
        answer = httpx.get(f"{stack.url}/recommendations", headers={"traceparent": traceparent, "Cookie": "user=7"})
        assert answer.status_code == 200
    return transactions + 2


def loaded(collector: Collector) -> int:
    answer = httpx.get(f"{collector.web_url}/api/top", timeout=30)
    return int(answer.json()["transactions"])
