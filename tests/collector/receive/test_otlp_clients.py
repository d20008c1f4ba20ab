"""Python's stock exporters against a collector; those of other languages are in test_otlp_languages.py."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest
import trustme
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tests.collector.receive.taken import Counted
from tests.servers import Collector


def span_exporter(protocol: str, receiver: Collector) -> SpanExporter:
    if protocol.startswith("grpc"):
        compression = grpc.Compression.Gzip if protocol.endswith("gzip") else None
        return GrpcSpanExporter(endpoint=receiver.grpc, insecure=True, compression=compression)
    gzip = Compression.Gzip if protocol.endswith("gzip") else Compression.NoCompression
    return HttpSpanExporter(endpoint=receiver.otlp_url, compression=gzip)


@pytest.mark.parametrize("protocol", ["grpc", "grpc gzip", "http", "http gzip"])
def test_pythons_exporter_delivers_every_span(
    receiver: Collector, protocol: str, stock_spans: list[ReadableSpan]
) -> None:
    counted, exporter = Counted(receiver), span_exporter(protocol, receiver)
    assert exporter.export(stock_spans) is SpanExportResult.SUCCESS
    assert exporter.export(stock_spans[:1]) is SpanExportResult.SUCCESS
    exporter.shutdown()
    assert counted.added() == {"received": len(stock_spans) + 1}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_pythons_metrics_exporter_logs_nothing(
    receiver: Collector, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    counted = Counted(receiver)
    exporter: MetricExporter = (
        GrpcMetricExporter(endpoint=receiver.grpc, insecure=True)
        if protocol == "grpc"
        else HttpMetricExporter(endpoint=receiver.otlp_url.replace("traces", "metrics"))
    )
    provider = MeterProvider([PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)])
    provider.get_meter("m").create_counter("sold").add(1)
    with caplog.at_level(logging.WARNING):
        assert provider.force_flush()
        provider.shutdown()
    assert caplog.records == []
    assert counted.added()["not_stored_metrics"] >= 1


@dataclass
class Guarded:
    """A collector that requires a token and TLS."""

    collector: Collector
    ca: Path
    token: str

    def received(self) -> int:
        url = self.collector.web_url.replace("http:", "https:")
        trusting = ssl.create_default_context(cafile=self.ca)
        return int(httpx.get(f"{url}/healthz", verify=trusting, timeout=20).json()["spans"]["received"])


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    authority, token = trustme.CA(), "a-token-for-the-senders"
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("127.0.0.1", "localhost").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    settings = {"tls_certificate": str(folder / "server.pem"), "ingest_token": token}
    with Collector(folder / "data", **settings) as collector:
        yield Guarded(collector, folder / "ca.pem", token)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_pythons_exporter_delivers_over_tls_with_its_token_and_nothing_without(
    guarded: Guarded,
    protocol: str,
    stock_spans: list[ReadableSpan],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # requests prefers them to its own parameter
        monkeypatch.delenv(name, raising=False)

    def exporter(token: str) -> SpanExporter:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        if protocol == "grpc":
            credentials = grpc.ssl_channel_credentials(guarded.ca.read_bytes())
            endpoint = f"https://{guarded.collector.grpc}"
            return GrpcSpanExporter(endpoint=endpoint, credentials=credentials, headers=headers)
        endpoint = guarded.collector.otlp_url.replace("http:", "https:")
        return HttpSpanExporter(endpoint=endpoint, certificate_file=str(guarded.ca), headers=headers)

    before = guarded.received()
    for wrong in ("", "not-the-token", guarded.token + "x"):
        refused = exporter(wrong)
        assert refused.export(stock_spans[:3]) is SpanExportResult.FAILURE
        refused.shutdown()
    assert guarded.received() == before
    assert any("UNAUTHENTICATED" in record.getMessage() or "401" in record.getMessage() for record in caplog.records)
    right = exporter(guarded.token)
    assert right.export(stock_spans[:3]) is SpanExportResult.SUCCESS
    right.shutdown()
    assert guarded.received() == before + 3
    assert guarded.token not in guarded.collector.log()


def test_a_tls_port_does_not_answer_a_client_without_tls(guarded: Guarded, stock_spans: list[ReadableSpan]) -> None:
    plain = GrpcSpanExporter(endpoint=guarded.collector.grpc, insecure=True, timeout=1)
    assert plain.export(stock_spans[:1]) is SpanExportResult.FAILURE
    plain.shutdown()
    with pytest.raises(httpx.TransportError):
        httpx.post(guarded.collector.otlp_url, content=b"", timeout=10)
