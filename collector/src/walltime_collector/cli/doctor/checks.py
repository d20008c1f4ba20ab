"""`walltime doctor`: checks the collector, then sends a test transaction and compares what is stored with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from ...conversion import from_json
from ...errors import CommandFailed
from ...format import printable
from ...health.applications import Application, Applications
from ...health.checks import (
    Check,
    check_data_moves,
    check_database,
    check_disk,
    check_incidents,
    check_servers,
    check_slow_logs,
)
from ...health.findings import Finding, findings, summary
from ...health.status import Status
from ..client import Client
from ..output import read_as
from .canary import Canary, hatch

VISIBLE_WITHIN_S = 15.0
"""Usually 2 s after the acknowledgement; a busy collector takes longer."""
_MAX_SKEW_S = 1.0
_POLL_S = 0.1


class CheckFailed(Exception):
    """A check failed: what it found, and what to do."""

    def __init__(self, what: str, what_now: str) -> None:
        super().__init__(what)
        self.what, self.what_now = what, what_now


@dataclass(frozen=True)
class Step:
    """The result of one check; `what_now` is empty when it passed. The field names are those of --json."""

    name: str
    is_ok: bool
    took_s: float
    message: str
    what_now: str = ""


@dataclass(frozen=True)
class Examination:
    """All results; a check is left out when one before it that it needs has failed."""

    url: str
    is_ok: bool
    steps: tuple[Step, ...]
    applications: tuple[Application, ...] = ()
    findings: tuple[Finding, ...] = ()
    now_s: float = 0.0


def examine(client: Client, ingest_token: str, otlp_url: str = "") -> Examination:
    """
    Run the checks.

    Args:
        ingest_token: For sending; empty: none is sent.
        otlp_url: OTLP/HTTP address to send to; empty: the one that the collector reports.

    Raises:
        ValueError: `otlp_url` is not an http(s) address.
    """
    doctor = _Doctor(client, ingest_token, otlp_url)
    steps = tuple(doctor.steps())
    seen = doctor.applications
    is_ok = all(step.is_ok for step in steps)
    return Examination(client.url, is_ok, steps, seen.applications, findings(seen), now_s=seen.now_s)


class _Doctor:
    _status: Status
    _canary: Canary

    def __init__(self, client: Client, ingest_token: str, otlp_url: str) -> None:
        self._client, self._ingest_token, self._otlp_url = client, ingest_token, otlp_url
        self._requested_ns = (0, 0)
        self.applications = Applications(0.0, ())

    def steps(self) -> Iterator[Step]:
        yield (status := _run("collector", self._check_collector))
        if not status.is_ok:
            return
        yield _run("data moves", lambda: _passed(check_data_moves(self._status)))
        yield _run("version", self._check_version)
        yield _run("clock", self._check_clock)
        yield _run("disk", lambda: _passed(check_disk(self._status)))
        yield _run("database", lambda: _passed(check_database(self._status)))
        yield _run("slow logs", lambda: _passed(check_slow_logs(self._status)))
        yield _run("servers", lambda: _passed(check_servers(self._status)))
        yield _run("incidents", lambda: _passed(check_incidents(self._status)))
        yield _run("applications", self._check_applications)
        for name, check in (
            ("send", self._send),
            ("find", self._find),
            ("compare", self._compare),
            ("once", self._check_stored_once),
        ):
            yield (step := _run(name, check))
            if not step.is_ok:
                return

    def _check_collector(self) -> str:
        before_ns = time.time_ns()
        document = self._client.get("/api/status")
        self._requested_ns = (before_ns, time.time_ns())
        self._status = read_as(Status, document)
        return f"{self._client.url} answers and accepts the token"

    def _check_version(self) -> str:
        ours, theirs = version("walltime-collector"), self._status.version
        if ours != theirs:
            raise CheckFailed(f"the collector is {theirs}, this command {ours}", "use one version for both")
        return ours

    def _check_clock(self) -> str:
        before_ns, after_ns = self._requested_ns
        early_ns, late_ns = before_ns - self._status.now_ns, self._status.now_ns - after_ns
        skew_s = max(early_ns, late_ns, 0) / 1e9
        if skew_s > _MAX_SKEW_S:
            raise CheckFailed(
                f"the collector's clock is {skew_s:.1f} s {'behind' if early_ns > 0 else 'ahead of'} this machine's",
                "synchronize both with NTP: a transaction has the time of the machine it ran on",
            )
        return f"within {max(skew_s, 0.001):.3g} s of this machine's"

    def _check_applications(self) -> str:
        self.applications = from_json(Applications, self._client.get("/api/applications"))
        failed = [finding.service for finding in findings(self.applications) if finding.is_failure]
        if failed:
            services = ", ".join(dict.fromkeys(printable(service) for service in failed))
            raise CheckFailed(f"{summary(self.applications)}; problems in {services}", "see below, service by service")
        return summary(self.applications)

    def _send(self) -> str:
        url = self._otlp_url or f"{_reachable(self._status.listens.get('http', ''), self._client.url)}/v1/traces"
        self._canary = hatch()
        status, body = self._client.send_otlp(url, self._canary.request(), self._ingest_token)
        if status == 401:
            raise CheckFailed(f"{url} requires a token", "set WALLTIME_INGEST_TOKEN or --ingest-token-file")
        if status != 200:
            message = body[4:].decode("utf-8", "replace")  # after the tag and length of a google.rpc.Status
            raise CheckFailed(f"{url} answered {status}: {message}", "after 503 senders try again; see walltime status")
        return f"{url} stored a transaction with one call on disk"

    def _find(self) -> str:
        deadline_s = time.monotonic() + VISIBLE_WITHIN_S
        trace: Mapping[str, Any] | None = None
        while time.monotonic() < deadline_s:
            with suppress(CommandFailed):
                trace = self._client.get(f"/api/transactions/{self._canary.trace_id}")
                if any(bill["calls"] for bill in trace["transactions"]):
                    break
            time.sleep(_POLL_S)  # an INSERT fills its tables one after another: the bill first, then its calls
        if trace is None:
            raise CheckFailed(
                f"trace {self._canary.trace_id} is not visible after {VISIBLE_WITHIN_S:.0f} s",
                "walltime status shows what waits in the spool and why, walltime dead-letter list what was refused",
            )
        return f"trace {self._canary.trace_id} is visible in the database"

    def _compare(self) -> str:
        differences = self._canary.differences(self._client.get(f"/api/transactions/{self._canary.trace_id}"))
        if differences:
            raise CheckFailed("stored with differences: " + "; ".join(differences), "report this, with --json")
        return "every number of its bill and its call is as sent"

    def _check_stored_once(self) -> str:
        rows = {}
        for table in ("transactions", "spans"):
            # the id is our own, and hexadecimal
            sql = f"SELECT count() FROM {table} WHERE trace_id = unhex('{self._canary.trace_id}')"  # noqa: S608
            rows[table] = self._client.post("/api/sql", {"sql": sql})["rows"][0][0]
        if set(rows.values()) != {1}:
            raise CheckFailed(f"stored rows: {rows}, not one each", "report this, with --json")
        return "stored once, in transactions and in spans"


def _run(name: str, check: Callable[[], str]) -> Step:
    started_s = time.monotonic()
    what_now = ""
    is_ok = False
    try:
        result = check()
        is_ok = True
    except CheckFailed as failure:
        result, what_now = failure.what, failure.what_now
    except CommandFailed as error:
        result, _, what_now = str(error).partition("; ")
    return Step(name, is_ok, time.monotonic() - started_s, result, what_now)


def _passed(check: Check) -> str:
    if check.level != "OK":
        raise CheckFailed(check.what, check.what_now)
    return check.what


def _reachable(listening: str, web_url: str) -> str:
    """The OTLP address from here: where it listens on all addresses, the host is that of the web port."""
    parts = urlsplit(listening)
    host = parts.hostname or ""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104  it is compared, not bound
        host = urlsplit(web_url).hostname or "127.0.0.1"
    return f"{parts.scheme or 'http'}://{f'[{host}]' if ':' in host else host}:{parts.port or 4318}"
