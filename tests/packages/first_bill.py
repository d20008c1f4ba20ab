"""
Runs with the interpreter of an environment that has both packages and nothing else: a collector, an application
under `walltime-run`, and `walltime top`. Prints the name and the count of the kinds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
APPLICATION = """
import threading, urllib.request
from wsgiref.simple_server import make_server
import walltime

def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]

server = make_server("127.0.0.1", 0, walltime.WSGIMiddleware(hello))
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(3):
    assert urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read() == b"hello"
server.shutdown()
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        free = [part for port in ("grpc", "http", "web") for part in (f"--{port}", "127.0.0.1:0")]
        command = [str(BIN / "walltime"), "serve", "--data", f"{folder}/data", *free]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as collector:
            try:
                assert collector.stdout is not None
                ready = dict(each.split("=", 1) for each in collector.stdout.readline().split()[1:])
                measure(Path(folder) / "application.py", f"http://{ready['http']}")
                print(json.dumps(wait_for_kinds(f"http://{ready['web']}")))
            finally:
                collector.terminate()


def measure(program: Path, endpoint: str) -> None:
    program.write_text(APPLICATION)
    environment = {**os.environ, "OTEL_SERVICE_NAME": "first", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    subprocess.run([BIN / "walltime-run", sys.executable, program], env=environment, check=True, timeout=60)


def wait_for_kinds(url: str) -> list[dict[str, Any]]:
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        top = subprocess.run(
            [BIN / "walltime", "--url", url, "top", "--json"], capture_output=True, text=True, check=True
        )
        kinds: list[dict[str, Any]] = json.loads(top.stdout)["kinds"]
        if kinds:
            return [{"service": each["service"], "name": each["name"], "count": each["transactions"]} for each in kinds]
        time.sleep(0.5)
    raise SystemExit("no bill was stored within 60 s")


if __name__ == "__main__":
    main()
