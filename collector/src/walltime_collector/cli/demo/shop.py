"""The requests of a shop that does not exist. One of its two caches is restarted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from random import Random

from ..otlp import Value
from .transaction import MS, Transaction

SERVICE, REPORTS = "demo-shop", "demo-reports"
STORY = "GET /product/{id}"
RESTARTED = "memcache01"
RESOURCE: dict[str, Value] = {
    **{"service.version": "1.4.0", "deployment.environment.name": "synthetic"},
    **{"telemetry.sdk.name": "walltime-demo", "telemetry.sdk.language": "python"},
}
RESTARTED_CACHE = f"{RESTARTED}:11211"
_CACHES = (RESTARTED_CACHE, "memcache02:11211")
DATABASE = "mysql01:3306"
_BANK, _STOCK = "bank.example:443", "stock.internal:8080"
_PARTS = ("price", "stock", "seller", "reviews", "rating", "images", "related", "shipping", "coupons", "badges")
_MYSQL: dict[str, Value] = {"db.system.name": "mysql"}
_MEMCACHE: dict[str, Value] = {"db.system.name": "memcached"}
_VISITS_PER_S = 2.0
_USUAL_HITS, _REFILLED_S = 0.995, 420.0
_LOGGED_NS = 20 * MS
"""The long_query_time of the database."""


@dataclass
class Queries:
    """Of one second, with the rows they examined and changed, and their waits for row locks."""

    calls: int = 0
    time_ns: int = 0
    examined: int = 0
    changed: int = 0
    tmp_tables: int = 0
    locked: int = 0
    locked_ns: int = 0


class Shop:
    """
    The same requests for the same seed and times; those of later times follow those of earlier ones.

    slow_log  entries of the database's slow log, as MySQL writes them; whoever writes them empties the list
    lookups   hits and misses of each cache in each second; whoever stores them empties it
    queries   those of the database in each second; as lookups
    """

    def __init__(self, begins_ns: int, restarted_ns: int, seed: int = 2010) -> None:
        self._chance, self._next_ns, self._restarted_ns = Random(seed), begins_ns, restarted_ns
        self._broken_connections = 8
        self.slow_log: list[str] = []
        self.lookups = Counter[tuple[str, int, bool]]()
        self.queries = defaultdict[int, Queries](Queries)

    def requests(self, until_ns: int) -> Iterator[Transaction]:
        """All that start before `until_ns` and were not there yet."""
        pages = (self._product, self._search, self._orders, self._cart, self._checkout, self._report)
        while self._next_ns < until_ns:
            (page,) = self._chance.choices(pages, weights=(60, 12, 10, 10, 5, 3))
            yield page(self._next_ns)
            self._next_ns += int(self._chance.expovariate(_VISITS_PER_S) * 1e9)

    def _product(self, started_ns: int) -> Transaction:
        request = Transaction(SERVICE, STORY, started_ns, self._chance)
        for text in ("SELECT * FROM product WHERE id = %s", "SELECT amount FROM cart WHERE user_id = %s"):
            self._query(request, text, 2, rows=1, line="shop/views.py:31")
        for cache in _CACHES:
            for part in _PARTS:
                self._cached(request, cache, part)
        request.spend(2.8)
        return request

    def _search(self, started_ns: int) -> Transaction:
        request = Transaction(SERVICE, "GET /search", started_ns, self._chance)
        text = "SELECT id, title FROM product WHERE title LIKE %s ORDER BY sold DESC LIMIT 40"
        self._query(request, text, 28, rows=40, line="shop/search.py:14", examined=48_211)
        self._http(request, "GET", "http", _STOCK, 9)
        request.spend(3)
        return request

    def _orders(self, started_ns: int) -> Transaction:
        """One query for each order: `walltime advise` finds it."""
        request = Transaction(SERVICE, "GET /orders", started_ns, self._chance)
        orders = self._chance.randint(8, 16)
        self._query(request, "SELECT * FROM orders WHERE user_id = %s", 2.5, rows=orders, line="shop/orders.py:20")
        for _ in range(orders):
            self._query(request, "SELECT * FROM item WHERE order_id = %s", 1.8, rows=3, line="shop/orders.py:24")
        request.spend(2)
        return request

    def _cart(self, started_ns: int) -> Transaction:
        request = Transaction(SERVICE, "POST /cart", started_ns, self._chance)
        request.spend(0.5)
        if self._chance.random() < 0.05:
            request.status = 404
            return request
        text = "INSERT INTO cart (user_id, product_id, amount) VALUES (%s, %s, %s)"
        self._query(request, text, 1.2, rows=1, line="shop/cart.py:9")
        request.call("mysql.commit", 1.5, DATABASE, _MYSQL)
        return request

    def _checkout(self, started_ns: int) -> Transaction:
        """Some wait for a row lock, and of some the bank does not answer."""
        request = Transaction(SERVICE, "POST /checkout", started_ns, self._chance)
        took_ms, locked = (250, 0.97) if self._chance.random() < 0.2 else (2, 0.01)
        text = "SELECT amount FROM stock WHERE product_id = %s FOR UPDATE"
        self._query(request, text, took_ms, rows=1, line="shop/checkout.py:40", locked=locked)
        request.call("http.connect", 15, _BANK, {})
        request.status = 503 if self._chance.random() < 0.04 else 200
        self._http(request, "POST", "https", _BANK, 120, request.status)
        if request.status == 200:
            self._query(request, "UPDATE stock SET amount = amount - %s WHERE product_id = %s", 2, rows=1)
            request.call("mysql.commit", 2.5, DATABASE, _MYSQL)
        return request

    def _report(self, started_ns: int) -> Transaction:
        """Most of its time is in no measured call: `walltime profile` shows where."""
        request = Transaction(REPORTS, "GET /report", started_ns, self._chance)
        self._query(request, "SELECT * FROM sale WHERE day >= %s", 14, rows=900, line="shop/report.py:50")
        request.spend(70, ("shop/report.py:58", "to_rows", "decimal.Decimal.quantize", "computing"))
        request.spend(45, ("shop/report.py:71", "to_csv", "csv.writer.writerows", "computing"))
        request.spend(25, ("shop/report.py:80", "locked", "threading.Lock.acquire", "lock"))
        return request

    def _cached(self, request: Transaction, cache: str, part: str) -> None:
        key = {"walltime.memcache.key": f"{part}:#{self._chance.getrandbits(24):06x}", **_MEMCACHE}
        since_s = (request.started_ns - self._restarted_ns) / 1e9 if cache == RESTARTED_CACHE else -1
        filled = 1 - math.exp(-since_s / _REFILLED_S) if since_s >= 0 else 1
        is_hit = self._chance.random() < _USUAL_HITS * filled
        if since_s >= 0 and self._broken_connections:
            self._broken_connections -= 1
            error: dict[str, Value] = {"error.type": "ConnectionResetError", "walltime.memcache.result": "error"}
            request.call("memcache.get", 0.4, cache, {**key, **error}, counts={"keys": 1, "errors": 1})
            request.call("memcache.connect", 0.6, cache, _MEMCACHE)
            is_hit = False
        else:
            result = {"walltime.memcache.result": "hit" if is_hit else "miss"}
            counts = {"keys": 1, "hits" if is_hit else "misses": 1}
            request.call("memcache.get", 0.3, cache, {**key, **result}, counts=counts)
        self.lookups[cache, request.started_ns // 1_000_000_000, is_hit] += 1
        if not is_hit:
            text = f"SELECT * FROM {part} WHERE product_id = %s"  # noqa: S608  no server runs it
            self._query(request, text, 2, rows=4, line="shop/store.py:77")
            request.call("memcache.set", 0.3, cache, {**key, "walltime.memcache.result": "stored"})

    def _query(
        self,
        request: Transaction,
        text: str,
        mean_ms: float,
        *,
        rows: int,
        line: str = "",
        examined: int = 0,
        locked: float = 0,
    ) -> None:
        file, _, number = line.partition(":")
        source: dict[str, Value] = {"code.file.path": file, "code.line.number": int(number)} if line else {}
        named = {**source, **_MYSQL}
        took_ns = request.call("mysql.query", mean_ms, DATABASE, named, counts={"rows": rows}, statement=text)
        self._count(request.started_ns // 1_000_000_000, text, took_ns, max(rows, examined), locked)
        if took_ns >= _LOGGED_NS:
            ended_s, took_s = (request.started_ns + request.duration_ns) / 1e9, took_ns / 1e9 - 0.0002
            at = datetime.fromtimestamp(ended_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self.slow_log.append(
                f"# Time: {at}\n# User@Host: shop[shop] @ web [10.0.0.7]  Id:    12\n"
                f"# Query_time: {took_s:.6f}  Lock_time: {took_s * locked:.6f} Rows_sent: {rows}"
                f"  Rows_examined: {examined or rows}\nSET timestamp={int(ended_s)};\n{text.replace('%s', '42')}"
                f" /*traceparent='00-{request.trace_id}-{request.span_id}-01'*/;\n"
            )

    def _count(self, second: int, text: str, took_ns: int, rows: int, locked: float) -> None:
        of_second, is_read = self.queries[second], text.startswith("SELECT")
        of_second.calls += 1
        of_second.time_ns += took_ns
        of_second.examined += rows if is_read else 0
        of_second.changed += 0 if is_read else rows
        of_second.tmp_tables += "ORDER BY" in text
        if locked > 0.5:
            of_second.locked += 1
            of_second.locked_ns += int(took_ns * locked)

    @staticmethod
    def _http(request: Transaction, method: str, scheme: str, server: str, mean_ms: float, status: int = 200) -> None:
        named: dict[str, Value] = {"http.request.method": method, "http.response.status_code": status}
        named["url.full"] = f"{scheme}://{server.partition(':')[0]}/charge"
        request.call("http.request", mean_ms, server, named, counts={"errors": int(status >= 400)})
