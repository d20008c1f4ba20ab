"""S3: gevent workers that are replaced after every 50 requests. None hangs, nothing is lost or sent twice."""

from __future__ import annotations

import os
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from shop.process import Program

from tests.sdk.gunicorn_program import GUNICORN, READY
from tests.sdk.run_program import PROGRAMS, RUN, environment
from tests.sdk.sink import Sink
from tests.slowness import HANGS_AFTER_S

SOAK_S = float(os.environ.get("GEVENT_SOAK_S", "600"))
CLIENTS = 50
SERVER = (RUN, *GUNICORN, "--worker-class", "gevent", "--max-requests", "50", "web_greenlets:app")


@pytest.mark.nightly
@pytest.mark.timeout(SOAK_S + 180)
def test_gevent_workers_replaced_for_ten_minutes_lose_and_double_nothing(sink: Sink, tmp_path: Path) -> None:
    variables = environment(
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.endpoint, OTEL_SERVICE_NAME="soak", PYTHONPATH=str(PROGRAMS),
        OTEL_BSP_SCHEDULE_DELAY="1000",
    )  # fmt: skip
    answered: list[tuple[str, str]] = []
    refused: list[str] = []
    server = Program("gunicorn", tmp_path, SERVER, READY, variables)
    server.stops_within_s = 60

    def keep_asking(url: str, until_s: float) -> None:
        while time.monotonic() < until_s:
            try:
                with urllib.request.urlopen(url, timeout=HANGS_AFTER_S) as answer:  # noqa: S310  # our own server
                    pid, request_id = answer.read().decode().split()
                    answered.append((pid, request_id))
            except (urllib.error.URLError, ConnectionError, ValueError) as error:
                refused.append(repr(error))

    with server, ThreadPoolExecutor(CLIENTS) as clients:
        assert server.ready is not None
        url, until_s = f"http://127.0.0.1:{server.ready.group(1)}/", time.monotonic() + SOAK_S
        for client in [clients.submit(keep_asking, url, until_s) for _ in range(CLIENTS)]:
            client.result()
    log = server.output()
    found = sink.transactions()
    sent = Counter(span.span.trace_id.hex() for span in found)
    lost = {request_id for _, request_id in answered} - sent.keys()
    workers = {pid for pid, _ in answered}
    print(
        f"{SOAK_S:.0f} s, {len(answered)} requests by {len(workers)} workers: {len(lost)} lost, "
        f"{sum(sent.values()) - len(sent)} doubled, {len(sent) - len(answered)} not answered, {len(refused)} refused"
    )
    assert refused == []
    assert len(workers) > SOAK_S / 10, "they were replaced"
    assert "TIMEOUT" not in log, "a worker hung"
    assert "SIGKILL" not in log, "a worker did not end by itself"
    assert lost == set()
    assert max(sent.values()) == 1
    assert sent.keys() == {request_id for _, request_id in answered}
    assert all(span.cell("step") == {"calls": 2} for span in found)
