"""Runs the collector: all ports in one event loop, the rest in threads, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import uvloop

from . import crashpoint
from .build import Collector
from .clickhouse.engine import Engine
from .config.settings import Settings
from .errors import EngineUnavailable, SettingsRefused

log = logging.getLogger(__name__)

_SWEEP_INTERVAL_S = 1.0


class Running(NamedTuple):
    """A collector that accepts requests; other threads may use this."""

    addresses: Mapping[str, str]
    is_stopping: Callable[[], bool]
    stop: Callable[[], object]
    engine: Engine


def _print_ready(running: Running) -> None:
    print("ready", *(f"{name}={address}" for name, address in running.addresses.items()), flush=True)  # noqa: T201


def serve(settings: Settings, announce: Callable[[Running], object] = _print_ready) -> None:
    """
    Run until SIGTERM or Ctrl-C; then stop listening, end running requests, load the spool for `drain_s`, return.

    A second signal ends the process at once with status 1; no acknowledged data is lost.

    Args:
        announce: Called when it accepts requests. By default it prints one line: `ready grpc=127.0.0.1:4317
            http=127.0.0.1:4318 web=127.0.0.1:8464`, with `clickhouse=…` when that port is on.

    Raises:
        CollectorError: It cannot start: SettingsRefused, DirectoryInUse, EngineUnavailable, MigrationFailed.
    """
    crashpoint.armed = settings.crashpoint
    os.umask(0o077)
    try:
        collector = Collector(settings)
    except OSError as error:
        where = settings.where("data", "--data")
        raise SettingsRefused(
            f"{where} {settings.data}: cannot be used: {error.strerror}: {error.filename}; give the collector's user"
            " the right to write there, or choose another directory"
        ) from error
    try:
        collector.engine.migrate()
    except EngineUnavailable as error:
        log.warning("%s; data stays in the spool until the database answers", error)
    collector.start()
    try:
        uvloop.run(_run(collector, announce))
    finally:
        collector.stop()


async def _run(collector: Collector, announce: Callable[[Running], object]) -> None:
    stopping = asyncio.Event()

    def stop() -> None:
        collector.health.stopping()
        if stopping.is_set():
            log.warning("second signal: exiting at once; the spool is loaded at the next start")
            os._exit(1)
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    sweeping = asyncio.create_task(_sweep(collector))
    for port in collector.ports:
        port.start()
    announce(
        Running(
            collector.addresses, stopping.is_set, partial(loop.call_soon_threadsafe, stopping.set), collector.engine
        )
    )
    await stopping.wait()
    await asyncio.gather(*(port.stop() for port in collector.ports))
    sweeping.cancel()


async def _sweep(collector: Collector) -> None:
    """Apply the deadlines of the connections, every second."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_SWEEP_INTERVAL_S)
        for connections in collector.connections:
            try:
                connections.sweep(loop.time())
            except Exception:
                log.exception("closing slow connections failed; next try in a second")
