"""
What pt-query-digest prints for the real logs: `python -m tests.collector.cli.pt_query_digest` writes the file.

    log → end of the query id → entries, seconds in total, at most, on average, p95, of locks, rows sent, examined
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from walltime_collector.query.digest.answer import Digest

from tests.collector.observe.slowlog.real_logs import REAL_LOGS

Numbers = dict[str, list[Any]]
STORED = Path(__file__).with_suffix(".json")


def of_tool(log: Path) -> Numbers:
    """What the tool prints."""
    tool = shutil.which("pt-query-digest")
    if not tool:
        pytest.skip("needs pt-query-digest (apt-get install percona-toolkit)")
    command = [tool, "--no-version-check", "--output", "json", "--limit", "100%", str(log)]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    found = {}
    for each in json.loads(printed)["classes"] if printed.strip() else ():
        of = each["metrics"]
        of.setdefault("Lock_time", {"sum": "0.000000"})  # old servers do not write it
        seconds = [of["Query_time"][name] for name in ("sum", "max", "avg", "pct_95")] + [of["Lock_time"]["sum"]]
        rows = [int(of.get(name, {}).get("sum", 0)) for name in ("Rows_sent", "Rows_examined")]
        found[each["checksum"][-16:]] = [each["query_count"], *seconds, *rows]
    return found


def of_digest(digest: Digest) -> Numbers:
    """The same of ours."""
    found = {}
    for each in digest.statements:
        assert each.server is not None
        of = each.server
        seconds = [f"{ns / 1e9:.6f}" for ns in (of.time_ns, of.max_ns, of.mean_ns, of.p95_ns, of.lock_ns)]
        found[each.fingerprint_id] = [of.entries, *seconds, of.rows_sent, of.rows_examined]
    return found


if __name__ == "__main__":
    every = {log.name: of_tool(log) for log in sorted(REAL_LOGS.iterdir())}
    lines = [
        f"{json.dumps(log)}: {{" + ",".join(f"\n  {json.dumps(i)}: {json.dumps(n)}" for i, n in of.items()) + "\n}"
        for log, of in every.items()
    ]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
