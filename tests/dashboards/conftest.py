"""The real shop's transactions and slow log behind ClickHouse's HTTP interface, as Grafana asks it."""

from __future__ import annotations

import itertools
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import httpx
import pytest
from shop.load import Load, visits
from shop.seed import PRODUCTS
from shop.services import ProgramMissingError, fast_folder
from shop.stack import Stack
from shop.story import BOUGHT

from dashboards.source import STEP_S
from tests.dashboards.grafana import Plugin, Range, dashboards, expand, is_drawn, variables
from tests.servers import Collector, eventually, over_http

VISITS = 200
QUIET_S = 9
"""Longer than a point, wherever that begins."""
SLOWEST_S = 2
HELD_S = 1
TOKEN = "a token & ü/%"
BUYER_TRACE_ID, SLOWEST_TRACE_ID = "c" * 32, "e" * 32
"""The second is not in the fair sample."""

STATEMENTS_NOT_IN_THE_LOG = """
SELECT (SELECT sum(mysql_query_calls) FROM transactions)
    - (
        SELECT count()
        FROM slow_queries
        WHERE service = 'shop' AND lower(sample) NOT IN ('commit', 'rollback', 'set names utf8mb4')
    )
"""


OBSERVED = "SELECT uniq(server) FROM (SELECT server FROM cache_status UNION ALL SELECT server FROM mysql_status)"


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
    pages: str = ""
    """Where the collector's own pages are."""
    answers: dict[str, Answer] = field(init=False, default_factory=dict)
    """By statement, for `ask`: what is stored does not change."""

    @property
    def window(self) -> str:
        """The time shown, as the pages write it."""
        return f"{_utc(self.shown.from_s)}..{_utc(self.shown.to_s)}"

    def ask(self, sql: str, plugin: Plugin = "4", chosen: Mapping[str, str | Sequence[str]] | None = None) -> Answer:
        """With the values the dashboards' variables start with, apart from those chosen."""
        statement = self.expanded(sql, plugin, chosen)
        if statement not in self.answers:
            self.answers[statement] = self.ask_raw(statement)
        return self.answers[statement]

    def ask_panel(
        self, panel: Mapping[str, Any], plugin: Plugin = "4", chosen: Mapping[str, str | Sequence[str]] | None = None
    ) -> Answer:
        """What it asks, and of that what it draws."""
        answer = self.ask(panel["targets"][0]["rawSql"], plugin, chosen)
        drawn = {name: kind for name, kind in answer.columns.items() if "String" in kind or is_drawn(panel, name)}
        return Answer(drawn, [[*row] for row in zip(*map(answer.column, drawn), strict=True)])

    def expanded(
        self,
        sql: str,
        plugin: Plugin = "4",
        chosen: Mapping[str, str | Sequence[str]] | None = None,
        words: Plugin | None = None,
    ) -> str:
        start = {name: value for board in dashboards().values() for name, value in variables(board).items()}
        return expand(sql, plugin, self.shown, {**start, **(chosen or {})}, words)

    def ask_raw(self, statement: str) -> Answer:
        """
        Fails with the server's own words.

        64-bit integers come as numbers, NaN as None.
        """
        document = self.fetch(statement, "JSONCompact").json()
        return Answer({column["name"]: column["type"] for column in document["meta"]}, document["data"])

    def fetch(self, statement: str, form: str) -> httpx.Response:
        params = {"default_format": form, "database": "walltime", "output_format_json_quote_64bit_integers": "0"}
        response = over_http("POST", self.url, params=params, content=statement, auth=self.user, timeout_s=60)
        assert response.status_code == 200, f"{response.text}\n{statement}"
        return response


def _utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(scope="session")
def grafana() -> Iterator[Grafana]:
    folder = fast_folder()
    # so many keep their calls by chance that some called another service
    stack = Stack(folder, {"OTEL_TRACES_SAMPLER_ARG": "0.3"}, workers=2, slow_log_s=0.0, is_observed=True)
    settings: dict[str, str | float] = {
        "clickhouse_http": "127.0.0.1:0",
        "clickhouse_http_token": TOKEN,
        "segment_age_s": 2.0,
        "slow_log": f"{stack.mariadb.address}={stack.mariadb.slow_log}",
        "mysql": f"mysql://{stack.mariadb.observer}@{stack.mariadb.address}",
        "mysql_password": stack.mariadb.observer_password,
        "memcached": ",".join(cache.address for cache in stack.caches),
    }
    try:
        with Collector(folder / "collector", **settings) as collector:
            url = "http://" + re.findall(r"clickhouse=(\S+)", collector.ready)[0]
            stack.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.otlp_url.removesuffix("/v1/traces")
            now = Grafana(url, ("grafana", TOKEN), Range(0, 0, interval_s=1), collector.web_url)
            with stack:
                # else the first misses are not among what the caches say
                eventually(lambda: now.ask_raw(OBSERVED).rows == [[len(stack.caches) + 1]], 30)
                from_s = int(time.time()) - 1
                transactions = shop(stack)
                to_s = int(time.time()) + 1
            eventually(lambda: now.ask_raw("SELECT count() FROM transactions").rows == [[transactions]], 30)
            eventually(lambda: now.ask_raw(STATEMENTS_NOT_IN_THE_LOG).rows == [[0]], 30)
            eventually(lambda: now.ask_raw("SELECT count() FROM lock_waits FINAL WHERE is_over").rows != [[0]], 30)
            whole = Range(from_s // STEP_S * STEP_S, -(-to_s // STEP_S) * STEP_S, interval_s=1)
            yield replace(now, shown=whole)
    except ProgramMissingError as missing:
        pytest.skip(str(missing))
    finally:
        shutil.rmtree(folder)


def shop(stack: Stack) -> int:
    """Let visitors come, twice, with a pause between; how many transactions that makes."""
    stack.mariadb.write_logs(on=True)
    transactions, began_s = 0, time.monotonic()
    for _ in range(2):
        sent = Load(stack.url, limit=VISITS, rate=80).start().wait()
        assert sent.errors == 0
        transactions += sent.total + sent.requests["GET /recommendations"]
        # the points of a longer time are wider, and none with visits at both its ends would be quiet
        time.sleep(max(QUIET_S, (time.monotonic() - began_s) / 4))
    ask_slowly(stack)
    traceparent = f"00-{BUYER_TRACE_ID}-00000000000000a1-01"
    answer = httpx.get(f"{stack.url}/recommendations", headers={"traceparent": traceparent, "Cookie": "user=7"})
    assert answer.status_code == 200
    wait_for_a_lock(stack)
    return transactions + 5


def wait_for_a_lock(stack: Stack) -> None:
    """A checkout waits for a row that a connection with the id of another request holds, idle."""
    buyer = httpx.Client(base_url=stack.url, headers={"Cookie": "user=7"}, timeout=30)
    with buyer, stack.mariadb.admin() as admin, admin.cursor() as cursor, ThreadPoolExecutor(1) as pool:
        assert buyer.post("/cart", data={"product": str(BOUGHT)}).status_code == 303
        admin.begin()
        comment = f"/*traceparent='00-{BUYER_TRACE_ID}-00000000000000a1-01'*/"
        cursor.execute(f"SELECT stock FROM products WHERE id = {BOUGHT} FOR UPDATE {comment}")
        answer = pool.submit(buyer.post, "/checkout")
        time.sleep(HELD_S)
        admin.rollback()
        assert answer.result().status_code == 303


def ask_slowly(stack: Stack) -> None:
    """The slowest transaction, which one dashboard shows at first, has statements, however busy the machine is."""
    visited = {each.path for each in itertools.islice(visits(1), VISITS)}
    (path, *_) = (f"/product/{at}" for at in range(1, PRODUCTS) if f"/product/{at}" not in visited)
    with stack.mariadb.admin() as admin, admin.cursor() as cursor, ThreadPoolExecutor(1) as pool:
        cursor.execute("LOCK TABLES reviews WRITE")
        headers = {"traceparent": f"00-{SLOWEST_TRACE_ID}-00000000000000a1-00"}
        answer = pool.submit(httpx.get, stack.url + path, timeout=30, headers=headers)
        time.sleep(SLOWEST_S)
        cursor.execute("UNLOCK TABLES")
        assert answer.result().status_code == 200
