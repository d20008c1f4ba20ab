"""
What Walltime adds to the CPU of a page of Django and of FastAPI, and its components of frameworks to that.

    python -m tests.bench.frameworks [--rounds 400]

One instrumented process serves a few requests at a time, by turns without Walltime (`enabled=False`) and with it, in
every round in another order. The figures are CPU seconds of all threads in the quietest tenth of the turns, without
exports and samples.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click
import walltime
from rich.console import Console
from rich.table import Table
from walltime import runtime
from walltime.settings.settings import Settings
from walltime.settings.valid import COMPONENTS

from tests.bench.workload import serve
from tests.sdk.components import django_site

REQUESTS: Final = 2
"""Of each page in a turn, after one that is not measured."""
ROWS: Final = 20
WAYS: Final = {
    "without Walltime": Settings(enabled=False, exporters=(), sample_hz=0),
    "without Walltime again (noise)": Settings(enabled=False, exporters=(), sample_hz=0),
    "without components of frameworks": Settings(disabled_components=COMPONENTS, exporters=(), sample_hz=0),
    "with all components": Settings(exporters=(), sample_hz=0),
}


def django_page() -> Callable[[], int]:
    """Three queries with a prefetch of 20 rows, rendered by a template that includes another for each."""
    from django.contrib.auth.models import Group, Permission
    from django.core.wsgi import get_wsgi_application

    django_site.fill()
    may_buy = Permission.objects.get()
    for number in range(ROWS - Group.objects.count()):
        Group.objects.create(name=f"group {number}").permissions.add(may_buy)
    app = get_wsgi_application()

    def turn() -> int:
        serve(app, "/bench")
        started_ns = time.process_time_ns()
        for _ in range(REQUESTS):
            serve(app, "/bench")
        return time.process_time_ns() - started_ns

    return turn


def fastapi_page(folder: Path) -> Callable[[], int]:
    """
    A plain `def` with three queries of SQLAlchemy, and 20 rows as models of pydantic.

    The requests of a turn are in one task: anyio ends its threads with the outermost task, a server's task lives on.
    """
    from tests.sdk.components.fastapi_site import shop

    app, loop = shop(folder, Counter(), rows=ROWS), asyncio.new_event_loop()
    scope = {"type": "http", "method": "GET", "path": "/list", "raw_path": b"/list", "query_string": b"",
             "headers": [], "scheme": "http", "server": ("shop.test", 80), "root_path": "", "http_version": "1.1",
             "asgi": {"version": "3.0"}}  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        assert message.get("status", 200) == 200

    async def turn() -> int:
        await app(dict(scope), receive, send)
        started_ns = time.process_time_ns()
        for _ in range(REQUESTS):
            await app(dict(scope), receive, send)
        return time.process_time_ns() - started_ns

    return lambda: loop.run_until_complete(turn())


def cpu_ns(turn: Callable[[], int], settings: Settings) -> float:
    """CPU time of a request."""
    runtime._settings = settings
    return turn() / REQUESTS


@click.command
@click.option("--rounds", type=click.IntRange(10), default=400, help="Turns of each page.")
def main(rounds: int) -> None:
    """Measure both pages."""
    walltime.configure(exporters="none", sample_hz=0)
    walltime.instrument()
    table = Table("page", "way", "CPU of a request, µs", "difference, µs", "share", title=f"{rounds} rounds")
    order = random.Random(1)
    with TemporaryDirectory() as folder:
        for name, page in (("Django", django_page()), ("FastAPI", fastapi_page(Path(folder)))):
            times_ns: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(rounds):
                for way in order.sample(list(WAYS), len(WAYS)):
                    times_ns[way].append(cpu_ns(page, WAYS[way]))
            quiet_ns = {way: statistics.quantiles(measured, n=10)[0] for way, measured in times_ns.items()}
            bare_ns = quiet_ns["without Walltime"]
            for way, ns in quiet_ns.items():
                added_ns = ns - bare_ns
                table.add_row(name, way, f"{ns / 1e3:.0f}", f"{added_ns / 1e3:+.0f}", f"{added_ns / bare_ns:+.1%}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
