"""One server for the tests of a server's answers and those of a cluster's, which one worker runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine

from tests.clickhouse_server import ClickHouseServer
from tests.collector.clickhouse.two_engines import Both, store_everything
from tests.collector.every_question import Questions, ask_by_commands, ask_everything, store_incident
from tests.servers import with_tables

SERVER, CLUSTER = "one_server", "both"
"""Databases of that server; the tables of the second are those of a cluster."""


@pytest.fixture(scope="package")
def shared_clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    with ClickHouseServer(tmp_path_factory.mktemp("clickhouse"), cluster="shop") as server:
        yield server


@pytest.fixture(scope="package")
def server_and_cluster(
    shared_clickhouse: ClickHouseServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Both, Both]]:
    """The embedded engine beside each."""
    embedded = EmbeddedEngine(with_tables(tmp_path_factory.mktemp("embedded")), "walltime")
    others = [shared_clickhouse.engine(SERVER, cluster=""), shared_clickhouse.engine(CLUSTER)]
    engines = (embedded, *others)
    for each in engines:
        each.migrate()
    sent = store_everything(engines)
    incident_id = store_incident(engines, sent)
    server, cluster = (Both(embedded, each, sent, incident_id) for each in others)
    yield server, cluster
    for each in engines:
        each.close()


@pytest.fixture(scope="package")
def by_commands(server_and_cluster: tuple[Both, Both], tmp_path_factory: pytest.TempPathFactory) -> Questions:
    """What the main commands ask of the embedded engine."""
    both, _ = server_and_cluster
    return ask_by_commands(both.embedded, tmp_path_factory.mktemp("data"), both.sent)


@pytest.fixture(scope="package")
def everything(server_and_cluster: tuple[Both, Both], tmp_path_factory: pytest.TempPathFactory) -> Questions:
    """All that is ever asked, which takes 15 s: for nightly tests."""
    both, _ = server_and_cluster
    return ask_everything(both.embedded, tmp_path_factory.mktemp("data"), both.sent, both.incident_id)
