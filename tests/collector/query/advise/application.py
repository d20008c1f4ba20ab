"""
A small WSGI application, with each of the faults that `advise` looks for once, and the same with each of them fixed.

Run as a process: `application.py VARIANT SERVERS`. Each line of stdin is `PATH COUNT`; when these requests are done it
prints the path. It has no web server: requests are made in threads, one for each path, so that paths run at once.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import requests
import walltime
from pymemcache.client.hash import HashClient

PRODUCTS, GETS, CONNECTS = 12, 20, 3
OTHER_S, HOLDER_AHEAD_S, HOLDER_PAUSES = 0.1, 0.015, 3
QUEUED, ENOUGH_WORKERS = 4, 8


@dataclass(frozen=True)
class Servers:
    """Where everything is."""

    mysql: dict[str, Any]
    """Parameters of pymysql.connect."""
    caches: list[str]
    slow_cache: str
    cache_beside: str
    """The slow cache itself, without the way to it."""
    upstreams: list[str]
    """URLs."""


class Application:
    """One variant."""

    def __init__(self, variant: str, servers: Servers) -> None:
        self.is_faulty = variant == "faulty"
        self.variant, self.servers = variant, servers
        self.local = threading.local()
        self.threads = ThreadPoolExecutor(4)
        self.cache = HashClient(servers.caches, use_pooling=True)
        self.slow_cache = HashClient([servers.slow_cache if self.is_faulty else servers.cache_beside], use_pooling=True)
        for at in range(GETS):
            self.cache.set(f"product:{at}", b"x" * 50)
        for name in ("menu", "banner", "footer"):
            self.slow_cache.set(f"{name}:1", b"x" * 50)
        self.http = requests.Session()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        walltime.current().set_name(f"{environ['REQUEST_METHOD']} {path}")
        getattr(self, path.strip("/").replace("-", "_"))()
        start_response("200 OK", [])
        return [b"done"]

    def connect(self) -> Any:
        return pymysql.connect(**self.servers.mysql, autocommit=True)

    def query(self, sql: str, *values: Any) -> Any:
        """On the connection of this thread."""
        if not hasattr(self.local, "connection"):
            self.local.connection = self.connect()
        return self.ask(self.local.connection, sql, *values)

    def ask(self, connection: Any, sql: str, *values: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall()

    def n_plus_one(self) -> None:
        ids = [row[0] for row in self.query("SELECT id FROM products ORDER BY id LIMIT %s", PRODUCTS)]
        if self.is_faulty:
            with self.local.connection.cursor() as cursor:
                for each in ids:
                    cursor.execute("SELECT name FROM products WHERE id = %s", each)
        else:
            self.query(f"SELECT name FROM products WHERE id IN ({', '.join(['%s'] * len(ids))})", *ids)

    def repeated_gets(self) -> None:
        keys = [f"product:{at}" for at in range(GETS)]
        if self.is_faulty:
            for key in keys:
                assert self.cache.get(key)
        else:
            assert len(self.cache.get_many(keys)) == GETS

    def sequential_calls(self) -> None:
        if self.is_faulty:
            for url in self.servers.upstreams:
                self.http.get(url)
        else:
            list(self.threads.map(self.http.get, self.servers.upstreams))

    def connect_per_query(self) -> None:
        self._ask_thrice(each_connects=True)

    def missing_pool(self) -> None:
        self._ask_thrice(each_connects=False)

    def _ask_thrice(self, *, each_connects: bool) -> None:
        connection = None if each_connects else self.connect() if self.is_faulty else None
        for at in range(CONNECTS):
            sql = f"SELECT name FROM products WHERE id = %s AND {at} = {at}"
            if not self.is_faulty:
                self.query(sql, at)
                continue
            own = connection or self.connect()
            self.ask(own, sql, at)
            if connection is None:
                own.close()
        if connection is not None:
            connection.close()

    def rows_examined(self) -> None:
        column = "unindexed" if self.is_faulty else "indexed"
        assert self.query(f"SELECT id FROM visits WHERE {column} = %s", 77)

    def row_locks(self) -> None:
        """It waits for lock_holder, which began a moment before."""
        self.query(f"UPDATE stock_{self.variant} SET number = number - 1 WHERE id = %s", 1)

    def lock_holder(self) -> None:
        if not self.is_faulty:
            self.http.get(self.servers.upstreams[1])
        self.query("BEGIN")
        self.query(f"UPDATE stock_{self.variant} SET number = number + 1 WHERE id = %s", 1)
        if self.is_faulty:
            self.http.get(self.servers.upstreams[1])
        self.query("COMMIT")

    def slow_cache_server(self) -> None:
        for name in ("menu", "banner", "footer"):
            assert self.slow_cache.get(f"{name}:1")

    def mostly_other(self) -> None:
        self.http.get(self.servers.upstreams[0])
        if self.is_faulty:
            time.sleep(OTHER_S)

    def queue(self) -> None:
        self.http.get(self.servers.upstreams[0])

    def clean(self) -> None:
        self.query("SELECT name FROM products WHERE id = %s AND 8 = 8", 8)
        assert self.cache.get_many([f"product:{at}" for at in range(4)])


class Front:
    """Passes requests on to so many workers, as a proxy in front of an application does."""

    def __init__(self, application: Callable[..., Iterable[bytes]], workers: int) -> None:
        self.application = application
        self.waiting: queue.Queue[tuple[str, str, float, threading.Event]] = queue.Queue()
        for _ in range(workers):
            threading.Thread(target=self._work, daemon=True).start()

    def request(self, method: str, path: str) -> threading.Event:
        done = threading.Event()
        self.waiting.put((method, path, time.time(), done))
        return done

    def _work(self) -> None:
        while True:
            method, path, arrived_s, done = self.waiting.get()
            environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "wsgi.url_scheme": "http", "SERVER_NAME": "test"}
            if path == "/queue":
                environ["HTTP_X_REQUEST_START"] = f"t={int(arrived_s * 1e6)}"
            body: Any = self.application(environ, lambda status, headers, error=None: None)
            list(body)
            if hasattr(body, "close"):
                body.close()
            done.set()


def serve(application: Application) -> None:
    measured = walltime.WSGIMiddleware(application)
    printing = threading.Lock()

    def run(path: str, count: int, fronts: list[Front]) -> None:
        for _ in range(count):
            if path == "/queue":
                for done in [fronts[0].request("GET", path) for _ in range(QUEUED)]:
                    done.wait()
            elif path == "/row-locks":
                started_s = time.monotonic()
                held = fronts[1].request("POST", "/lock-holder")
                time.sleep(HOLDER_AHEAD_S)
                fronts[0].request("POST", path).wait()
                held.wait()
                time.sleep(HOLDER_PAUSES * (time.monotonic() - started_s))  # one that always runs explains no wait
            else:
                fronts[0].request("GET", path).wait()
        with printing:
            print(path, flush=True)

    fronts: dict[str, list[Front]] = {}
    for line in sys.stdin:
        path, count = line.split()
        workers = ENOUGH_WORKERS if path == "/queue" and not application.is_faulty else 1
        mine = fronts.setdefault(path, [Front(measured, workers), Front(measured, 1)])
        threading.Thread(target=run, args=(path, int(count), mine)).start()
    walltime.shutdown()


if __name__ == "__main__":
    walltime.configure()
    walltime.instrument()
    serve(Application(sys.argv[1], Servers(**json.loads(Path(sys.argv[2]).read_text()))))
