"""
What Walltime adds to the CPU of a page of Django and of FastAPI.

    python -m tests.bench.frameworks [--rounds 100]

One process serves both pages by turns, bare and with Walltime, in every round in another order, a few requests at a
time. The figures are CPU seconds of all threads, of the tenth of the turns in which the machine was quietest: that is
without the exports, which are once a second, but with the sampler.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import typer
import walltime
from rich.console import Console
from rich.table import Table
from walltime.settings.valid import COMPONENTS

from tests.bench.workload import serve
from tests.sdk.components import django_site

REQUESTS: Final = 8
"""Of each page in a turn."""
ROWS: Final = 20
WAYS: Final[dict[str, dict[str, Any] | None]] = {
    "bare": None,
    "bare again (noise)": None,
    "without components of frameworks and samples": {"disabled_components": COMPONENTS, "sample_hz": 0},
    "without samples": {"sample_hz": 0},
    "everything": {},
}
SINK: Final = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *args): ...
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def django_page() -> Callable[[], object]:
    """Three queries with a prefetch of 20 rows, rendered by a template that includes another for each."""
    from django.contrib.auth.models import Group, Permission
    from django.core.wsgi import get_wsgi_application

    django_site.fill()
    may_buy = Permission.objects.get()
    for number in range(ROWS - Group.objects.count()):
        Group.objects.create(name=f"group {number}").permissions.add(may_buy)
    app = get_wsgi_application()
    return lambda: serve(app, "/bench")


def fastapi_page(folder: Path) -> Callable[[], object]:
    """A plain `def` with three queries of SQLAlchemy, and 20 rows as models of pydantic."""
    from tests.sdk.components.fastapi_site import shop

    app, loop = shop(folder, Counter(), rows=ROWS), asyncio.new_event_loop()
    scope = {"type": "http", "method": "GET", "path": "/list", "raw_path": b"/list", "query_string": b"",
             "headers": [], "scheme": "http", "server": ("shop.test", 80), "root_path": "", "http_version": "1.1",
             "asgi": {"version": "3.0"}}  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        assert message.get("status", 200) == 200

    return lambda: loop.run_until_complete(app(dict(scope), receive, send))


def cpu_ns(page: Callable[[], object], settings: dict[str, Any] | None, endpoint: str) -> float:
    """CPU time of a request."""
    if settings is None:
        walltime.uninstrument()
    else:
        walltime.configure(service_name="bench", endpoint=endpoint, sample_probability=0.01, **settings)
        walltime.instrument()
    for _ in range(3):
        page()
    started_ns = time.process_time_ns()
    for _ in range(REQUESTS):
        page()
    return (time.process_time_ns() - started_ns) / REQUESTS


def main(rounds: Annotated[int, typer.Option(min=10, help="Turns of each page.")] = 100) -> None:
    """Measure both pages."""
    with TemporaryDirectory() as folder, subprocess.Popen([sys.executable, "-c", SINK], stdout=subprocess.PIPE) as sink:
        try:
            assert sink.stdout is not None
            endpoint = f"http://127.0.0.1:{int(sink.stdout.readline())}/v1/traces"
            pages = {"Django": django_page(), "FastAPI": fastapi_page(Path(folder))}
            times_ns: dict[tuple[str, str], list[float]] = {}
            order = random.Random(1)
            for _ in range(rounds):
                for name, page in pages.items():
                    for way in order.sample(list(WAYS), len(WAYS)):
                        times_ns.setdefault((name, way), []).append(cpu_ns(page, WAYS[way], endpoint))
        finally:
            walltime.shutdown()
            sink.terminate()
    table = Table("page", "way", "CPU of a request, µs", "difference, µs", "share", title=f"{rounds} rounds")
    for name, way in ((name, way) for name in pages for way in WAYS):
        quiet_ns, bare_ns = (statistics.quantiles(times_ns[name, each], n=10)[0] for each in (way, "bare"))
        difference_ns = quiet_ns - bare_ns
        share = f"{difference_ns / bare_ns:+.1%}"
        table.add_row(name, way, f"{quiet_ns / 1e3:.0f}", f"{difference_ns / 1e3:+.0f}", share)
    Console(width=120).print(table)


if __name__ == "__main__":
    typer.run(main)
