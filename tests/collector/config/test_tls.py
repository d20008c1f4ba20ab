"""TLS of every port, with a CA of the test: wrong certificates are refused, on both sides."""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from click.testing import CliRunner
from walltime_collector.cli import app
from walltime_collector.config.settings import Settings
from walltime_collector.config.tls import Tls
from walltime_collector.errors import SettingsRefused

from tests.collector.clickhouse.spans import request, span
from tests.servers import PROTOBUF, Collector, eventually

SENDS = """
import json, sys, walltime
for name, settings in json.loads(sys.argv[1]).items():
    walltime.configure(exit_timeout_s=3, service_name="tls", **settings)
    with walltime.transaction(name):
        pass
    walltime.shutdown()
"""


@dataclass
class Secured:
    """A collector all of whose ports speak TLS; senders and askers must show a certificate of `clients`."""

    collector: Collector
    folder: Path
    clients: trustme.CA

    def url(self, port: str) -> str:
        return f"https://{dict(part.split('=') for part in self.collector.ready.split()[1:])[port]}"

    def file(self, name: str) -> str:
        return str(self.folder / name)

    def context(self, certificate: str = "client.pem", **versions: ssl.TLSVersion) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=self.file("ca.pem"))
        if certificate:
            made.load_cert_chain(self.file(certificate))
        for name, version in versions.items():
            setattr(made, name, version)
        return made


def issue(authority: trustme.CA, path: Path, *names: str, **times: Any) -> Path:
    authority.issue_cert(*names, **times).private_key_and_cert_chain_pem.write_to_path(path)
    return path


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    authority, clients = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    clients.cert_pem.write_to_path(folder / "clients.pem")
    trustme.CA().cert_pem.write_to_path(folder / "strangers.pem")
    issue(authority, folder / "server.pem", "127.0.0.1")
    issue(clients, folder / "client.pem", "application@example.org")
    issue(authority, folder / "stranger.pem", "stranger@example.org")
    settings = {
        "tls_certificate": str(folder / "server.pem"),
        "ingest_client_ca": str(folder / "clients.pem"),
        "read_client_ca": str(folder / "clients.pem"),
        "clickhouse_http": "127.0.0.1:0",
    }
    with Collector(folder / "data", **settings) as collector:
        yield Secured(collector, folder, clients)


@pytest.mark.nightly
@pytest.mark.parametrize("port", ["http", "grpc", "web", "clickhouse"])
def test_a_port_accepts_only_tls_1_2_and_later_with_a_known_client_certificate(secured: Secured, port: str) -> None:
    host, _, number = secured.url(port).removeprefix("https://").rpartition(":")

    def spoken(context: ssl.SSLContext) -> str:
        plain = socket.create_connection((host, int(number)), 10)
        with plain, context.wrap_socket(plain, server_hostname=host) as secure:
            # in TLS 1.3 the server looks at our certificate after the handshake is over for us
            secure.sendall(b"GET /none HTTP/1.0\r\n\r\n")
            if not secure.recv(1):
                raise ConnectionError("no answer")
            return str(secure.version())

    assert spoken(secured.context()) == "TLSv1.3"
    assert spoken(secured.context(maximum_version=ssl.TLSVersion.TLSv1_2)) == "TLSv1.2"
    for stranger in ("", "stranger.pem"):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            spoken(secured.context(stranger))
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old = secured.context(minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        spoken(old)
    with socket.create_connection((host, int(number)), 10) as plain:
        plain.settimeout(10)
        plain.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP/1.1 2")


@pytest.mark.nightly
def test_the_sdk_sends_only_to_a_trusted_server(secured: Secured) -> None:
    """Wrong authority, wrong host, no certificate of our own, plain text: lost and counted, never sent otherwise."""
    right = {
        "endpoint": f"{secured.url('http')}/v1/traces",
        "certificate": secured.file("ca.pem"),
        "client_certificate": secured.file("client.pem"),
    }
    cases = {
        "right": right,
        "unknown authority": {**right, "certificate": secured.file("strangers.pem")},
        "authority of the system": {name: right[name] for name in ("endpoint", "client_certificate")},
        "wrong host": {**right, "endpoint": right["endpoint"].replace("127.0.0.1", "localhost")},
        "no certificate": {name: right[name] for name in ("endpoint", "certificate")},
        "plain text": {**right, "endpoint": right["endpoint"].replace("https:", "http:")},
    }
    subprocess.run([sys.executable, "-c", SENDS, json.dumps(cases)], check=True, timeout=60, capture_output=True)
    names = {"sql": "SELECT DISTINCT name FROM transactions WHERE service = 'tls'"}

    def delivered() -> list[list[str]]:
        answer = httpx.post(f"{secured.url('web')}/api/sql", json=names, verify=secured.context(), timeout=30)
        rows: list[list[str]] = answer.json()["rows"]
        return rows

    eventually(delivered)
    assert delivered() == [["right"]]


def test_the_sdk_sends_nothing_to_a_server_with_an_expired_certificate(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    now = datetime.datetime.now(datetime.timezone.utc)
    hours = [now - datetime.timedelta(hours=each) for each in (2, 1)]
    expired = issue(authority, tmp_path / "expired.pem", "127.0.0.1", not_before=hours[0], not_after=hours[1])
    valid = issue(authority, tmp_path / "valid.pem", "127.0.0.1")
    assert got_a_request(valid, tmp_path / "ca.pem")
    assert not got_a_request(expired, tmp_path / "ca.pem")


def got_a_request(certificate: Path, ca: Path) -> bool:
    """Whether our SDK sends to a server that shows this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    got: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                with listener.accept()[0] as plain, context.wrap_socket(plain, server_side=True) as secure:
                    got.append(secure.recv(100))
            except ssl.SSLError:
                continue
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        endpoint = f"https://127.0.0.1:{listener.getsockname()[1]}/v1/traces"
        cases = {"any": {"endpoint": endpoint, "certificate": str(ca)}}
        subprocess.run([sys.executable, "-c", SENDS, json.dumps(cases)], check=True, timeout=60, capture_output=True)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    return any(data.startswith(b"POST") for data in got)


@pytest.mark.nightly
def test_the_commands_check_the_collectors_certificate_and_show_their_own(secured: Secured) -> None:
    trusts = {"SSL_CERT_FILE": secured.file("ca.pem")}
    shows = {"WALLTIME_CLIENT_CERTIFICATE": secured.file("client.pem")}
    for variables, code in (({**trusts, **shows}, 0), (shows, 1), (trusts, 1)):
        environment = {"SSL_CERT_FILE": None, "WALLTIME_CLIENT_CERTIFICATE": None, **variables}
        ended = CliRunner().invoke(app, ["doctor", "--json", "--url", secured.url("web")], env=environment)
        assert ended.exit_code == code, ended.output
        assert ended.stderr == ""


def test_a_renewed_certificate_is_used_without_a_restart_and_a_bad_one_is_not(tmp_path: Path) -> None:
    authority = trustme.CA()
    path = issue(authority, tmp_path / "server.pem", "one.example")
    tls = Tls(Settings(tls_certificate=path))
    assert shown(tls, authority) == "one.example"
    assert not tls.renew()
    issue(authority, path, "two.example")
    assert tls.renew()
    assert shown(tls, authority) == "two.example"
    path.write_text("half a file")
    with pytest.raises(SettingsRefused, match=r"WALLTIME_TLS_CERTIFICATE .*not a usable PEM file"):
        tls.renew()
    assert shown(tls, authority) == "two.example"


def shown(tls: Tls, authority: trustme.CA) -> str:
    """The name in the certificate that a new connection is shown."""
    assert tls.read is not None
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    authority.configure_trust(client)
    left, right = socket.socketpair()
    with left, right:
        thread = threading.Thread(target=lambda: tls.read.wrap_socket(right, server_side=True).close())  # type: ignore[union-attr]
        thread.start()
        with client.wrap_socket(left) as secure:
            certificate = secure.getpeercert()
        thread.join()
    assert certificate is not None
    return str(certificate["subjectAltName"][0][1])


def test_unusable_files_are_an_error_before_any_port_listens(tmp_path: Path) -> None:
    authority = trustme.CA()
    path, other = issue(authority, tmp_path / "a.pem", "a.example"), issue(authority, tmp_path / "b.pem", "b.example")
    key = other.read_text()[: other.read_text().index("-----BEGIN CERTIFICATE")]
    (tmp_path / "b.key").write_text(key)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tls_certificate": tmp_path / "none.pem"}, r"WALLTIME_TLS_CERTIFICATE .*cannot be read: No such file"),
        ({"tls_certificate": path, "tls_key": tmp_path / "b.key"}, r"WALLTIME_TLS_KEY .*not a usable PEM file"),
        ({"tls_certificate": path, "read_client_ca": tmp_path / "b.key"}, r"WALLTIME_READ_CLIENT_CA .*not a usable"),
        ({"ingest_client_ca": path}, "WALLTIME_INGEST_CLIENT_CA: of no use without TLS; set WALLTIME_TLS_CERTIFICATE"),
    ]
    for settings, match in cases:
        with pytest.raises(SettingsRefused, match=match):
            Tls(Settings(**settings))


def test_without_a_certificate_the_ports_use_no_tls() -> None:
    tls = Tls(Settings())
    assert (tls.ingest, tls.grpc, tls.read, tls.scheme) == (None, None, None, "http")
    assert not tls.renew()


@pytest.mark.nightly
def test_spans_over_mutual_tls_are_stored(secured: Secured) -> None:
    body = request(span({"walltime.schema": 1})).SerializeToString()
    url = f"{secured.url('http')}/v1/traces"
    assert httpx.post(url, content=body, headers=PROTOBUF, verify=secured.context(), timeout=30).status_code == 200
    with pytest.raises(httpx.TransportError):
        httpx.post(url, content=body, headers=PROTOBUF, verify=secured.context(""), timeout=30)
