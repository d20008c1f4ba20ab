"""Every transaction in OpenTelemetry's metrics: exact, bounded, with trace ids as exemplars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import walltime
from opentelemetry import metrics as api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from walltime.core.call import OTHER
from walltime.export import metrics

from tests.sdk.sink import Sink


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(api, "get_meter", provider.get_meter)
    yield reader
    provider.shutdown()


def points(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    data = reader.get_metrics_data()
    assert data is not None
    scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
    return {metric.name: list(metric.data.data_points) for scope in scopes for metric in scope.metrics}


def serve(path: str, status: str = "200 OK") -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        walltime.current().set_name(f"GET {path}")
        with walltime.component("render"):
            pass
        with walltime.component("render"):
            pass
        start_response(status, [])
        return [b""]

    environ = {"REQUEST_METHOD": "GET", "wsgi.url_scheme": "http", "PATH_INFO": path}
    body = walltime.WSGIMiddleware(app)(environ, lambda *_: lambda _: None)
    for _ in body:
        pass
    body.close()  # type: ignore[attr-defined]


@pytest.mark.setting("metrics")
def test_the_sums_are_those_of_the_bills(reader: InMemoryMetricReader) -> None:
    with Sink() as sink:
        walltime.configure(endpoint=sink.endpoint, metrics=True, sample_probability=1.0)
        for _ in range(3):
            serve("/product/{id}")
        serve("/cart", "500 Sorry")
        with walltime.transaction("import"):
            pass
        walltime.flush()
        bills = sink.transactions()
    found = points(reader)
    requests = {(each.attributes["http.route"], each.attributes["http.response.status_code"]): each
                for each in found["http.server.request.duration"]}  # fmt: skip
    assert {key: each.count for key, each in requests.items()} == {("/product/{id}", 200): 3, ("/cart", 500): 1}
    of_route = [each for each in bills if each.span.name == "GET /product/{id}"]
    assert requests["/product/{id}", 200].sum == pytest.approx(sum(each.duration_ns for each in of_route) / 1e9)
    (job,) = found["walltime.transaction.duration"]
    assert (job.attributes, job.count) == ({"walltime.kind": "import"}, 1)
    parts = {(each.attributes["walltime.kind"], each.attributes["walltime.component"]): each
             for each in found["walltime.component.duration"]}  # fmt: skip
    render_ns = sum(each.attributes["walltime.render.time_ns"] for each in of_route)
    assert parts["GET /product/{id}", "render"].sum == pytest.approx(render_ns / 1e9)
    whole_s = sum(each.sum for (kind, _), each in parts.items() if kind == "GET /product/{id}")
    assert whole_s == pytest.approx(requests["/product/{id}", 200].sum)
    calls = {each.attributes["walltime.kind"]: each.value for each in found["walltime.component.calls"]}
    assert calls == {"GET /product/{id}": 6, "GET /cart": 2}
    traces = {each.trace_id for point in requests.values() for each in point.exemplars}
    assert traces
    assert traces <= {int.from_bytes(each.span.trace_id, "big") for each in bills}


def test_kinds_and_components_are_bounded(reader: InMemoryMetricReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_KINDS", 3)
    monkeypatch.setattr(metrics, "MAX_COMPONENTS", 2)
    monkeypatch.setattr(metrics, "MAX_ERRORS", 4)
    with Sink() as sink:
        walltime.configure(endpoint=sink.endpoint, metrics=True)
        for number in range(10):
            with walltime.transaction(f"job {number}"), walltime.component(f"part {number}"):
                walltime.current().fail(f"Error{number}")
        walltime.flush()
    found = points(reader)
    errors = {each.attributes["error.type"] for each in found["walltime.transaction.duration"]}
    assert errors == {"Error0", "Error1", "Error2", "Error3", "_OTHER"}
    counts = Counter[str]()
    for each in found["walltime.transaction.duration"]:
        counts[each.attributes["walltime.kind"]] += each.count
    assert counts == {"job 0": 1, "job 1": 1, "job 2": 1, "_OTHER": 7}
    names = {each.attributes["walltime.component"] for each in found["walltime.component.duration"]}
    assert names == {"part 0", "other", OTHER}


def test_without_the_setting_nothing_is_recorded(reader: InMemoryMetricReader) -> None:
    with Sink() as sink:
        walltime.configure(endpoint=sink.endpoint)
        serve("/")
        walltime.flush()
    assert reader.get_metrics_data() is None
