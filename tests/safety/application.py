"""An application that uses every wrapped client on real servers, and says all it was told in its answers."""

from __future__ import annotations

import io
import wsgiref.util
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pymemcache
import pymysql
import pymysql.cursors
import requests
import walltime
from pymysql.constants import ER
from walltime.servers.gateways.wsgi import WSGIMiddleware

PATHS = ("/mysql", "/memcache", "/http", "/api", "/stream", "/file", "/raises", "/breaks", "/closes", "/missing")


@dataclass
class Servers:
    """Where the application finds what it needs."""

    mysql: dict[str, Any]
    memcached: list[tuple[str, int]]
    refusing: tuple[str, int]
    http: str


@dataclass
class Shop:
    servers: Servers

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/raises":
            raise LookupError("before the answer")
        if path == "/missing":
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"no ", b"such page"]
        write = start_response("200 OK", [("Content-Type", "text/plain")])
        if path == "/file":
            return wsgiref.util.FileWrapper(io.BytesIO(b"block" * 3000))
        if path == "/stream":
            return self._stream()
        if path == "/breaks":
            return self._breaks()
        if path == "/closes":
            return Closes()
        write(b"written ")
        with walltime.component("page"):  # what is nested in it must not be counted twice, whatever fails
            return list(getattr(self, path[1:])())

    def _stream(self) -> Iterator[bytes]:
        with pymysql.connect(**self.servers.mysql) as connection:
            cursor = connection.cursor(pymysql.cursors.SSCursor)
            cursor.execute("SELECT seq FROM seq_1_to_50")
            for row in cursor:
                yield repr(row).encode()

    def _breaks(self) -> Iterator[bytes]:
        yield b"half an answer"
        raise ArithmeticError("in the middle")

    def mysql(self) -> Iterator[bytes]:
        connection = pymysql.connect(**self.servers.mysql)
        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE thing (id INT PRIMARY KEY, name TEXT)")
            connection.begin()
            yield repr(
                cursor.executemany("INSERT INTO thing VALUES (%s, %s)", [(n, f"n{n}") for n in range(9)])
            ).encode()
            connection.commit()
            yield repr(cursor.execute("SELECT id, name FROM thing WHERE id < %s", (5,))).encode()
            yield repr(cursor.fetchall()).encode()
            for broken in ("SELECT * FROM no_such_table", "INSERT INTO thing VALUES (1, 'again')", "SELEC 1"):
                try:
                    cursor.execute(broken)
                except pymysql.MySQLError as error:
                    # The server quotes a syntax error to the end of the statement, our comment included.
                    said = error.args[:1] if error.args[0] == ER.PARSE_ERROR else error.args
                    yield repr((type(error), said, error.__cause__)).encode()
            connection.rollback()
            connection.ping()
            cursor.execute("SELECT 1; SELECT 2" if connection.client_flag & 1 << 16 else "SELECT 1")
            yield repr((cursor.fetchall(), cursor.nextset())).encode()
        try:
            cursor.execute("SELECT 1")
        except pymysql.MySQLError as error:
            yield repr((type(error), error.args)).encode()
        host, port = self.servers.refusing
        try:
            pymysql.connect(host=host, port=port, user="nobody", ssl_disabled=True)
        except pymysql.MySQLError as error:
            yield repr((type(error), error.args[0])).encode()

    def memcache(self) -> Iterator[bytes]:
        client = pymemcache.HashClient(self.servers.memcached, default_noreply=False, no_delay=True)
        answers: list[object] = [
            client.set("s:1", "one"), client.set_many({"s:2": "two", "s:3": "three"}), client.get("s:1"),
            client.get("s:none"), client.get("s:none", 7), client.get_many(["s:1", "s:2", "s:none"]),
            client.gets("s:none"), client.add("s:1", "no"), client.replace("s:none", "no"), client.append("s:1", "+"),
            client.prepend("s:1", "-"), client.set("s:n", "1"), client.incr("s:n", 4), client.decr("s:n", 2),
            client.touch("s:n", 60), client.delete("s:n"), client.delete("s:none"), client.delete_many(["s:2", "s:3"]),
            client.cas("s:none", "v", b"1"), client.set("s:4", "quiet", noreply=True),
        ]  # fmt: skip
        yield repr(answers).encode()
        try:
            client.get("a key with spaces")
        except pymemcache.MemcacheError as error:
            yield repr((type(error), error.args)).encode()
        client.close()
        with_pool = pymemcache.PooledClient(self.servers.memcached[0], max_pool_size=2, no_delay=True)
        yield repr([with_pool.get("s:1"), type(with_pool.stats())]).encode()
        with_pool.close()
        yield repr(pymemcache.Client(self.servers.refusing, ignore_exc=True).get("s:1", "default")).encode()
        try:
            pymemcache.Client(self.servers.refusing).set("s:1", "1")
        except OSError as error:
            yield repr((type(error), error.args)).encode()

    def http(self) -> Iterator[bytes]:
        with requests.Session() as session:
            for path in ("/hello", "/missing", "/hello?secret=1"):
                answer = session.get(self.servers.http + path, timeout=5)
                yield repr((answer.status_code, answer.text)).encode()
            with session.get(self.servers.http + "/long", stream=True, timeout=5) as answer:
                yield repr([len(block) for block in answer.iter_content(4096)]).encode()
            answer = session.post(
                self.servers.http + "/echo", data=b"x" * 100, headers={"traceparent": "mine"}, timeout=5
            )
            yield repr((answer.status_code, answer.text)).encode()
            host, port = self.servers.refusing
            try:
                session.get(f"http://{host}:{port}/", timeout=5)
            except requests.ConnectionError as error:
                yield repr(type(error)).encode()

    def api(self) -> Iterator[bytes]:
        current = walltime.current()
        current.set_name("GET /api")
        current.set_user("u1")
        current.annotate("cart.items", 3)
        yield repr(len(current.request_id) in {0, 32}).encode()
        for n in range(3):
            with walltime.component("render"), walltime.transaction("step"):
                yield repr(n).encode()
        try:
            with walltime.component("fails"):
                raise OSError("its own")  # noqa: TRY301  # it has to pass through the component
        except OSError as error:
            yield repr((error.args, error.__context__)).encode()
        yield repr(_decorated(3)).encode()
        for _ in range(2100):
            with walltime.component("many"):
                pass
        current.fail("cart")


class Closes:
    """A body that fails when it is closed."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"all of it"

    def close(self) -> None:
        raise EOFError("while closing")


@walltime.component("decorated")
def _decorated(n: int) -> int:
    return n * 2


@walltime.transaction("job")
def job(shop: Shop) -> list[bytes]:
    """Work that is not a request, with calls on a bill of its own."""
    walltime.current().annotate("part", "night")
    return [*shop.mysql(), *shop.memcache()]


def ask(app: Any, path: str) -> list[object]:
    """One request, as a server makes it; all that the client and the server get to see."""
    seen: list[object] = []

    def start_response(status: str, headers: Any, exc_info: Any = None) -> Callable[[bytes], None]:
        seen.append((status, headers, exc_info is not None))
        return seen.append

    environ: dict[str, Any] = {
        "HTTP_TRACEPARENT": "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01",
        "HTTP_X_REQUEST_START": "t=1700000000",
        "wsgi.file_wrapper": wsgiref.util.FileWrapper,
    }
    wsgiref.util.setup_testing_defaults(environ)
    environ["PATH_INFO"] = path
    body: Any = None
    try:
        body = app(environ, start_response)
        seen.append(hasattr(body, "__len__"))
        seen.extend(body)
    except Exception as error:  # noqa: BLE001  # as a server does
        seen.append((type(error).__name__, str(error), repr(error.__cause__), repr(error.__context__)))
    try:
        if hasattr(body, "close"):
            body.close()
    except Exception as error:  # noqa: BLE001
        seen.append((type(error).__name__, str(error)))
    return seen


def life(servers: Servers, endpoint: str | None) -> list[object]:
    """All an application does in a process's life; with an endpoint, under Walltime."""
    shop = Shop(servers)
    app: Any = shop
    if endpoint is not None:
        walltime.configure(
            service_name="shop",
            endpoint=endpoint,
            sample_probability=1.0,
            exit_timeout_s=0.5,
            export_delay_s=0.01,
            metrics=True,
        )
        walltime.instrument()
        app = WSGIMiddleware(app)
    seen: list[object] = [ask(app, path) for path in PATHS]
    seen.append(job(shop))
    seen.extend(shop.http())  # outside of any transaction
    if endpoint is not None:
        walltime.flush(1)
        walltime.counters()
        walltime.check(1)
        walltime.uninstrument()
    seen.append(ask(app, "/memcache"))
    if endpoint is not None:
        walltime.shutdown()
    return seen
