"""
Makes a kept folder of an earlier version: the data directory of its collector, and the requests of its SDK.

    python -m tests.upgrades.make COMMIT NAME

checks the commit out beside this one, runs its SDK in a small WSGI application on real MariaDB and memcached, and its
collector on what that sends. The first half of the requests is in the database. The second half is in the spool: the
collector was killed while its database was away. Writes tests/upgrades/NAME.tar.xz, with `data/` and `requests/`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from shop.services import MariaDB, Memcached

from tests.servers import PROTOBUF, eventually, over_http

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COLLECTOR = "import sys; from walltime_collector.cli import main; sys.exit(main())"
LONGEST_DAYS = "3650"
"""Of the tables: the kept rows do not become too old for the tests."""
FREE = ("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--web", "127.0.0.1:0")
APPLICATION = """
import os, sys, time, urllib.request, threading
from wsgiref.simple_server import make_server, WSGIRequestHandler
import pymysql, walltime
from pymemcache.client.base import Client

walltime.configure(service_name="kept-shop")
walltime.instrument()
host, port = os.environ["CACHE"].split(":")
database = dict(host="127.0.0.1", port=int(os.environ["PORT"]), user="shop", password=os.environ["PASSWORD"],
                database="shop")

def application(environ, start_response):
    path = environ["PATH_INFO"]
    cache, connection = Client((host, int(port))), pymysql.connect(**database)
    for number in range(3):
        if cache.get(f"product:{path}:{number}") is None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT %s, SLEEP(0.002)", (number,))
                cursor.fetchall()
            cache.set(f"product:{path}:{number}", b"1")
    connection.close()
    cache.close()
    with walltime.component("render"):
        time.sleep(0.001)
    failed = path.endswith("7")
    start_response("500 Internal Server Error" if failed else "200 OK", [("Content-Type", "text/plain")])
    return [b"kept"]

class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments): pass

server = make_server("127.0.0.1", 0, walltime.WSGIMiddleware(application), handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
for half in range(2):
    for number in range(20):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/product/{number % 10}").read()
        except urllib.error.HTTPError as error:
            assert error.code == 500
    walltime.flush()
server.shutdown()
walltime.shutdown()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("name")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        source, kept = Path(temporary) / "source", Path(temporary) / "kept"
        subprocess.run(["git", "worktree", "add", "--detach", source, arguments.commit], cwd=ROOT, check=True)
        try:
            bodies = requests_of(source, Path(temporary))
            (kept / "requests").mkdir(parents=True)
            for number, body in enumerate(bodies):
                (kept / "requests" / f"{number:03}.binpb").write_bytes(body)
            fill(source, kept / "data", bodies)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", source], cwd=ROOT, check=True)
        target = HERE / f"{arguments.name}.tar.xz"
        with tarfile.open(target, "w:xz", preset=9) as archive:
            for name in ("data", "requests"):
                archive.add(kept / name, name)
        print(f"{target}: {target.stat().st_size:,} bytes, {len(bodies)} requests")


def requests_of(source: Path, folder: Path) -> list[bytes]:
    """The bodies that the SDK of `source` sends."""
    bodies: list[bytes] = []

    class Sink(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    sink = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    with Memcached("memcached", folder) as cache, MariaDB(folder / "mariadb") as mariadb:
        environment = {
            **os.environ,
            "PYTHONPATH": str(source / "sdk" / "src"),
            "CACHE": cache.address,
            "PORT": str(mariadb.port),
            "PASSWORD": mariadb.password,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{sink.server_port}",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
            "OTEL_TRACES_SAMPLER_ARG": "0.2",
        }
        subprocess.run([sys.executable, "-c", APPLICATION], env=environment, check=True)
    sink.shutdown()
    return bodies


def fill(source: Path, data: Path, bodies: list[bytes]) -> None:
    half = len(bodies) // 2
    with collector(source, data) as (otlp, web):
        for body in bodies[:half]:
            post(otlp, body)
        eventually(lambda: (spans := over_http("GET", f"{web}/healthz").json()["spans"])["stored"] == spans["received"])
    with collector(source, data, signal.SIGKILL, WALLTIME_CLICKHOUSE="http://127.0.0.1:9") as (otlp, _):
        for body in bodies[half:]:
            post(otlp, body)


@contextmanager
def collector(
    source: Path, data: Path, ends_by: signal.Signals = signal.SIGTERM, **settings: str
) -> Iterator[tuple[str, str]]:
    environment = {**os.environ, "PYTHONPATH": str(source / "collector" / "src"), **settings}
    environment |= {f"WALLTIME_RETENTION_{each}_DAYS": LONGEST_DAYS for each in ("SPANS", "TRANSACTIONS", "MINUTES")}
    command = [sys.executable, "-c", COLLECTOR, "serve", "--data", str(data), *FREE]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = dict(part.split("=", 1) for part in process.stdout.readline().split()[1:])
        yield f"http://{ready['http']}", f"http://{ready['web']}"
        process.send_signal(ends_by)


def post(otlp: str, body: bytes) -> None:
    over_http("POST", f"{otlp}/v1/traces", content=body, headers=PROTOBUF).raise_for_status()


if __name__ == "__main__":
    main()
