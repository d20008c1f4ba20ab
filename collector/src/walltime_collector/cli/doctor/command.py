"""`walltime doctor`: sends a transaction through everything and looks whether it comes out as it went in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from ...errors import NotAnswered
from ...format import printable, size
from ...health.applications import Application, Applications
from ...health.status import Status
from ...query.answers import from_json
from .. import ask
from .applications import Finding, findings, summary
from .canary import Canary, hatch

VISIBLE_WITHIN_S = 15.0
"""What is acknowledged can be asked for after 2 s; a busy collector may take longer."""
_SKEW_S = 1.0
_LEAST_FREE = 0.1
_LOOK_EVERY_S = 0.1


class Ill(Exception):
    """A step failed; what it found, and what to do."""

    def __init__(self, said: str, what_now: str) -> None:
        super().__init__(said)
        self.said, self.what_now = said, what_now


@dataclass(frozen=True)
class Step:
    """One thing that was looked at; `what_now` is for those that are not well."""

    name: str
    is_ok: bool
    took_s: float
    said: str
    what_now: str = ""


@dataclass(frozen=True)
class Examination:
    """All steps; a step after a failed one that it needs is not taken."""

    url: str
    is_ok: bool
    steps: tuple[Step, ...]
    applications: tuple[Application, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What is to be mended, or looked at, in applications."""
    now_s: float = 0.0


def examine(url: str, ingest_token: str, otlp_url: str = "") -> Examination:
    """
    Take the steps.

    Args:
        url: The collector's web address.
        ingest_token: For sending; empty: none is shown.
        otlp_url: Where to send to; empty: where the collector says it takes OTLP/HTTP.
    """
    doctor = _Doctor(url, ingest_token, otlp_url)
    steps = tuple(doctor.steps())
    seen = doctor.applications
    return Examination(
        url, all(step.is_ok for step in steps), steps, seen.applications, findings(seen), now_s=seen.now_s
    )


class _Doctor:
    def __init__(self, url: str, ingest_token: str, otlp_url: str) -> None:
        self._url, self._ingest_token, self._otlp_url = url, ingest_token, otlp_url
        self._status: Status | None = None
        self._canary: Canary | None = None
        self._asked_ns = (0, 0)
        self.applications = Applications(0.0, ())

    def steps(self) -> Iterator[Step]:
        status = self._step("collector", self._collector)
        yield status
        if not status.is_ok:
            return
        for name, look in (
            ("data moves", self._moves),
            ("version", self._version),
            ("clock", self._clock),
            ("disk", self._disk),
            ("database", self._database),
            ("slow logs", self._slow_logs),
            ("applications", self._applications),
        ):
            yield self._step(name, look)
        for name, look in (
            ("send", self._send),
            ("find", self._find),
            ("compare", self._compare),
            ("once", self._once),
        ):
            step = self._step(name, look)
            yield step
            if not step.is_ok:
                return

    def _step(self, name: str, look: Callable[[], str]) -> Step:
        started_s = time.monotonic()
        try:
            said = look()
        except Ill as ill:
            return Step(name, False, time.monotonic() - started_s, ill.said, ill.what_now)
        except NotAnswered as error:
            said, _, what_now = str(error).partition("; ")
            return Step(name, False, time.monotonic() - started_s, said, what_now)
        return Step(name, True, time.monotonic() - started_s, said)

    def _collector(self) -> str:
        before_ns = time.time_ns()
        document = ask.ask(self._url, "/api/status")
        self._asked_ns = (before_ns, time.time_ns())
        try:
            self._status = from_json(Status, document)
        except ValueError as error:
            raise Ill(
                f"{self._url} is another version than this command ({error})", "use one version for both"
            ) from error
        return f"{self._url} answers, and may be asked"

    @property
    def _known(self) -> Status:
        if self._status is None:
            raise Ill("the collector did not say how it is", "start with the first step that failed")
        return self._status

    def _moves(self) -> str:
        spans = self._known.spans
        if not self._known.is_ok:
            reasons = ", ".join(f"{trouble.reason}: {trouble.what}" for trouble in self._known.troubles)
            raise Ill(f"data does not move: {reasons}", "docs/operating.md says what each reason means, and what to do")
        if spans.lost or spans.dead:
            raise Ill(
                f"{spans.lost} spans were lost and {spans.dead} are dead letters",
                "walltime deadletter list says why; the collector's log names damaged segments",
            )
        return f"{spans.received} spans received, {spans.stored} stored, {spans.spooled} wait"

    def _version(self) -> str:
        ours = version("walltime-collector")
        if ours != self._known.version:
            raise Ill(f"the collector is {self._known.version}, this command {ours}", "use one version for both")
        return ours

    def _clock(self) -> str:
        before_ns, after_ns = self._asked_ns
        early_ns, late_ns = before_ns - self._known.now_ns, self._known.now_ns - after_ns
        skew_s = max(early_ns, late_ns, 0) / 1e9
        if skew_s > _SKEW_S:
            raise Ill(
                f"the collector's clock is {skew_s:.1f} s {'behind' if early_ns > 0 else 'ahead of'} this machine's",
                "let both follow NTP: times of transactions are those of the machines they ran on",
            )
        return f"within {max(skew_s, 0.001):.3g} s of this machine's"

    def _disk(self) -> str:
        spool = self._known.spool
        said = (
            f"{size(spool.disk_free_bytes)} of {size(spool.disk_bytes)} free, the spool takes {size(spool.size_bytes)}"
        )
        if spool.disk_free_bytes < spool.disk_bytes * _LEAST_FREE:
            raise Ill(said, "make room, or keep less: retention_spans_days, retention_transactions_days")
        return said

    def _database(self) -> str:
        status = self._known
        if status.engine_error:
            raise Ill(
                f"{status.engine}: {status.engine_error}", "what arrives is spooled until it answers; see its log"
            )
        tables = sum(table.disk_bytes for table in status.tables)
        parts = max((table.parts for table in status.tables), default=0)
        return f"{status.engine}, {len(status.tables)} tables with {size(tables)}, at most {parts} parts"

    def _slow_logs(self) -> str:
        bad = {path: error for path, error in self._known.slow_logs.items() if error}
        if bad:
            raise Ill(
                "; ".join(f"{path}: {error}" for path, error in bad.items()), "docs/mysql.md says who must read it"
            )
        return ", ".join(self._known.slow_logs) or "none are followed"

    def _applications(self) -> str:
        self.applications = from_json(Applications, ask.ask(self._url, "/api/applications"))
        ill = [finding for finding in findings(self.applications) if finding.is_ill]
        if ill:
            services = ", ".join(dict.fromkeys(printable(finding.service) for finding in ill))
            raise Ill(
                f"{summary(self.applications)}; something is wrong in {services}", "see below, service by service"
            )
        return summary(self.applications)

    def _send(self) -> str:
        listening = self._known.listens.get("http", "")
        url = self._otlp_url or f"{_reachable(listening, self._url)}/v1/traces"
        canary = hatch()
        status, body = ask.send_otlp(url, canary.request(), self._ingest_token)
        if status == 401:
            raise Ill(f"{url} wants a token", "give WALLTIME_INGEST_TOKEN or --ingest-token-file")
        if status != 200:
            said = body[4:].decode("utf-8", "replace")
            raise Ill(f"{url} answered {status}: {said}", "503 comes again later by itself; see walltime status")
        self._canary = canary
        return f"{url} took a transaction with a call, and has them on disk"

    def _find(self) -> str:
        canary = self._hatched
        deadline_s = time.monotonic() + VISIBLE_WITHIN_S
        found: Mapping[str, Any] | None = None
        while time.monotonic() < deadline_s:
            with suppress(NotAnswered):
                found = ask.ask(self._url, f"/api/transactions/{canary.trace_id}")
                if any(bill["calls"] for bill in found["transactions"]):
                    break
            time.sleep(_LOOK_EVERY_S)  # an INSERT fills its tables one after another: the bill first, then its calls
        if found is not None:
            return f"trace {canary.trace_id} came through spool and database"
        raise Ill(
            f"trace {canary.trace_id} is not visible after {VISIBLE_WITHIN_S:.0f} s",
            "walltime status says what waits in the spool and why; walltime deadletter list what was refused",
        )

    def _compare(self) -> str:
        canary = self._hatched
        differences = canary.differences(ask.ask(self._url, f"/api/transactions/{canary.trace_id}"))
        if differences:
            raise Ill("it came out otherwise: " + "; ".join(differences), "report this, with the output of --json")
        return "every number of its bill and its call is as it was sent"

    def _once(self) -> str:
        # the id is our own, and hexadecimal
        statement = "SELECT count() FROM {} WHERE trace_id = unhex('" + self._hatched.trace_id + "')"  # noqa: S608
        counted = {}
        for table in ("transactions", "spans"):
            answer = ask.post(self._url, "/api/sql", {"sql": statement.format(table)})
            counted[table] = answer["rows"][0][0]
        if set(counted.values()) != {1}:
            raise Ill(f"rows of it: {counted}, not one each", "report this, with the output of --json")
        return "stored once, in transactions and in spans"

    @property
    def _hatched(self) -> Canary:
        if self._canary is None:
            raise Ill("nothing was sent", "start with the first step that failed")
        return self._canary


def _reachable(listening: str, web_url: str) -> str:
    """The OTLP address as this machine can reach it: what listens everywhere is where the web port was reached."""
    parts = urlsplit(listening)
    host = parts.hostname or ""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104  it is compared, not bound
        host = urlsplit(web_url).hostname or "127.0.0.1"
    return f"{parts.scheme or 'http'}://{f'[{host}]' if ':' in host else host}:{parts.port or 4318}"
