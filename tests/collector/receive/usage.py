"""CPU and memory of a collector, and the status in a response."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
from google.rpc.status_pb2 import Status

from tests.servers import Collector


def rpc_status(response: httpx.Response) -> tuple[int, str]:
    """google.rpc.Status, in the type of the request."""
    if response.headers["content-type"] == "application/json":
        document = response.json()
        return document["code"], document["message"]
    assert response.headers["content-type"] == "application/x-protobuf"
    status = Status.FromString(response.content)
    return status.code, status.message


def resident_bytes(collector: Collector, peak: bool = False) -> int:
    status = Path(f"/proc/{collector.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:" if peak else "VmRSS:"))
    return int(line.split()[1]) * 1024


def cpu_s(collector: Collector) -> float:
    fields = Path(f"/proc/{collector.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
