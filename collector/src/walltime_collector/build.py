"""Builds the collector from its settings: ports, spool, engine and the threads between them, connected."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from functools import partial
from ssl import SSLContext
from typing import Any

from .clickhouse.embedded.damage import DamagedParts
from .clickhouse.opening import open_engine
from .clickhouse.retention import keep
from .config.settings import Settings, is_loopback
from .config.tls import Tls
from .health.cardinality_limit import CardinalityLimit
from .health.counters import Health
from .health.full_disk import OldestDays
from .health.incidents.watch import IncidentWatch
from .health.incidents.webhook import Webhook
from .health.minutes import HealthMinutes, collector_id
from .health.status import status
from .health.upkeep import Upkeep
from .health.watch import Watch
from .http.authentication import Access
from .http.body import Arrivals
from .http.host_check import HostCheck
from .http.ports.connections import Connections
from .http.ports.descriptors import groups, raise_limit
from .http.ports.http_protocol import HttpPort
from .http.ports.listening import listen, listened
from .http.ports.port import Port
from .http.ports.refusals import Wording
from .http.responses import web_wording
from .load.loader import Loader
from .load.otel_transactions.assembler import Assembler
from .load.poison import Trial
from .observe.observer import Observer
from .observe.slowlog.imports import Imports
from .observe.slowlog.reader import SlowLogReader
from .query.incidents.looks import Thresholds
from .receive.cors import origin_pattern, with_cors
from .receive.grpc.calls import Limits as GrpcLimits
from .receive.grpc.connection import Connection as GrpcConnection
from .receive.intake import Intake
from .receive.otlp_grpc import OtlpGrpc
from .receive.otlp_http import OtlpHttp
from .receive.responses import otlp_wording
from .spool.directory import make_private, room
from .spool.group_commit import GroupCommit
from .spool.reserve import Reserve
from .spool.spool import Spool
from .sql.clickhouse_http import ClickHouseHttp
from .sql.clickhouse_http.errors import clickhouse_wording
from .sql.runner import QueryRunner

_MAX_READ_REQUEST_BYTES = 8 * 1024 * 1024
"""On the web and ClickHouse ports; each path has a lower limit of its own."""
_GRACE_S = 3
"""On SIGTERM, running requests have this long to end."""


class Collector:
    """
    All parts of the collector. The ports listen at once; `start` starts the threads.

    ports        not started
    connections  those of the senders' ports, and those of the readers' ports

    Raises:
        CollectorError: It cannot start: SettingsRefused, DirectoryInUse, EngineUnavailable.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings, self.health = settings, (health := Health())
        descriptors = raise_limit()
        self._access, self._tls = Access(settings), (tls := Tls(settings))
        origins = origin_pattern(settings.cors_allowed_origins)
        self._sockets = _listen(settings, self._access)
        make_private(settings.data, settings.where("data", "--data"))
        self.engine = engine = open_engine(settings, health.add)  # it starts in parallel with the lines below
        self._spool = Spool(
            settings.data / "spool",
            max_bytes=settings.max_spool_bytes,
            segment_bytes=settings.segment_bytes,
            segment_age_s=settings.segment_age_s,
        )
        self._commit = GroupCommit(self._spool, partial(health.add, "received"))
        # the spool shares a disk with the embedded engine, not with a server
        shared_disk = (None, None) if settings.clickhouse else (Reserve(settings.data), Trial(settings.data / "trial"))
        self._loader = Loader(self._spool, engine, health, *shared_disk)
        self._slow_logs = SlowLogReader(
            settings.slow_log, settings.data / "slowlog", engine, health, settings.slow_log_always_write_s
        )
        self._observer = Observer(settings, engine, health)
        self._assembler = Assembler(
            engine, health, window_s=settings.derived_window_s, settle_s=settings.derived_settle_s
        )
        self._watch = Watch(settings, self._spool, health, tls)
        self._imports = Imports(settings.data / "slowlog", engine, health)
        checks = [CardinalityLimit(engine, health).look, self._imports.settle]
        if not settings.clickhouse:
            checks.append(DamagedParts(engine, health.damaged).look)
        if settings.when_disk_full == "drop_oldest_day" and not settings.clickhouse:
            checks.append(OldestDays(engine, health, lambda: room(settings.data)).look)
        minutes = HealthMinutes(engine, health, settings.data)
        self._upkeep = Upkeep(engine, health, minutes, lambda: keep(engine, settings), checks)
        self._webhook: Webhook | None = None
        self._incidents = self._watch_for_incidents() if settings.incidents else None
        self._queries = QueryRunner(engine, settings.database)
        arrivals = Arrivals(
            max_request_bytes=settings.max_request_bytes,
            max_in_flight_bytes=settings.max_in_flight_bytes,
            deadline_s=settings.request_deadline_s,
        )
        self._intake = Intake(
            self._commit, health, arrivals.in_flight, self._access.ingest, max_request_bytes=settings.max_request_bytes
        )
        self.connections = groups(settings, health, descriptors)
        self.ports = [*self._ingest_ports(arrivals, origins), *self._read_ports()]

    @property
    def addresses(self) -> dict[str, str]:
        """Where it listens: port name → host:port."""
        return {name: listened(each) for name, each in self._sockets.items()}

    def start(self) -> None:
        """Start the threads."""
        threads = (self._loader, self._slow_logs, self._observer, self._assembler, self._watch, self._upkeep)
        for thread in (*threads, self._webhook, self._incidents):
            if thread is not None:
                thread.start()

    def stop(self) -> None:
        """Stop what writes into the spool, then load what is spooled for at most `drain_s`, then stop the rest."""
        self._queries.close()
        for thread in (self._incidents, self._webhook):
            if thread is not None:
                thread.stop(1)
        self._assembler.stop(1)  # the next run finishes an unfinished window
        self._observer.stop()
        self._slow_logs.stop(5)
        self._intake.close()
        self._commit.close()
        self._loader.stop(self._settings.drain_s)
        self._watch.stop(2)
        self._upkeep.stop(2)  # it stores its last row if the engine accepts it soon
        self._spool.close()
        self.engine.close()

    def _ingest_ports(self, arrivals: Arrivals, origins: re.Pattern[str] | None) -> Iterator[Port]:
        """OTLP over gRPC and over HTTP."""
        settings, tls, (senders, _) = self._settings, self._tls, self.connections
        limits = GrpcLimits(settings.header_deadline_s, settings.request_deadline_s)
        grpc = partial(GrpcConnection, OtlpGrpc(self._intake, self.health), limits)
        yield Port(
            "grpc",
            self._sockets["grpc"],
            senders,
            grpc,
            tls=tls.grpc,
            handshake_s=limits.header_s,
            grace_s=_GRACE_S,
        )
        app: Any = OtlpHttp(self._intake, arrivals, origins)
        if origins is not None:
            app = with_cors(app, origins)
        yield self._http_port("http", app, senders, tls.ingest, settings.max_request_bytes, otlp_wording)

    def _read_ports(self) -> Iterator[Port]:
        """The web port and the ClickHouse HTTP interface."""
        most_bytes, tls, (_, readers) = _MAX_READ_REQUEST_BYTES, self._tls.read, self.connections
        yield self._http_port("web", self._web_application(), readers, tls, most_bytes, web_wording)
        if self._settings.clickhouse_http:
            app = self._clickhouse_application()
            yield self._http_port("clickhouse", app, readers, tls, most_bytes, clickhouse_wording)

    def _http_port(
        self, name: str, app: Any, connections: Connections, tls: SSLContext | None, most_bytes: int, wording: Wording
    ) -> HttpPort:
        return HttpPort(
            name,
            self._sockets[name],
            connections,
            app,
            header_s=self._settings.header_deadline_s,
            request_s=self._settings.request_deadline_s,
            max_request_bytes=most_bytes,
            tls=tls,
            grace_s=_GRACE_S,
            count_refused=self._intake.count_refused,
            wording=wording,
        )

    def _watch_for_incidents(self) -> IncidentWatch:
        settings, health = self._settings, self.health
        if url := settings.secret("incident_webhook"):
            where, format_name = settings.where("incident_webhook"), settings.incident_webhook_format
            pages_url = settings.web_url.rstrip("/") or f"{self._tls.scheme}://{self.addresses['web']}"
            self._webhook = Webhook(url, format_name, health, pages_url, where=where)
        return IncidentWatch(
            self.engine,
            health,
            Thresholds(settings.incident_slower, settings.incident_errors),
            look_s=settings.incident_look_s,
            notify=self._webhook.notify if self._webhook else lambda _: None,
            collector=collector_id(settings.data),
            is_shared=bool(settings.clickhouse),
        )

    def _web_application(self) -> Any:
        from .web.application import make_app  # imported while the engine starts
        from .web.dead_letters import dead_letter_routes
        from .web.plans import plan_routes
        from .web.slow_log import slow_log_routes

        settings, engine, health, access = self._settings, self.engine, self.health, self._access
        otlp_and_web = ("grpc", "http", "web")
        listens = {name: f"{self._tls.scheme}://{self.addresses[name]}" for name in otlp_and_web}
        is_public = not is_loopback(self._sockets["web"].getsockname()[0])
        return make_app(
            engine,
            health,
            self._queries,
            access,
            lambda: status(engine, health, settings, listens),
            dead_letters=self._spool.dead_letters,
            allowed_hosts=settings.allowed_hosts,
            any_address=settings.insecure or is_public,
            more=[
                *dead_letter_routes(self._spool, health, access),
                *slow_log_routes(self._imports, access),
                *plan_routes(self._observer.explainer.explain, access),
            ],
        )

    def _clickhouse_application(self) -> Any:
        credential = self._access.clickhouse
        endpoint = ClickHouseHttp(
            self._queries,
            credential=credential,
            database=self._settings.database,
            deadline_s=self._settings.request_deadline_s,
        )
        # a page that uses DNS rebinding does not know the token
        return HostCheck(endpoint, (), self._settings.insecure) if credential.is_unset else endpoint


def _listen(settings: Settings, access: Access) -> dict[str, socket.socket]:
    """Open the sockets; first of all, so that a wrong address is an error before anything else is changed."""
    ports = {
        "grpc": ("grpc", access.ingest, settings.ingest_client_ca, "WALLTIME_INGEST_TOKEN"),
        "http": ("http", access.ingest, settings.ingest_client_ca, "WALLTIME_INGEST_TOKEN"),
        "web": ("web", access.read, settings.read_client_ca, "WALLTIME_READ_TOKEN"),
    }
    if settings.clickhouse_http:
        guard = "WALLTIME_CLICKHOUSE_HTTP_TOKEN"
        ports["clickhouse"] = ("clickhouse_http", access.clickhouse, settings.read_client_ca, guard)
    return {
        name: listen(
            settings,
            setting,
            is_guarded=settings.insecure or not credential.is_unset or client_ca is not None,
            guard=guard,
        )
        for name, (setting, credential, client_ca, guard) in ports.items()
    }
