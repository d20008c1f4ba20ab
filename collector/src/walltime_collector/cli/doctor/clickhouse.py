"""`walltime doctor --clickhouse`: checks a ClickHouse server before a collector uses it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from ...clickhouse.dialect import QUERY_FORMAT, QUERY_LIMITS, error_code, read_rows
from ...clickhouse.engine import Rows
from ...clickhouse.inserts import insert_settings
from ...clickhouse.opening import open_engine
from ...clickhouse.server.client import ClientTls, connect
from ...clickhouse.server.engine import ServerEngine, message
from ...config.settings import Settings
from ...errors import CollectorError, MigrationFailed
from ...format import plural, size
from ...health.checks import Check
from ...query.top import top
from ...spool.segment import Record
from .canary import SERVICE, hatch
from .cluster import Node, check_cluster, check_node, check_tokens

OLDEST = (26, 1)
"""Older servers refuse the tables: `min_columns_to_activate_adaptive_write_buffer` is a setting of theirs."""
OLDEST_FOR_SQL = (26, 8)
"""`parseQueryToJSON`, with which statements of users are checked."""
_MAX_SKEW_S, _MAX_HARMLESS_SKEW_S = 10.0, 1.0
_MIN_FREE_SHARE = 0.1
_ACCESS_DENIED = 497
_TOKENS = (
    "SELECT name, toUInt64OrZero(extract(engine_full, 'replicated_deduplication_window = ([0-9]+)')) AS tokens"
    " FROM system.tables WHERE database = {database:String}"
    " AND engine_full LIKE '%replicated_deduplication_window = %'"
)
_COLLECTORS = "SELECT uniqExact(collector) AS n FROM {database:Identifier}.walltime_health WHERE minute > now() - 3600"
_GRANTS = "GRANT CREATE, DROP, ALTER, SELECT, INSERT ON walltime*.* TO {user}; docs/cluster.md has those of a cluster"


@dataclass(frozen=True)
class ServerExamination:
    """The checks of one server; one is left out when one before it that it needs has failed."""

    url: str
    is_ok: bool
    checks: tuple[Check, ...]


def examine_servers(settings: Settings, urls: Sequence[str]) -> tuple[ServerExamination, ...]:
    """
    Check each server with the user, the TLS files and the cluster of the settings.

    Raises:
        SettingsRefused: An address or a TLS file cannot be used.
    """
    examinations, nodes = [], list[Node]()
    for url in urls:
        server = _Server(settings.model_copy(update={"clickhouse": url}))
        checks = tuple(server.checks(nodes))
        examinations.append(ServerExamination(url, all(check.level != "FAIL" for check in checks), checks))
    return tuple(examinations)


class _Server:
    _client: Client

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._database = f"walltime_doctor_{os.urandom(4).hex()}"
        self._engine = cast(ServerEngine, open_engine(settings.model_copy(update={"database": self._database})))

    def checks(self, others: list[Node]) -> Iterator[Check]:
        """Run the checks one after the other; this server is added to `others`."""
        yield (connection := self._check_connection())
        if connection.level == "FAIL":
            return
        checks: dict[str, Callable[[], Check]] = {
            "version": self._check_version,
            "clock": self._check_clock,
            "time zone": self._check_timezone,
            "settings": self._check_settings,
            "disk": self._check_disk,
        }
        if self._settings.cluster:
            checks |= {
                "keeper": self._check_keeper,
                "cluster": self._check_cluster,
                "nodes": lambda: self._check_nodes(others),
            }
        failed = set()
        for name, check in checks.items():
            yield (one := _guarded(name, check))
            if one.level == "FAIL":
                failed.add(name)
        if not failed & {"version", "settings", "keeper", "cluster", "nodes"}:
            yield from self._try()

    def _rows(self, sql: str, parameters: dict[str, str] | None = None) -> Rows:
        return read_rows(self._client.raw_query(sql, parameters, fmt=QUERY_FORMAT, use_database=False))

    def _check_connection(self) -> Check:
        given, started_s = self._settings, time.monotonic()
        files = given.clickhouse_certificate, given.clickhouse_key
        tls = ClientTls(given.clickhouse_ca, given.clickhouse_verify, *files)
        user, timeout_s = given.clickhouse_user, given.clickhouse_timeout_s
        try:
            password = given.secret("clickhouse_password")
            self._client = connect(given.clickhouse, user=user, password=password, timeout_s=timeout_s, tls=tls)
        except Exception as error:  # noqa: BLE001  whatever listens there may answer anything
            advice = "check address (8123 is the HTTP port), WALLTIME_CLICKHOUSE_USER and its password or certificate"
            return Check("connection", "FAIL", message(error), advice)
        took_ms = (time.monotonic() - started_s) * 1000
        return Check("connection", "OK", f"answers as user {user} in {took_ms:.0f} ms")

    def _check_version(self) -> Check:
        version = str(self._client.server_version)
        major_minor = tuple(int(part) for part in version.split(".")[:2])
        if major_minor < OLDEST:
            what = f"{version} refuses the tables, which need {OLDEST[0]}.{OLDEST[1]}: all data stays in the spool"
            return Check("version", "FAIL", what, "upgrade ClickHouse, or use the embedded engine")
        if major_minor < OLDEST_FOR_SQL:
            what = f"{version}: walltime sql, the page SQL and clickhouse_http refuse all statements"
            return Check("version", "WARN", what, f"they need {OLDEST_FOR_SQL[0]}.{OLDEST_FOR_SQL[1]}; all else works")
        return Check("version", "OK", version)

    def _check_clock(self) -> Check:
        before_ns = time.time_ns()
        theirs_ns = int(self._rows("SELECT toUnixTimestamp64Nano(now64(9)) AS ns")[0]["ns"])
        skew_s = max(before_ns - theirs_ns, theirs_ns - time.time_ns(), 0) / 1e9
        if skew_s <= _MAX_HARMLESS_SKEW_S:
            return Check("clock", "OK", f"within {max(skew_s, 0.001):.3g} s of this machine's")
        what = f"{skew_s:.1f} s {'behind' if theirs_ns < before_ns else 'ahead of'} this machine's"
        advice = "synchronize both with NTP: transactions of other SDKs are assembled by the server's clock"
        return Check("clock", "FAIL" if skew_s > _MAX_SKEW_S else "WARN", what, advice)

    def _check_timezone(self) -> Check:
        zone = self._zone()
        if zone in ("UTC", "Etc/UTC"):
            return Check("time zone", "OK", zone)
        what = f"{zone}: Walltime's columns are in UTC, now() and times without a zone in your own SQL are not"
        advice = "<timezone>UTC</timezone> in the server's configuration; the days of the cardinality limit begin there"
        return Check("time zone", "WARN", what, advice)

    def _check_settings(self) -> Check:
        sent = {**QUERY_LIMITS, **insert_settings("")}
        settings = self._rows("SELECT name, value, min, max, readonly FROM system.settings")
        known = {row["name"]: row for row in settings}
        if unknown := sorted(sent.keys() - known.keys()):
            what = f"the server does not know the settings {', '.join(unknown)}"
            return Check("settings", "FAIL", what, "upgrade ClickHouse; without them it refuses queries or INSERTs")
        if fixed := sorted(name for name, value in sent.items() if not _may_be(known[name], value)):
            what = f"the profile of {self._settings.clickhouse_user} does not allow to set {', '.join(fixed)}"
            advice = "remove readonly and these constraints from the profile: the collector sets them in each statement"
            return Check("settings", "FAIL", what, advice)
        if older := known["compatibility"]["value"]:
            what = f"compatibility = '{older}' in the profile: functions behave as in that version"
            return Check("settings", "WARN", what, "remove it for the collector's user; Walltime is tested without it")
        if about_tokens := self._check_tokens():
            return about_tokens
        waits = "; its INSERTs switch async_insert off" if known["async_insert"]["value"] not in ("0", "false") else ""
        return Check("settings", "OK", f"the collector may set all {len(sent)} that it sends{waits}")

    def _check_tokens(self) -> Check | None:
        """A warning if a repeated INSERT may be stored twice."""
        versions = self._rows("SELECT value FROM system.server_settings WHERE name = 'insert_deduplication_version'")
        given = {"database": self._settings.database}
        tables = self._rows(_TOKENS, given)
        collectors = 1
        if any(row["name"].startswith("walltime_health") for row in tables):
            collectors = max(int(self._rows(_COLLECTORS, given)[0]["n"]), 1)
        return check_tokens([row["value"] for row in versions], tables, collectors)

    def _check_disk(self) -> Check:
        disks = self._rows("SELECT name, free_space, total_space FROM system.disks ORDER BY free_space / total_space")
        free, total = int(disks[0]["free_space"]), int(disks[0]["total_space"])
        what = f"{size(free)} of {size(total)} free on disk {disks[0]['name']}"
        if free < total * _MIN_FREE_SHARE:
            return Check("disk", "FAIL", what, "free some space: a full disk refuses INSERTs; data stays in the spool")
        return Check("disk", "OK", what)

    def _check_keeper(self) -> Check:
        nodes = self._rows("SELECT count() AS n FROM system.zookeeper WHERE path = '/'")
        return Check("keeper", "OK", f"answers, with {plural(int(nodes[0]['n']), 'node')} at its root")

    def _check_nodes(self, others: list[Node]) -> Check:
        macros = self._rows("SELECT macro, substitution FROM system.macros")
        named = {row["macro"]: row["substitution"] for row in macros}
        here = Node(self._settings.clickhouse, str(self._client.server_version), self._zone(), named)
        check = check_node(here, others)
        others.append(here)
        return check

    def _zone(self) -> str:
        return str(self._rows("SELECT timezone() AS zone")[0]["zone"])

    def _check_cluster(self) -> Check:
        return check_cluster(self._settings.cluster, self._rows("SELECT * FROM system.clusters"))

    def _try(self) -> Iterator[Check]:
        """Do what the collector does, with its own tables, in a database that is removed afterwards."""
        engine, advice = self._engine, _GRANTS.format(user=self._settings.clickhouse_user)
        try:
            try:
                engine.migrate()
            except MigrationFailed as error:
                yield Check("tables", "FAIL", str(error).partition(";")[0], f"if it is a missing right: {advice}")
                return
            except CollectorError as error:
                if error_code(error) == _ACCESS_DENIED:
                    yield _guarded("tables", lambda: self._check_grants(advice))
                else:
                    yield Check("tables", "FAIL", str(error), "see the server's log")
                return
            yield Check("tables", "OK", f"all tables and views were created in {self._database}")
            yield _guarded("once", self._check_once)
            yield _guarded("read", self._check_read)
        finally:
            yield self._remove()
            engine.close()

    def _check_grants(self, advice: str) -> Check:
        """For a user who may not create databases: the collector can use one that exists."""
        database = self._settings.database
        exists = any(row["name"] == database for row in self._rows("SELECT name FROM system.databases"))
        needed = f"CREATE TABLE, CREATE VIEW, ALTER, SELECT, INSERT ON {database}.*"
        if not exists or str(self._client.command(f"CHECK GRANT {needed}", use_database=False)) != "1":
            what = f"may not create databases (code {_ACCESS_DENIED}), nor use the tables of {database}"
            return Check("tables", "FAIL", what, advice)
        return Check("tables", "WARN", f"may not create a database to try; {needed} is granted", f"to try: {advice}")

    def _check_once(self) -> Check:
        canary = hatch()
        request = canary.request()
        record = Record(time.time_ns(), len(request), request)
        stored = []
        for token in ("a", "a", "b"):
            self._engine.insert([record], token)
            counts = self._engine.query(
                "SELECT (SELECT count() FROM transactions) AS bills, (SELECT count() FROM spans) AS calls"
            )[0]
            stored.append((int(counts["bills"]), int(counts["calls"])))
        if stored[0] != (1, 1):
            what = f"an INSERT of one transaction with one call stored {stored[0][0]} and {stored[0][1]}"
            return Check("once", "FAIL", what, "its materialized views did not run; report this, with --json")
        if stored != [(1, 1), (1, 1), (2, 2)]:
            what = f"bills and calls after an INSERT, its repetition, and another: {', '.join(map(str, stored))}"
            advice = "tokens have no effect: data would be stored twice, or lost; remove deduplicate_… from the profile"
            return Check("once", "FAIL", what, advice)
        return Check("once", "OK", "a repeated INSERT was stored once, through the views, and another one beside it")

    def _check_read(self) -> Check:
        answer = top(self._engine, since_s=3600, service=SERVICE)
        if answer.transactions != 2:  # of two tokens
            return Check("read", "FAIL", f"walltime top counts {answer.transactions} of 2", "report this, with --json")
        return Check("read", "OK", "walltime top answers with what was stored")

    def _remove(self) -> Check:
        on_cluster = self._engine.placeholders["{on_cluster}"]
        try:
            self._client.command(f"DROP DATABASE IF EXISTS {self._database}{on_cluster} SYNC", use_database=False)
        except ClickHouseError as error:
            advice = f"DROP DATABASE {self._database}; the collector itself needs no such right"
            return Check("clean up", "WARN", message(error), advice)
        return Check("clean up", "OK", f"{self._database} is removed")


def _may_be(row: Mapping[str, Any], value: str) -> bool:
    if row["readonly"] and row["value"] != value:
        return False
    if not value.isdigit() or (row["min"] is None and row["max"] is None):
        return True
    return float(row["min"] or 0) <= float(value) <= float(row["max"] or "inf")


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    """The check; an error of the server is its failure."""
    try:
        return replace(check(), name=name)
    except Exception as error:  # noqa: BLE001  whatever the network, the client and the server raise
        advice = "SELECT on system.* is needed" if error_code(error) == _ACCESS_DENIED else "see the server's log"
        return Check(name, "FAIL", message(error), advice)
