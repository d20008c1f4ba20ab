"""/metrics: the counters in the text format of Prometheus, or OpenMetrics if the request accepts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from .counters import DESCRIPTIONS, REASONS, Health

_SPANS = {
    "received": "spans in accepted requests, or on disk at the start",
    "stored": "spans in the database",
    "rejected": "spans refused one by one because of invalid ids",
    "lost": "spans lost, in damaged bytes of the spool or because dead/ was full",
}


class Metrics:
    """The Prometheus registry; label values are constants of the code, and paths and servers from the settings."""

    def __init__(self, health: Health) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_HealthCollector(health))
        ProcessCollector(registry=self._registry)

    def render(self, accept: str) -> tuple[bytes, str]:
        """The document, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


class _HealthCollector(Collector):
    def __init__(self, health: Health) -> None:
        self._health = health

    def collect(self) -> Iterable[Metric]:
        report = self._health.report()
        yield InfoMetricFamily("walltime_build", "version of the collector", {"version": version("walltime-collector")})
        yield from _spans(report["spans"])
        yield from _counts(report["counts"])
        for name, value in report["gauges"].items():
            seconds = name.removesuffix("_s") + "_seconds" if name.endswith("_s") else name
            yield GaugeMetricFamily(f"walltime_{seconds}", _GAUGES.get(name, name), value)
        yield GaugeMetricFamily("walltime_start_time_seconds", "when the collector started", report["started_s"])
        yield GaugeMetricFamily("walltime_ok", "1 while data moves", int(report["ok"]))
        yield GaugeMetricFamily("walltime_ready", "1 while data is accepted", int(report["ready"]))
        present = {trouble["reason"] for trouble in report["troubles"]}
        trouble = GaugeMetricFamily("walltime_trouble", "1 while this keeps data from moving", labels=["reason"])
        for reason in REASONS:
            trouble.add_metric([reason], int(reason in present))
        yield trouble
        logs = GaugeMetricFamily(
            "walltime_slow_log_ok", "1 while this slow log can be read and stored", labels=["path"]
        )
        for path, error in report["slow_logs"].items():
            logs.add_metric([path], int(not error))
        yield logs
        servers = GaugeMetricFamily("walltime_server_ok", "1 while this observed server answers", labels=["server"])
        for name, (error, _) in report["servers"].items():
            servers.add_metric([name], int(not error))
        yield servers


_GAUGES = {
    "spool_bytes": "bytes that wait on disk",
    "spool_limit_bytes": "limit of the bytes that wait on disk",
    "spool_oldest_s": "age of the oldest data that waits: how far the database is behind",
}


def _spans(spans: Mapping[str, int]) -> Iterable[Metric]:
    for name, meaning in _SPANS.items():
        yield CounterMetricFamily(f"walltime_{name}_spans", meaning, spans[name])
    yield GaugeMetricFamily("walltime_spooled_spans", "spans on disk that wait to be stored", spans["spooled"])
    # no counter: a retry takes them out of it
    yield GaugeMetricFamily("walltime_dead_spans", "spans that the database refused, kept in dead/", spans["dead"])


def _counts(counts: Mapping[str, Any]) -> Iterable[Metric]:
    refused = CounterMetricFamily("walltime_refused_requests", "requests answered with an error", labels=["reason"])
    for name, count in counts.items():
        if name.startswith("refused_"):
            refused.add_metric([name.removeprefix("refused_")], count)
    yield refused
    closed = CounterMetricFamily(
        "walltime_closed_connections", "connections refused or closed by a limit or deadline", labels=["port", "reason"]
    )
    for name, count in counts.items():
        if name.startswith("closed_"):
            closed.add_metric(name.removeprefix("closed_").split("_", 1), count)
    yield closed
    for name in sorted({*DESCRIPTIONS, *counts}):
        if not name.startswith(("refused_", "closed_")):
            yield CounterMetricFamily(
                f"walltime_{name}", DESCRIPTIONS.get(name, name.replace("_", " ")), counts.get(name, 0)
            )
