"""Runs the collector: receivers and web port in one event loop, the loader in a thread, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from typing import Any, Literal

import uvicorn
import uvloop

from . import crashpoint
from .access import Access
from .assemble.assembler import Assembler
from .clickhouse_http import ClickHouseHttp
from .crowded import CrowdedNames
from .directory import make_private, room
from .engine import open_engine
from .errors import EngineUnavailable, SettingsRefused
from .full_disk import OldestDays
from .health import Health
from .health_minutes import HealthMinutes
from .load import Loader
from .reading import Reading
from .receive.arrival import Arrivals
from .receive.connections import Connections
from .receive.grpc_server import GrpcServer
from .receive.http2.stream import Limits
from .receive.http_protocol import guarded
from .receive.intake import Intake
from .receive.otlp_grpc import OtlpGrpc
from .receive.otlp_http import OtlpHttp
from .reserve import Reserve
from .retention import keep
from .settings import Settings, address, is_loopback
from .slowlog.reader import SlowLogReader
from .spool.group_commit import GroupCommit
from .spool.spool import Spool
from .status import status
from .tls import Tls
from .trial import Trial
from .upkeep import Upkeep
from .watch import Watch

log = logging.getLogger(__name__)

_GRACE_S = 3
"""On SIGTERM: requests that run have this long to be answered."""


def serve(settings: Settings) -> None:
    """
    Run until SIGTERM or Ctrl-C; then stop listening, answer what runs, load what is spooled (for `drain_s`), return.

    A second signal ends the process at once, with status 1; nothing acknowledged is lost by it.
    One line on stdout says that it takes requests, and where: `ready grpc=127.0.0.1:4317 http=127.0.0.1:4318
    web=127.0.0.1:8464`, and `clickhouse=…` when that port is on.

    Raises:
        CollectorError: It cannot start: SettingsRefused, DirectoryInUse, EngineUnavailable, MigrationFailed.
    """
    crashpoint.armed = settings.crashpoint
    os.umask(0o077)
    access, tls = Access(settings), Tls(settings)
    may_send = settings.insecure or not access.ingest.is_open or settings.ingest_client_ca is not None
    may_read = settings.insecure or not access.read.is_open or settings.read_client_ca is not None
    grpc = _listen(settings.grpc, "grpc", is_guarded=may_send, guard="WALLTIME_INGEST_TOKEN")
    http = _listen(settings.http, "http", is_guarded=may_send, guard="WALLTIME_INGEST_TOKEN")
    web = _listen(settings.web, "web", is_guarded=may_read, guard="WALLTIME_READ_TOKEN")
    clickhouse = _listen_clickhouse(settings, access) if settings.clickhouse_http else None
    make_private(settings.data)
    health = Health()
    engine = open_engine(settings, health.add)  # it starts beside what follows
    spool = Spool(
        settings.data / "spool",
        max_bytes=settings.max_spool_bytes,
        segment_bytes=settings.segment_bytes,
        segment_age_s=settings.segment_age_s,
    )
    commit = GroupCommit(spool)
    # a server has a disk of its own
    own = (None, None) if settings.clickhouse else (Reserve(settings.data), Trial(settings.data / "trial"))
    loader = Loader(spool, engine, health, *own)
    slow_logs = SlowLogReader(settings.slow_log, settings.data / "slowlog", engine, health)
    assembler = Assembler(engine, health, window_s=settings.foreign_window_s, settle_s=settings.foreign_settle_s)
    watch = Watch(settings, spool, health, tls)
    minutes = HealthMinutes(engine, health, settings.data)
    looks = [CrowdedNames(engine, health).look]
    if settings.when_disk_full == "drop_oldest_day" and not settings.clickhouse:
        looks.append(OldestDays(engine, health, lambda: room(settings.data)).look)
    upkeep = Upkeep(engine, health, minutes, lambda: keep(engine, settings), looks)
    reading = Reading(engine, settings.database)
    from .api import make_app
    from .api_deadletters import deadletter_routes

    arrivals = Arrivals(
        max_request_bytes=settings.max_request_bytes,
        max_in_flight_bytes=settings.max_in_flight_bytes,
        deadline_s=settings.request_deadline_s,
    )
    in_flight, door = arrivals.in_flight, access.ingest
    intake = Intake(commit, health, in_flight, door, max_request_bytes=settings.max_request_bytes)
    connections = _connections(health, settings)
    header_s = settings.header_deadline_s
    protocol = guarded(
        connections, intake.count_refused, header_s=header_s, max_request_bytes=settings.max_request_bytes
    )
    receiver = _server(OtlpHttp(intake, arrivals), tls.ingest, http=protocol)
    calls = GrpcServer(
        OtlpGrpc(intake),
        connections,
        Limits(header_s, settings.request_deadline_s),
        tls=tls.grpc,
        grace_s=_GRACE_S,
    )
    app = make_app(
        engine,
        health,
        reading,
        access,
        lambda: status(engine, health, settings, listens),
        allowed_hosts=settings.allowed_hosts,
        any_address=settings.insecure or not is_loopback(web.getsockname()[0]),
        more=deadletter_routes(spool, health, access),
    )
    pages = _server(app, tls.read)
    servers: list[tuple[uvicorn.Server | GrpcServer[Any], socket.socket]] = [
        (calls, grpc),
        (receiver, http),
        (pages, web),
    ]
    listens = {
        "grpc": f"{tls.scheme}://{_name(grpc)}",
        "http": f"{tls.scheme}://{_name(http)}",
        "web": f"{tls.scheme}://{_name(web)}",
    }
    ready = f"ready grpc={_name(grpc)} http={_name(http)} web={_name(web)}"
    if clickhouse is not None:
        servers.append((_server(_clickhouse_http(reading, settings, access), tls.read), clickhouse))
        ready += f" clickhouse={_name(clickhouse)}"
    try:
        engine.migrate()
    except EngineUnavailable as error:
        log.warning("%s; what arrives is spooled until it answers", error)
    loader.start()
    slow_logs.start()
    assembler.start()
    watch.start()
    upkeep.start()
    try:
        uvloop.run(_run(servers, ready, health))
    finally:
        reading.close()
        assembler.stop()
        slow_logs.stop()
        intake.close()
        commit.close()
        loader.stop(settings.drain_s)
        watch.stop()
        upkeep.stop()
        spool.close()
        engine.close()


async def _run(
    servers: list[tuple[uvicorn.Server | GrpcServer[Any], socket.socket]], ready: str, health: Health
) -> None:
    def stop() -> None:
        health.stopping()
        if servers[0][0].should_exit:
            log.warning("second signal: leaving at once; what is spooled is loaded at the next start")
            os._exit(1)
        for server, _ in servers:
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)
    tasks = [asyncio.create_task(server.serve(sockets=[sock])) for server, sock in servers]
    while not all(server.started for server, _ in servers) and not any(task.done() for task in tasks):
        await asyncio.sleep(0.01)
    sys.stdout.write(ready + "\n")
    sys.stdout.flush()
    await asyncio.gather(*tasks)


def _connections(health: Health, settings: Settings) -> Connections:
    # where only this machine can reach the ports, one address is all its applications
    is_local = all(is_loopback(address.rpartition(":")[0].strip("[]")) for address in (settings.grpc, settings.http))
    most = settings.max_connections
    return Connections(health, most=most, most_per_address=most if is_local else settings.max_connections_per_address)


def _clickhouse_http(reading: Reading, settings: Settings, access: Access) -> Any:
    door = access.clickhouse
    endpoint = ClickHouseHttp(reading, door=door, database=settings.database, deadline_s=settings.request_deadline_s)
    from .api import HostCheck

    # who knows the token is no page that pointed its own name at this machine
    return HostCheck(endpoint, (), settings.insecure) if door.is_open else endpoint


def _listen_clickhouse(settings: Settings, access: Access) -> socket.socket:
    is_guarded = settings.insecure or not access.clickhouse.is_open or settings.read_client_ca is not None
    guard = "WALLTIME_CLICKHOUSE_HTTP_TOKEN"
    return _listen(settings.clickhouse_http, "clickhouse-http", is_guarded=is_guarded, guard=guard)


class _Server(uvicorn.Server):
    """uvicorn, without its hold on the process's signals: there are two of them in the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _server(
    app: Any, tls: ssl.SSLContext | None, *, http: type[asyncio.Protocol] | Literal["httptools"] = "httptools"
) -> uvicorn.Server:
    return _Server(
        uvicorn.Config(
            app,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=_GRACE_S,
            ssl_context_factory=None if tls is None else lambda *_: tls,
            http=http,
        )
    )


def _listen(setting: str, name: str, *, is_guarded: bool, guard: str) -> socket.socket:
    host, port = address(setting, name, is_guarded=is_guarded, guard=guard)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise SettingsRefused(
            f"--{name} {setting}: cannot listen there: {error.strerror}; "
            "stop what listens there, or choose another address (port 0 takes a free one)"
        ) from error


def _name(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
