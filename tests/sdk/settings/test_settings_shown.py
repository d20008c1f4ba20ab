"""What the settings of the export, the sample and the redaction do, each shown on what reaches the collector."""

from __future__ import annotations

import gzip
import http.server
import logging
import os
import secrets
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import walltime
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pymemcache.client.base import Client
from shop.services import Memcached

from tests.sdk.clients.http.upstream import certificate_in
from tests.sdk.sink import Sink


def work(name: str = "job") -> None:
    with walltime.transaction(name), walltime.component("step"):
        pass


@dataclass
class Posts:
    """A collector that keeps each POST as it came, over TLS when it is given a context."""

    tls: ssl.SSLContext | None = None
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    clients: list[Any] = field(default_factory=list)
    """The certificates that the clients showed."""

    def __enter__(self) -> Posts:
        posts = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                posts.paths.append(self.path)
                posts.headers.append({name.lower(): value for name, value in self.headers.items()})
                posts.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                if isinstance(self.connection, ssl.SSLSocket):
                    posts.clients.append(self.connection.getpeercert())
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None: ...

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.address = f"127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def posts() -> Iterator[Posts]:
    with Posts() as running:
        yield running


@pytest.mark.setting("enabled")
def test_switched_off_nothing_is_measured_and_nothing_is_sent(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, enabled=False)
    with walltime.transaction("job"):
        assert walltime.summary() == ""
        assert walltime.current().request_id == ""
    assert sink.transactions() == []


@pytest.mark.setting("service_name")
def test_the_service_goes_by_its_name(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=from-attributes,service.version=7")
    walltime.configure(endpoint=sink.endpoint)
    work()
    walltime.configure(endpoint=sink.endpoint, service_name="shop")
    work()
    resources = [span.resource for span in sink.wait_for(2)]
    assert [each["service.name"] for each in resources] == ["from-attributes", "shop"]
    assert [each["service.version"] for each in resources] == ["7", "7"]


@pytest.mark.setting("endpoint")
def test_the_endpoint_is_where_it_is_sent_with_its_login(posts: Posts, caplog: pytest.LogCaptureFixture) -> None:
    walltime.configure(endpoint=f"http://me:s3cr3t%21@{posts.address}/own/path")
    work()
    assert walltime.flush(5)
    assert posts.paths == ["/own/path"]
    assert posts.headers[0]["authorization"] == "Basic bWU6czNjcjN0IQ=="
    walltime.configure(endpoint="http://me:s3cr3t@127.0.0.1:9/x")
    work()
    assert not walltime.flush(1)
    assert "http://127.0.0.1:9/x" in caplog.text
    assert "s3cr3t" not in caplog.text


@pytest.mark.setting("protocol")
def test_protobuf_over_http_is_what_is_spoken_whatever_is_asked_for(
    posts: Posts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    walltime.configure(endpoint=f"http://{posts.address}/v1/traces")
    work()
    assert walltime.flush(5)
    assert posts.headers[0]["content-type"] == "application/x-protobuf"
    assert ExportTraceServiceRequest.FromString(posts.bodies[0]).resource_spans
    assert "only http/protobuf is spoken" in caplog.text


@pytest.mark.setting("headers")
def test_headers_go_with_every_export(posts: Posts) -> None:
    walltime.configure(endpoint=f"http://{posts.address}/v1/traces", headers={"X-Tenant": "shop"})
    for _ in range(2):
        work()
        assert walltime.flush(5)
    assert [headers["x-tenant"] for headers in posts.headers] == ["shop", "shop"]


@pytest.mark.setting("gzip")
def test_exports_are_compressed_when_asked(posts: Posts) -> None:
    walltime.configure(endpoint=f"http://{posts.address}/v1/traces", gzip=True)
    work("compressed")
    assert walltime.flush(5)
    assert posts.headers[0]["content-encoding"] == "gzip"
    assert b"compressed" in gzip.decompress(posts.bodies[0])


@pytest.mark.setting("timeout_s")
def test_a_collector_that_does_not_answer_in_time_is_one_that_cannot_be_reached(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        walltime.configure(endpoint=endpoint, timeout_s=0.2)
        work()
        assert not walltime.flush(2)
        assert "timed out" in caplog.text.lower() or "Timeout" in caplog.text


def server_context(certificate: Path, key: Path, clients_by: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients_by is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients_by)
    return context


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    made: dict[str, tuple[Path, Path]] = {}

    def of(name: str) -> tuple[Path, Path]:
        if name not in made:
            made[name] = certificate_in(tmp_path_factory.mktemp(name))
        return made[name]

    return of


Certificates = Callable[[str], tuple[Path, Path]]


@pytest.mark.setting("certificate")
def test_a_collector_is_trusted_by_its_authority_and_by_no_other(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = certificates("server")
    with Posts(tls=server_context(certificate, key)) as posts:
        endpoint = f"https://{posts.address}/v1/traces"
        walltime.configure(endpoint=endpoint)
        work("untrusted")
        assert not walltime.flush(1)
        assert posts.bodies == []
        assert "certificate verify failed" in caplog.text.lower()
        walltime.configure(endpoint=endpoint, certificate=str(certificate), exit_timeout_s=0.1)
        work("trusted")
        assert walltime.flush(5)
        assert len(posts.bodies) == 1
        assert b"untrusted" not in posts.bodies[0]


@pytest.mark.setting("client_certificate")
@pytest.mark.setting("client_key")
def test_a_collector_that_asks_for_our_certificate_gets_it(certificates: Certificates, tmp_path: Path) -> None:
    certificate, key = certificates("server")
    mine, my_key = certificates("client")
    both = tmp_path / "both.pem"
    both.write_text(mine.read_text() + my_key.read_text())
    with Posts(tls=server_context(certificate, key, clients_by=mine)) as posts:
        told: dict[str, Any] = {"endpoint": f"https://{posts.address}/v1/traces", "certificate": str(certificate)}
        pair: dict[str, Any] = {"client_certificate": str(mine), "client_key": str(my_key)}
        for shown in (pair, {"client_certificate": str(both)}):
            walltime.configure(**told, **shown)
            work()
            assert walltime.flush(5)
        assert [each["subject"] for each in posts.clients] == [((("commonName", "127.0.0.1"),),)] * 2
        walltime.configure(**told)
        work()
        assert not walltime.flush(1)
        assert len(posts.bodies) == 2


def test_a_certificate_that_cannot_be_used_is_told_when_it_is_configured(
    certificates: Certificates, tmp_path: Path
) -> None:
    mine, my_key = certificates("client")
    encrypted = tmp_path / "encrypted.pem"
    subprocess.run(
        ["openssl", "pkey", "-in", my_key, "-aes128", "-passout", "pass:secret", "-out", encrypted], check=True
    )
    faults: list[tuple[dict[str, Any], str]] = [
        ({"certificate": "/no/such/file"}, "certificate '/no/such/file' cannot be used"),
        ({"certificate": str(my_key)}, "cannot be used"),
        (
            {"client_certificate": str(mine), "client_key": str(encrypted)},
            "cannot be used",
        ),  # asks nobody for a password
        ({"client_key": str(my_key)}, "has no client_certificate"),
    ]
    for given, says in faults:
        with pytest.raises(walltime.SettingsError, match=says):
            walltime.configure(endpoint="https://127.0.0.1:1/v1/traces", **given)
        walltime.configure(endpoint="http://127.0.0.1:1/v1/traces", **given)  # nobody asks for it there


@pytest.mark.setting("export_delay_s")
def test_a_transaction_waits_for_its_export_and_no_longer(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, export_delay_s=30)
    work()
    assert walltime.flush(5)  # its thread has begun
    time.sleep(0.2)  # and waits for the next time: a flush that it saw early wakes it once more
    work()
    work()
    time.sleep(0.3)
    assert len(sink.requests) == 1
    walltime.configure(endpoint=sink.endpoint, export_delay_s=0.01)
    work()
    deadline_s = time.monotonic() + 10
    while len(sink.requests) < 3 and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert len(sink.requests) == 3, "nobody asked for it"


@pytest.mark.setting("exit_timeout_s")
@pytest.mark.parametrize(("exit_timeout_s", "least_s"), [(0.0, 0.0), (1.2, 1.1)])
def test_the_exit_waits_so_long_for_the_last_export_and_no_longer(exit_timeout_s: float, least_s: float) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=16) as silent:
        program = f"""
import atexit, time
began = []
atexit.register(lambda: print(time.monotonic() - began[0], flush=True))  # runs after walltime's
import walltime
endpoint = "http://127.0.0.1:{silent.getsockname()[1]}/x"
walltime.configure(endpoint=endpoint, exit_timeout_s={exit_timeout_s}, timeout_s=1000)
with walltime.transaction("job"): pass
began.append(time.monotonic())
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert least_s <= float(done.stdout) < 100  # of the 1,000 s for which the export itself may wait


@pytest.mark.setting("sample_probability")
def test_so_large_a_share_has_its_calls_kept(sink: Sink) -> None:
    for probability in (0.0, 1.0, 0.5):
        walltime.configure(endpoint=sink.endpoint, sample_probability=probability)
        for _ in range(200):
            work(str(probability))
    walltime.flush(5)
    kept: dict[str, int] = {}
    for each in sink.wait_for(600):
        assert each.attributes["walltime.sample_probability"] == float(each.span.name)
        kept[each.span.name] = kept.get(each.span.name, 0) + (each.attributes.get("walltime.kept") == "random")
    assert (kept["0.0"], kept["1.0"]) == (0, 200)
    assert 50 < kept["0.5"] < 150  # 10 standard deviations


@pytest.mark.setting("raw_keys")
@pytest.mark.setting("key_salt")
def test_keys_are_hashed_with_the_salt_unless_they_may_be_raw(
    sink: Sink, memcached: tuple[Memcached, Memcached]
) -> None:
    def key(**settings: Any) -> str:
        walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, **settings)
        walltime.instrument()
        client = Client(("127.0.0.1", memcached[0].port))
        with walltime.transaction(name := secrets.token_hex(4)):
            client.get("product:42")
        client.close()
        (trace,) = [each.span.trace_id for each in sink.transactions() if each.span.name == name]
        (call,) = [each for each in sink.calls("memcache.get") if each.span.trace_id == trace]
        return str(call.attributes["walltime.memcache.key"])

    assert key(raw_keys=True) == "product:42"
    one, same, other = key(key_salt="a"), key(key_salt="a"), key(key_salt="b")
    assert one == same != other
    assert {each[:9] for each in (one, other, key())} == {"product:#"}
    assert len({one, other, key(), key()}) == 4, "without a salt each process has its own"


@pytest.mark.setting("hash_user_ids")
def test_user_ids_are_hashed_when_asked(sink: Sink) -> None:
    for hashed in (False, True, True):
        walltime.configure(endpoint=sink.endpoint, hash_user_ids=hashed, key_salt="salt")
        with walltime.transaction("job") as transaction:
            transaction.set_user("alice")
    raw, one, same = (each.attributes["user.id"] for each in sink.wait_for(3))
    assert raw == "alice"
    assert one == same != raw
    assert one.startswith("#")


@pytest.mark.setting("denied_annotations")
def test_annotations_whose_names_promise_a_secret_are_not_told(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, denied_annotations=("plate",))
    with walltime.transaction("job") as transaction:
        transaction.annotate("licensePlate", "B-XY 1234")
        transaction.annotate("password", "s3cr3t")
        transaction.annotate("template", "cart")
    told = sink.transaction().attributes
    assert (told["licensePlate"], told["password"], told["template"]) == ("(redacted)", "(redacted)", "cart")


def test_what_is_read_from_the_environment_does_the_same(sink: Sink) -> None:
    program = "import walltime\nwith walltime.transaction('from the environment'): pass"
    environment = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": sink.endpoint.removesuffix("/v1/traces"),
        "OTEL_SERVICE_NAME": "env",
        "OTEL_TRACES_SAMPLER": "always_on",
    }
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=30)
    (found,) = sink.transactions()
    assert found.resource["service.name"] == "env"
    assert found.attributes["walltime.kept"] == "random"


def test_nothing_of_this_logs_what_is_secret(posts: Posts, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        settings = walltime.configure(
            endpoint=f"http://{posts.address}/x", headers={"authorization": "s3cr3t"}, key_salt="s3cr3t"
        )
        work()
        assert walltime.flush(5)
    assert "s3cr3t" not in caplog.text
    assert "s3cr3t" not in repr(settings)
