"""The servers that the seeded application calls, the application in both variants, and a collector for both."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from shop.proxy import Proxy
from shop.services import MariaDB, Memcached

from tests.collector.query.advise import application
from tests.collector.query.advise.application import QUEUED, Servers
from tests.server_folder import server_folder
from tests.servers import Collector, eventually, over_http

MYSQL_S, CACHE_S, SLOW_CACHE_S = 0.003, 0.001, 0.015
UPSTREAMS_S = (0.02, 0.04)
VISITS = 60_000
PATHS = (
    *("/n-plus-one", "/repeated-gets", "/sequential-calls", "/connect-per-query", "/missing-pool", "/rows-examined"),
    *("/row-locks", "/slow-cache-server", "/mostly-other", "/queue", "/clean"),
)
_FIGURES = ("mean_ns", "p50_ns", "p95_ns", "mean_error_ns", "p50_error_ns", "p95_error_ns")
"""The last three are standard errors."""
VARIANTS = ("faulty", "fixed")


@dataclass
class Seeded:
    """What is stored of the application."""

    web_url: str
    requests: int
    count: int
    """Of each path and variant."""

    def get(self, path: str) -> Any:
        return over_http("GET", f"{self.web_url}{path}").json()

    def advice(self, **params: str) -> list[dict[str, Any]]:
        query = "&".join(f"{name}={value}" for name, value in params.items())
        return list(self.get(f"/api/advice?since=1h&limit=100&{query}")["advice"])

    def measured(self) -> Mapping[tuple[str, str], Mapping[str, float]]:
        """By service and name, from request to response with the queue, in nanoseconds: _FIGURES."""
        error = math.sqrt(0.95 * 0.05 / self.count)
        sql = (
            "SELECT service, name, avg(took_ns), quantile(0.5)(took_ns), quantile(0.95)(took_ns),"
            " stddevSamp(took_ns) / sqrt(count()), (quantile(0.75)(took_ns) - quantile(0.25)(took_ns)) / sqrt(count()),"
            f" (quantile({0.95 + error})(took_ns) - quantile({0.95 - error})(took_ns)) / 2"
            " FROM (SELECT service, name, duration_ns + ifNull(queue_ns, 0) AS took_ns FROM transactions)"
            " GROUP BY service, name"
        )
        rows = over_http("POST", f"{self.web_url}/api/sql", json={"sql": sql}).json()["rows"]
        return {(row[0], row[1]): dict(zip(_FIGURES, row[2:], strict=True)) for row in rows}


@contextmanager
def seeded(count: int, *, together: bool, sampled: float = 1.0) -> Iterator[Seeded]:
    """
    Run both variants, `count` requests of each path.

    Args:
        together: All paths at once, which is fast; otherwise one after the other, both variants in turns.
        sampled: The share of transactions whose calls are kept.
    """
    with ExitStack() as running, server_folder() as folder:
        mariadb = running.enter_context(MariaDB(folder / "mariadb", slow_log_s=0.0))
        caches = [running.enter_context(Memcached(f"memcached-{at}", folder)) for at in range(3)]
        _fill(mariadb, VISITS if together else 4 * VISITS)
        log = mariadb.folder / "slow.log"
        collector = running.enter_context(_LoggedCollector(log, folder / "collector"))
        servers = _servers(running, mariadb, caches, are_caches_far=not together)
        config = folder / "servers.json"
        config.write_text(json.dumps(asdict(servers)))
        apps = [running.enter_context(_App(each, config, collector.otlp_url, sampled)) for each in VARIANTS]
        if together:
            for app in apps:
                app.send([(path, count) for path in PATHS])
            for app in apps:
                app.wait(len(PATHS))
        else:
            for path in PATHS:
                for _ in range(count):
                    for app in apps:
                        app.send([(path, 1)])
                        app.wait(1)
        for app in apps:
            app.stop()
        expected = len(VARIANTS) * count * (len(PATHS) + QUEUED - 1 + 1)  # the queue has several, locks a holder
        result = Seeded(collector.web_url, expected, count)
        eventually(lambda: result.get("/api/top?since=1h")["transactions"] >= expected)
        eventually(lambda: result.get("/healthz")["counts"]["slow_log_entries"] >= log.read_text().count("# User@Host"))
        yield result


class _LoggedCollector(Collector):
    def __init__(self, slow_log: Path, directory: Path) -> None:
        self.options = ("--slow-log", str(slow_log))  # type: ignore[misc]
        super().__init__(directory)


class _App:
    """One variant as a process."""

    def __init__(self, variant: str, config: Path, otlp_url: str, sampled: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, application.__file__, variant, str(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                "OTEL_SERVICE_NAME": variant,
                "OTEL_EXPORTER_OTLP_ENDPOINT": otlp_url.removesuffix("/v1/traces"),
                "OTEL_TRACES_SAMPLER_ARG": str(sampled),
            },
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def __enter__(self) -> _App:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.stdin.close()
        self.stdout.close()

    def send(self, lines: Sequence[tuple[str, int]]) -> None:
        self.stdin.write("".join(f"{path} {count}\n" for path, count in lines))
        self.stdin.flush()

    def wait(self, paths: int) -> None:
        for _ in range(paths):
            assert self.stdout.readline(), "the application ended"

    def stop(self) -> None:
        self.stdin.close()
        assert self.process.wait(30) == 0


def _servers(running: ExitStack, mariadb: MariaDB, caches: list[Memcached], *, are_caches_far: bool) -> Servers:
    """The way to the caches gives repeated gets a price that can be compared; on a busy machine it makes them slow."""
    far = Proxy(mariadb, MYSQL_S)
    near = [Proxy(each, CACHE_S) for each in caches[:2]] if are_caches_far else []
    slow = Proxy(caches[2], SLOW_CACHE_S)
    for each in (far, slow, *near):
        running.callback(each.close)
    upstreams = [running.enter_context(_upstream(each)) for each in UPSTREAMS_S]
    account = mariadb.account()
    account["port"] = far.port
    return Servers(account, [each.address for each in near or caches[:2]], slow.address, caches[2].address, upstreams)


@contextmanager
def _upstream(delay_s: float) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            time.sleep(delay_s)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _fill(mariadb: MariaDB, visits: int) -> None:
    mariadb.write_logs(on=False)
    with mariadb.admin() as connection, connection.cursor() as cursor:
        cursor.execute(f"USE {mariadb.database}")
        cursor.execute("CREATE TABLE products (id INT PRIMARY KEY, name VARCHAR(40))")
        cursor.execute("INSERT INTO products SELECT seq, CONCAT('product ', seq) FROM seq_1_to_100")
        cursor.execute(
            "CREATE TABLE visits (id INT PRIMARY KEY, unindexed INT, indexed INT, more CHAR(100), KEY (indexed))"
        )
        cursor.execute(
            f"INSERT INTO visits SELECT seq, seq % 20000, seq % 20000, REPEAT('x', 100) FROM seq_1_to_{visits}"
        )
        for variant in VARIANTS:
            cursor.execute(f"CREATE TABLE stock_{variant} (id INT PRIMARY KEY, number INT)")
            cursor.execute(f"INSERT INTO stock_{variant} VALUES (1, 1000000)")
        connection.commit()
    mariadb.write_logs(on=True)
