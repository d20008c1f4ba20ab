"""
Lives the application's life once for each fault point, in a process of its own, and says what was different.

    python -m tests.safety.fault_runner SERVERS_JSON [SHARE] → one JSON document on stdout
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import time
from typing import Any

from tests.safety import bills, fault_points
from tests.slowness import HANGS_AFTER_S


def main() -> None:
    asked = json.loads(sys.argv[1])
    fault_points.install()
    from tests.safety.application import Servers

    servers = Servers(
        asked["mysql"], [tuple(server) for server in asked["memcached"]], tuple(asked["refusing"]), asked["http"]
    )
    bare = _in_a_child(servers, None, None)
    whole = _in_a_child(servers, asked["endpoint"], None)
    points = [point for point in whole["reached"] if point.startswith(asked["only"])][:: asked["every"]]
    outcomes = {point: _in_a_child(servers, asked["endpoint"], point) for point in points}
    json.dump({"bare": bare, "whole": whole, "outcomes": outcomes}, sys.stdout)


def _in_a_child(servers: Any, endpoint: str | None, point: str | None) -> dict[str, Any]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(HANGS_AFTER_S)
            os.close(reading)
            outcome = _live(servers, endpoint, point)
            with os.fdopen(writing, "w") as pipe:
                json.dump(outcome, pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(said) if said else {"died": f"wait status {status}"}


def _live(servers: Any, endpoint: str | None, point: str | None) -> dict[str, Any]:
    from walltime import errors, runtime
    from walltime.export.exporter import Exporter

    from tests.safety.application import life

    exported: list[bytes] = []
    write = Exporter._write_locally

    def recorded(self: Exporter, transaction: Any, bill: Any, kept: str, encoded: bytes, file: Any) -> None:
        exported.append(encoded)
        write(self, transaction, bill, kept, encoded, file)

    Exporter._write_locally = recorded  # type: ignore[method-assign]  # in this process only

    fault_points.reached.clear()  # what ran while we were imported, and forked, is not the application's life
    if endpoint is None:
        os.environ["OTEL_SDK_DISABLED"] = "true"
    if point is not None:
        fault_points.raise_at(point)
    escaped: list[str] = []
    threading.excepthook = lambda args: escaped.append(f"in a thread: {args.exc_value!r}")
    sys.unraisablehook = lambda args: escaped.append(f"unraisable: {args.exc_value!r}")
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(str(record.msg % record.args))  # type: ignore[method-assign]
    logging.getLogger("walltime").addHandler(handler)
    answers: object = None
    started_s = time.monotonic()
    try:
        answers = life(servers, endpoint)
    except Exception as error:  # noqa: BLE001  # whatever it is, it should not have come here
        escaped.append(repr(error))
    exporter = runtime._exporter
    return {
        "answers": repr(answers),
        "escaped": escaped,
        "contained": errors.contained,
        "bills": [bills.read(encoded) for encoded in exported],
        "counts": {} if exporter is None else exporter.counts,
        "log": lines,
        "took_s": time.monotonic() - started_s,
        "reached": dict(fault_points.reached),
    }


if __name__ == "__main__":
    main()
