"""The library on two hosts with its servers and a collector, visits to it, and what `why` says of two runs of them."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import urllib3
from shop.ask import iso
from shop.proxy import Proxy
from shop.services import Gunicorn, MariaDB, Memcached

from tests.servers import Collector, over_http

ROOT = Path(__file__).parents[2]
KIND = "GET /authors/{author}"
AUTHORS, USERS = 150, 40
HOSTS = ("web-1", "web-2")
THREADS = 6


class Upstream:
    """A service that recommends; `delay_s` and `status` may be changed at any time."""

    def __init__(self) -> None:
        self.delay_s, self.status = 0.0, 200
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                time.sleep(upstream.delay_s)
                self.send_response(upstream.status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"[]")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Lab:
    """Everything, running; `compare` makes two runs of visits with one change between them."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self.database = running.enter_context(MariaDB(folder / "mariadb"))
        self.caches = [running.enter_context(Memcached(f"memcached-{at}", folder)) for at in (1, 2)]
        self.near_database, self.near_cache = Proxy(self.database, 0.001), Proxy(self.caches[1], 0.0)
        self.cache_addresses = [self.caches[0].address, self.near_cache.address]
        self.upstream = Upstream()
        self.collector = running.enter_context(Collector(folder / "collector"))
        for each in (self.near_database.close, self.near_cache.close, self.upstream.close):
            running.callback(each)
        self._fill()
        self.hosts = [self._host(folder, name, "1.0") for name in HOSTS]
        for host in self.hosts:
            running.enter_context(host)
        self._http = urllib3.PoolManager(maxsize=THREADS + 4, num_pools=8)
        running.callback(self._http.clear)
        self._seeds = random.Random(14)
        self._sent = 0
        self.folder = folder

    def compare(
        self, change: Callable[[], object], visits: int = 400, per_s: float = 50, busier: float = 1.0
    ) -> Mapping[str, Any]:
        """What `why` says of visits after the change, compared with those before it."""
        self.set_fault({})
        for author in range(1, AUTHORS + 1):
            self._visit(self.hosts[author % 2], author, 1)
        windows = []
        for number, rate, prepare in ((visits, per_s, None), (int(visits * busier), per_s * busier, change)):
            if prepare:
                prepare()
            start_ns = time.time_ns()
            self._visits(number, rate)
            windows.append(f"{iso(start_ns)}..{iso(time.time_ns())}")
        deadline_s = time.monotonic() + 60
        while self._stored() < self._sent and time.monotonic() < deadline_s:
            time.sleep(0.2)
        params = {"kind": KIND, "against": windows[0], "during": windows[1]}
        response = over_http("GET", f"{self.collector.web_url}/api/why", params=params)
        answer: Mapping[str, Any] = response.json()
        assert response.status_code == 200, answer
        return answer

    def set_fault(self, fault: Mapping[str, object], *hosts: int) -> None:
        """Of these hosts, or of all."""
        for at in hosts or (0, 1):
            self._http.request("POST", f"http://{self.hosts[at].address}/fault", json=dict(fault))

    def restart_cache(self) -> None:
        self.caches[0].stop()
        self.caches[0].start()

    def drop_index(self) -> None:
        self.sql("ALTER TABLE reviews DROP INDEX of_author")

    def deploy(self) -> None:
        """A new version on the second host, which is slower."""
        self.start_version("2.0")
        self.set_fault({"sleep_s": 0.04}, 1)

    def start_version(self, version: str) -> None:
        """On the second host."""
        self.hosts[1].stop()
        self.hosts[1].environment["OTEL_RESOURCE_ATTRIBUTES"] = f"host.name=web-2,service.version={version}"
        self.hosts[1].start()

    def sql(self, *statements: str) -> None:
        with self.database.admin() as connection, connection.cursor() as cursor:
            for each in statements:
                cursor.execute(each)

    def during(self, work: Callable[[], None]) -> Callable[[], None]:
        """A change that does this again and again in the background; `stop` ends it."""

        def again() -> None:
            while not self._stopped.is_set():
                with suppress(Exception):
                    work()

        def start() -> None:
            self._stopped = threading.Event()
            self._background = [threading.Thread(target=again, daemon=True) for _ in range(4)]
            for each in self._background:
                each.start()

        return start

    def stop(self) -> None:
        """End what `during` started."""
        if hasattr(self, "_stopped"):
            self._stopped.set()
            for each in self._background:
                each.join()

    def compute(self) -> None:
        """A report on each host: 50 ms of CPU."""
        for host in self.hosts:
            self._http.request("GET", f"http://{host.address}/report")

    def lock(self) -> None:
        """Hold the row that every page updates, for 30 ms."""
        with self.database.admin() as connection, connection.cursor() as cursor:
            connection.begin()
            cursor.execute("UPDATE visits SET number = number WHERE id = 1")
            time.sleep(0.03)
            connection.commit()
        time.sleep(0.02)

    def _host(self, folder: Path, name: str, version: str) -> Gunicorn:
        account = {**self.database.account(), "port": self.near_database.port}
        environment = {
            "PYTHONPATH": f"{ROOT}:{ROOT / 'examples'}",
            "OTEL_RESOURCE_ATTRIBUTES": f"host.name={name},service.version={version}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.otlp_url.removesuffix("/v1/traces"),
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "LIBRARY_CACHES": ",".join(self.cache_addresses),
            "LIBRARY_DATABASE": json.dumps(account),
            "LIBRARY_UPSTREAM": self.upstream.url,
        }
        return Gunicorn(name, folder, "tests.library.page:app", workers=1, threads=8, environment=environment)

    def _fill(self) -> None:
        tables = ("authors", "books", "prizes", "translations")
        self.sql(*(f"CREATE TABLE {each} (author INT, title VARCHAR(80), KEY (author))" for each in tables))
        self.sql(*(f"INSERT INTO {each} SELECT seq, 'title' FROM seq_1_to_{AUTHORS}" for each in tables))
        self.sql(
            "CREATE TABLE reviews (author INT, stars INT, body VARCHAR(200), KEY of_author (author))",
            f"INSERT INTO reviews SELECT seq % {AUTHORS}, seq % 5, REPEAT('x', 150) FROM seq_1_to_60000",
            "CREATE TABLE visits (id INT PRIMARY KEY, number INT)",
            "INSERT INTO visits VALUES (1, 0)",
        )

    def _visits(self, number: int, per_s: float) -> None:
        plan = [(self._seeds.randrange(1, AUTHORS + 1), self._seeds.randrange(USERS)) for _ in range(number)]
        start_s = time.monotonic()

        def visit(at: int) -> None:
            time.sleep(max(start_s + at / per_s - time.monotonic(), 0))
            author, user = plan[at]
            self._visit(self.hosts[self._hosts[at]], author, user)

        self._hosts = [self._seeds.randrange(2) for _ in plan]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(visit, range(number)))

    def _visit(self, host: Gunicorn, author: int, user: int) -> None:
        response = self._http.request("GET", f"http://{host.address}/authors/{author}?user={user}")
        assert response.status == 200, response.data
        self._sent += 1

    def _stored(self) -> int:
        kinds = over_http("GET", f"{self.collector.web_url}/api/top?since=1d").json()["kinds"]
        return sum(each["transactions"] for each in kinds if each["name"] == KIND)
