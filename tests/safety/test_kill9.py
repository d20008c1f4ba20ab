"""S4: kill -9 of a worker costs what it had not sent yet, and no other worker anything."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

from shop.process import Program

from tests.sdk.gunicorn_program import ALARM_S, GUNICORN, READY, ask
from tests.sdk.run_program import PROGRAMS, RUN, environment
from tests.sdk.sink import Sink
from tests.servers import eventually


def test_a_killed_worker_costs_its_queue_and_no_other_anything(sink: Sink, tmp_path: Path) -> None:
    variables = environment(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.endpoint, PYTHONPATH=str(PROGRAMS))
    server = Program("gunicorn", tmp_path / "gunicorn", [RUN, *GUNICORN, "web:app"], READY, variables)
    server.stops_within_s = ALARM_S
    with server:
        assert server.ready is not None
        url = f"http://127.0.0.1:{server.ready.group(1)}/"
        settled = Counter(ask(url) for _ in range(30))
        eventually(lambda: len(sink.transactions()) == settled.total(), 20)
        unsent = Counter(ask(url) for _ in range(20))
        victim = unsent.most_common(1)[0][0]
        os.kill(int(victim), signal.SIGKILL)
        after = Counter(ask(url) for _ in range(30))
    answered = settled + unsent + after
    found = sink.transactions()
    sent = Counter(str(span.resource["process.pid"]) for span in found)
    lost = answered - sent
    print(f"{answered.total()} requests, worker killed with {unsent[victim]} since its last export: lost {dict(lost)}")
    assert after[victim] == 0
    assert set(lost) <= {victim}
    assert lost[victim] <= unsent[victim]
    assert sent == answered - lost, "nothing that was not answered, nothing twice"
    assert len({span.span.span_id for span in found}) == len(found)
