"""Runs the collector: receivers and web port in one event loop, the loader in a thread, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from typing import Any

import uvloop

from . import crashpoint
from .clickhouse.opening import open_engine
from .clickhouse.retention import keep
from .config.settings import Settings, is_loopback
from .config.tls import Tls
from .errors import EngineUnavailable
from .health.cardinality_limit import CardinalityLimit
from .health.counters import Health
from .health.full_disk import OldestDays
from .health.minutes import HealthMinutes
from .health.status import status
from .health.upkeep import Upkeep
from .health.watch import Watch
from .http.authentication import Access
from .http.body import Arrivals
from .http.ports.connections import Connections
from .http.ports.descriptors import raise_limit
from .http.ports.groups import groups
from .http.ports.http_protocol import HttpLimits, Wording
from .http.ports.listening import listen, listened
from .http.ports.server import HttpServer
from .http.ports.wording import clickhouse_wording, web_wording
from .load.loader import Loader
from .load.poison import Trial
from .otel_transactions.assembler import Assembler
from .receive.answers import otlp_wording
from .receive.cors import origin_pattern, with_cors
from .receive.grpc_server import GrpcServer
from .receive.http2.stream import Limits
from .receive.intake import Intake
from .receive.otlp_grpc import GrpcCall, OtlpGrpc
from .receive.otlp_http import OtlpHttp
from .slowlog.reader import SlowLogReader
from .spool.directory import make_private, room
from .spool.group_commit import GroupCommit
from .spool.reserve import Reserve
from .spool.spool import Spool
from .sql.clickhouse_http import ClickHouseHttp
from .sql.limits import Reading

log = logging.getLogger(__name__)

_SWEEP_EVERY_S = 1.0
_MOST_READ_REQUEST_BYTES = 8 * 1024 * 1024
"""On the web and ClickHouse ports; what each path takes is less."""
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
    descriptors = raise_limit()
    os.umask(0o077)
    access, tls = Access(settings), Tls(settings)
    origins = origin_pattern(settings.cors_allowed_origins)
    may_send = settings.insecure or not access.ingest.is_unset or settings.ingest_client_ca is not None
    may_read = settings.insecure or not access.read.is_unset or settings.read_client_ca is not None
    grpc = listen(settings, "grpc", is_guarded=may_send, guard="WALLTIME_INGEST_TOKEN")
    http = listen(settings, "http", is_guarded=may_send, guard="WALLTIME_INGEST_TOKEN")
    web = listen(settings, "web", is_guarded=may_read, guard="WALLTIME_READ_TOKEN")
    clickhouse = _listen_clickhouse(settings, access) if settings.clickhouse_http else None
    make_private(settings.data, settings.where("data", "--data"))
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
    looks = [CardinalityLimit(engine, health).look]
    if settings.when_disk_full == "drop_oldest_day" and not settings.clickhouse:
        looks.append(OldestDays(engine, health, lambda: room(settings.data)).look)
    upkeep = Upkeep(engine, health, minutes, lambda: keep(engine, settings), looks)
    reading = Reading(engine, settings.database)
    from .web.application import make_app
    from .web.dead_letters import deadletter_routes

    arrivals = Arrivals(
        max_request_bytes=settings.max_request_bytes,
        max_in_flight_bytes=settings.max_in_flight_bytes,
        deadline_s=settings.request_deadline_s,
    )
    in_flight, credential = arrivals.in_flight, access.ingest
    intake = Intake(commit, health, in_flight, credential, max_request_bytes=settings.max_request_bytes)
    senders, readers = groups(settings, health, descriptors)
    otlp_http = OtlpHttp(intake, arrivals, origins)
    receiver = HttpServer(
        "http",
        otlp_http if origins is None else with_cors(otlp_http, origins),
        senders,
        HttpLimits(settings.header_deadline_s, settings.request_deadline_s, settings.max_request_bytes),
        tls=tls.ingest,
        count_refused=intake.count_refused,
        wording=otlp_wording,
        grace_s=_GRACE_S,
    )
    calls: GrpcServer[GrpcCall] = GrpcServer(
        OtlpGrpc(intake, health),
        senders,
        Limits(settings.header_deadline_s, settings.request_deadline_s),
        tls=tls.grpc,
        grace_s=_GRACE_S,
    )

    def reading_port(name: str, app: Any, wording: Wording) -> HttpServer:
        limits = HttpLimits(settings.header_deadline_s, settings.request_deadline_s, _MOST_READ_REQUEST_BYTES)
        count = intake.count_refused
        return HttpServer(
            name, app, readers, limits, tls=tls.read, count_refused=count, wording=wording, grace_s=_GRACE_S
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
    servers: list[tuple[HttpServer | GrpcServer[Any], socket.socket]] = [
        (calls, grpc),
        (receiver, http),
        (reading_port("web", app, web_wording), web),
    ]
    listens = {
        "grpc": f"{tls.scheme}://{listened(grpc)}",
        "http": f"{tls.scheme}://{listened(http)}",
        "web": f"{tls.scheme}://{listened(web)}",
    }
    ready = f"ready grpc={listened(grpc)} http={listened(http)} web={listened(web)}"
    if clickhouse is not None:
        endpoint = _clickhouse_http(reading, settings, access)
        servers.append((reading_port("clickhouse", endpoint, clickhouse_wording), clickhouse))
        ready += f" clickhouse={listened(clickhouse)}"
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
        uvloop.run(_run(servers, [senders, readers], ready, health))
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
    servers: list[tuple[HttpServer | GrpcServer[Any], socket.socket]],
    connections: list[Connections],
    ready: str,
    health: Health,
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
    sweeping = asyncio.create_task(_sweep(connections))
    tasks = [asyncio.create_task(server.serve(sockets=[sock])) for server, sock in servers]
    while not all(server.started for server, _ in servers) and not any(task.done() for task in tasks):
        await asyncio.sleep(0.01)
    sys.stdout.write(ready + "\n")
    sys.stdout.flush()
    await asyncio.gather(*tasks)
    sweeping.cancel()


async def _sweep(connections: list[Connections]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_SWEEP_EVERY_S)
        for each in connections:
            try:
                each.sweep(loop.time())
            except Exception:
                log.exception("closing slow connections failed; it is tried again in a second")


def _clickhouse_http(reading: Reading, settings: Settings, access: Access) -> Any:
    credential = access.clickhouse
    endpoint = ClickHouseHttp(
        reading, credential=credential, database=settings.database, deadline_s=settings.request_deadline_s
    )
    from .web.application import HostCheck

    # who knows the token is no page that pointed its own name at this machine
    return HostCheck(endpoint, (), settings.insecure) if credential.is_unset else endpoint


def _listen_clickhouse(settings: Settings, access: Access) -> socket.socket:
    is_guarded = settings.insecure or not access.clickhouse.is_unset or settings.read_client_ca is not None
    guard = "WALLTIME_CLICKHOUSE_HTTP_TOKEN"
    return listen(settings, "clickhouse_http", is_guarded=is_guarded, guard=guard)
