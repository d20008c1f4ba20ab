"""The engine on a server over https, with certificates on both sides, and with compression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from walltime_collector.clickhouse.server.client import ClientTls
from walltime_collector.clickhouse.server.engine import ServerEngine
from walltime_collector.errors import EngineUnavailable, InsertRefused, SettingsRefused

from tests.clickhouse_server import ClickHouseServer
from tests.collector.clickhouse.bad_record import GARBAGE
from tests.collector.clickhouse.two_engines import count, slow_rows, some_records


@dataclass
class Secured:
    """A server with TLS that requires client certificates, and the collector's files for it."""

    clickhouse: ClickHouseServer
    ca: Path
    certificate: Path

    @property
    def tls(self) -> ClientTls:
        return ClientTls(self.ca, certificate=self.certificate)

    def engine(self, tls: ClientTls, **other: str) -> ServerEngine:
        return self.clickhouse.engine(tls=tls, **other)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    ca, server, client = folder / "ca.pem", folder / "server.pem", folder / "client.pem"
    authority.cert_pem.write_to_path(ca)
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(server)
    authority.issue_cert(common_name=ClickHouseServer.user).private_key_and_cert_chain_pem.write_to_path(client)
    with ClickHouseServer(folder / "clickhouse", certificate=server, client_ca=ca) as clickhouse:
        yield Secured(clickhouse, ca, client)


def test_a_private_ca_is_trusted_when_it_is_configured(secured: Secured) -> None:
    engine = secured.engine(secured.tls)
    engine.migrate()
    engine.insert(some_records(seed=1), "over tls")
    assert count(engine) > 0
    engine.close()


def test_a_client_certificate_authenticates_without_a_password(secured: Secured) -> None:
    engine = secured.engine(secured.tls, password="")
    assert engine.query("SELECT 1 AS n") == [{"n": 1}]
    assert secured.clickhouse.seen()["seen"][-1]["user"] == ClickHouseServer.user
    engine.close()
    stranger = secured.engine(secured.tls, password="", user="somebody")
    with pytest.raises(EngineUnavailable, match="cannot connect as somebody: Code: 516"):
        stranger.query("SELECT 1")


def test_an_untrusted_server_gets_no_password(secured: Secured) -> None:
    engine = secured.engine(ClientTls(certificate=secured.certificate))
    with pytest.raises(EngineUnavailable, match="certificate verify failed"):
        engine.query("SELECT 1")
    trusting = secured.engine(ClientTls(verify=False, certificate=secured.certificate))
    assert trusting.query("SELECT 1 AS n") == [{"n": 1}]
    trusting.close()


def test_a_server_that_requires_a_client_certificate_is_unavailable_without_one(secured: Secured) -> None:
    with pytest.raises(EngineUnavailable, match=secured.clickhouse.url):
        secured.engine(ClientTls(secured.ca)).query("SELECT 1")


@pytest.mark.parametrize("broken", ["missing.pem", "empty.pem", "text.pem"])
def test_a_file_without_a_certificate_is_refused_before_connecting(tmp_path: Path, broken: str) -> None:
    (tmp_path / "empty.pem").touch()
    (tmp_path / "text.pem").write_text("no certificate")
    with pytest.raises(SettingsRefused, match=f"WALLTIME_CLICKHOUSE_CA.*{broken}"):
        ClientTls(tmp_path / broken)
    with pytest.raises(SettingsRefused, match=f"WALLTIME_CLICKHOUSE_CA.*{broken}"):
        ClientTls(certificate=tmp_path / broken)


@pytest.mark.nightly
def test_compressed_inserts_are_stored_the_same(secured: Secured) -> None:
    records, rows, ways = some_records(seed=2, visits=100), slow_rows(5), ("none", "gzip", "zstd")
    for compression in ways:
        engine = secured.clickhouse.engine("packed", tls=secured.tls, compression=compression)
        engine.migrate()
        engine.insert(records, f"{compression} spans")
        engine.insert_rows("slow_log_entries", rows, f"{compression} rows")
        assert secured.clickhouse.seen()["seen"][-1]["encoding"] == compression.replace("none", "")
        with pytest.raises(InsertRefused):
            engine.insert([GARBAGE], f"{compression} bad")
    for table in ("transactions", "spans", "slow_queries"):
        stored = engine.query(f"SELECT toString(tuple(*)) AS row, count() AS n FROM {table} GROUP BY row")
        assert {row["n"] for row in stored} == {len(ways)}, table
    engine.close()
