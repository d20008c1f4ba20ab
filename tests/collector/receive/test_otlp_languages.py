"""The stock SDKs of other languages and a stock OpenTelemetry Collector against a collector; nightly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from shop.process import free_port

from tests.collector.receive.language_runs import prepare, run
from tests.collector.receive.taken import Counted
from tests.servers import Collector, eventually

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

BUILDER = "go.opentelemetry.io/collector/cmd/builder@v0.161.0"
SPANS = 1_000


@pytest.mark.parametrize(
    ("tool", "name", "build", "send", "exports"),
    [
        ("npm", "javascript", ("npm", "install", "--no-audit", "--no-fund"), ("node", "send.js"), 5),
        ("go", "go", ("go", "mod", "tidy"), ("go", "run", "."), 4),
        ("mvn", "java", ("mvn", "-q", "-B", "compile"), ("mvn", "-q", "-B", "exec:java"), 4),
    ],
    ids=["javascript", "go", "java"],
)
def test_an_sdk_delivers_every_span(
    receiver: Collector,
    tmp_path: Path,
    tool: str,
    name: str,
    build: tuple[str, ...],
    send: tuple[str, ...],
    exports: int,
) -> None:
    folder = prepare(tool, name, tmp_path)
    run(*build, folder=folder)
    counted = Counted(receiver)
    output = run(*send, folder=folder, GRPC=receiver.grpc, HTTP=receiver.otlp_url, SPANS=str(SPANS))
    assert f"exports {exports}" in output
    assert counted.added() == {"received": exports * SPANS}
    sys.stdout.write(f"\n{name}: {exports} exporters, {exports * SPANS} spans sent, as many received\n")


@contextmanager
def otelcol(program: Path, config: Path, listen: str, receiver: Collector, log: Path) -> Iterator[None]:
    base = receiver.otlp_url.removesuffix("/v1/traces")
    with log.open("wb") as output:
        variables = {"LISTEN": listen, "GRPC": receiver.grpc, "HTTP": base}
        process = subprocess.Popen([program, "--config", config], env=os.environ | variables, stderr=output)
        try:
            eventually(lambda: b"Everything is ready" in log.read_bytes(), 60)
            yield
        finally:
            process.terminate()
            process.wait(20)


def test_a_stock_collector_passes_everything_on(
    receiver: Collector, tmp_path: Path, stock_spans: list[ReadableSpan]
) -> None:
    folder = prepare("go", "otelcol", tmp_path)
    run("go", "install", BUILDER, folder=folder, GOBIN=str(tmp_path), GOFLAGS="-mod=mod")
    run(str(tmp_path / "builder"), "--config", "builder.yaml", folder=folder)
    counted, listen = Counted(receiver), f"127.0.0.1:{free_port()}"
    exporters = 11
    log = tmp_path / "otelcol.log"
    with otelcol(folder / "made" / "otelcol", folder / "config.yaml", listen, receiver, log):
        sender = OTLPSpanExporter(endpoint=listen, insecure=True)
        assert sender.export(stock_spans) is SpanExportResult.SUCCESS
        sender.shutdown()
    assert counted.added() == {"received": exporters * len(stock_spans)}
    assert b"error" not in log.read_bytes().lower()
    sys.stdout.write(f"\notelcol: {exporters} exporters, {exporters * len(stock_spans)} spans sent, as many received\n")
