"""`walltime demo`: starts a collector, sends it synthetic requests over OTLP, and prints where to look."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from queue import Queue

import click

from ...clickhouse.engine import Engine
from ...errors import CommandFailed
from ...format import printable
from .. import addresses
from ..client import Client
from ..output import print_rendered, read_as, write

_S = 1_000_000_000
_BEFORE_S, _AFTER_S = 720, 60
_REQUESTS_OF_A_BODY = 500
_STORED_WITHIN_S = 60
_EVERY_S = 2.0
_WEB_PORT = 8464
_CLICKHOUSE_PORT = 8123
_LATER_S = 0.05


@click.command
@click.option("--once", is_flag=True, help="End after the answer of `walltime why`.")
@click.option("--grafana", is_flag=True, help="Open the port that Grafana's boards ask.")
def demo(once: bool, grafana: bool) -> None:
    """
    Show the pages and commands with synthetic requests of a shop that does not exist; needs no database and no cache.

    Starts a collector with its data in a temporary directory, on 127.0.0.1 only: its pages on port 8464, or on a free
    one when that is taken. Runs until Ctrl-C, and removes its data.
    """
    for variable in [each for each in os.environ if each.upper().startswith("WALLTIME_")]:
        del os.environ[variable]  # nothing of the demo may reach a collector or a database of this machine's settings
    write("Walltime demo: every request is synthetic, of a shop that does not exist. Nothing of it was measured.\n\n")
    from ...config.logs import log_to_stderr
    from ...config.settings import Settings
    from ...serve import Running, serve

    log_to_stderr("plain")
    logging.getLogger().setLevel(logging.WARNING)
    failures: list[Exception] = []
    with tempfile.TemporaryDirectory(prefix="walltime-demo-") as folder:
        slow_log = Path(folder) / "slow.log"
        slow_log.touch()
        # free ports for OTLP: no bill of a real application may come among the synthetic ones
        ports = {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0", "web": f"127.0.0.1:{_free_or_any(_WEB_PORT)}"}
        options = {"slow_log": (f"mysql01:3306={slow_log}",), "segment_age_s": 0.5, "incidents": False}
        if grafana:
            ports["clickhouse_http"] = f"127.0.0.1:{_free_or_any(_CLICKHOUSE_PORT)}"
        settings = Settings(data=Path(folder) / "data", **ports, **options)  # type: ignore[arg-type]

        ready: Queue[Running] = Queue()

        def announce(running: Running) -> None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            asyncio.get_running_loop().call_later(_LATER_S, ready.put, running)  # a Ctrl-C that waited comes first

        def tell() -> None:
            story, running = _Story(slow_log), ready.get()  # both take seconds, side by side
            try:
                story.tell(running.addresses, running.engine, once=once)
            except Exception as error:  # noqa: BLE001  raised below, in the main thread
                failures.append(error)
            if running.is_stopping():
                failures.clear()  # its ports are closed, and that was the error
            else:
                running.stop()

        # a Ctrl-C waits until the start is over; the database's process, which inherits this, ends with the collector
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        threading.Thread(target=tell, daemon=True).start()
        serve(settings, announce=announce)
    if failures:
        raise CommandFailed(f"the demo ended: {printable(str(failures[0]))}") from failures[0]


def _free_or_any(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port


class _Story:
    """Sends the requests before the restart and after it, then those of now."""

    def __init__(self, slow_log: Path) -> None:
        from .shop import Shop

        self._restarted_s = int(time.time()) - _AFTER_S
        self._shop = Shop((self._restarted_s - _BEFORE_S) * _S, self._restarted_s * _S)
        self._slow_log = slow_log
        self._sent = 0
        self._past = self._bodies()

    def tell(self, addresses: Mapping[str, str], engine: Engine, *, once: bool) -> None:
        self._client = Client(f"http://{addresses['web']}")
        self._otlp_url = f"http://{addresses['http']}/v1/traces"
        write(f"{self._client.url}/  the pages\n")
        if port := addresses.get("clickhouse", "").rpartition(":")[2]:
            write(
                f"\nGrafana's data source ClickHouse: server address 127.0.0.1, port {port}, protocol HTTP, default"
                " database walltime; no user, no password.\n"
                f"Import dashboards/generated/*.json; Walltime's pages are {self._client.url}\n"
            )
        self._send(self._past)
        self._observe(engine)
        self._wait_until_stored()
        self._explain()
        while not once:
            time.sleep(_EVERY_S)
            self._send(self._bodies())
            self._observe(engine)

    def _bodies(self) -> list[bytes]:
        """OTLP requests with all that the shop did until now, since the last time."""
        from ..otlp import export_request
        from .shop import REPORTS, RESOURCE, SERVICE

        requests = list(self._shop.requests(time.time_ns()))
        bodies = []
        for service, host, at in product(
            (SERVICE, REPORTS), ("web-1", "web-2"), range(0, len(requests), _REQUESTS_OF_A_BODY)
        ):
            some = requests[at + (host == "web-1") : at + _REQUESTS_OF_A_BODY : 2]
            spans = [span for each in some if each.service == service for span in each.spans()]
            bodies.append(export_request({**RESOURCE, "service.name": service, "host.name": host}, spans))
            self._sent += len(spans)
        return bodies

    def _send(self, bodies: list[bytes]) -> None:
        for body in bodies:
            status, _ = self._client.send_otlp(self._otlp_url, body, "")
            if status != 200:
                raise CommandFailed(f"the collector answered {status}")
        with self._slow_log.open("a") as log:
            log.writelines(self._shop.slow_log)
        self._shop.slow_log.clear()

    def _observe(self, engine: Engine) -> None:
        """Store what the caches and the database would have answered."""
        from .caches import rows_of_caches
        from .database import rows_of_database

        said = {
            **rows_of_caches(self._shop.lookups, self._restarted_s),
            **rows_of_database(self._shop.queries, self._restarted_s),
        }
        for table, rows in said.items():
            engine.insert_rows(table, b"".join(json.dumps(row).encode() + b"\n" for row in rows), uuid.uuid4().hex)
        self._shop.lookups.clear()
        self._shop.queries.clear()

    def _wait_until_stored(self) -> None:
        deadline_s = time.monotonic() + _STORED_WITHIN_S
        while (stored := self._client.get("/healthz")["spans"]["stored"]) < self._sent:
            if time.monotonic() > deadline_s:
                raise CommandFailed(f"{stored} of {self._sent} spans were stored within {_STORED_WITHIN_S} s")
            time.sleep(0.05)

    def _explain(self) -> None:
        from ...query.why.answer import Why
        from ...query.windows import Window, written
        from ..why import render
        from .shop import RESTARTED, STORY

        restart_ns = self._restarted_s * _S
        during = written(Window(restart_ns, restart_ns + 60 * _S))
        against = written(Window(restart_ns - 600 * _S, restart_ns))
        why = ["walltime", "why", STORY, "--during", during, "--against", against]
        write(f"\n{RESTARTED} was restarted at {during.partition('..')[0]}, and was empty then.\n")
        write("Commands to try in another terminal:\n\n")
        for command in (["walltime", "top"], ["walltime", "advise"], why):
            write(f"  {shlex.join([*command, '--url', self._client.url])}\n")
        write(f"\n$ {shlex.join(why)}\n")
        answer = read_as(Why, self._client.get("/api/why", kind=STORY, during=during, against=against, since="1h"))
        print_rendered(lambda console: render(answer, console))
        write(f"\n{self._client.page(addresses.of_why(answer))}  the same on its page\n")
        write("Requests keep coming, and the cache fills again. Ctrl-C ends the demo and removes its data.\n")
        sys.stdout.flush()
