"""What is measured in this process, what is not and why: `walltime.check()` and `walltime-run --check`."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, entry_points, packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from walltime import native, runtime, unbilled
from walltime.core.transaction import outside_calls
from walltime.errors import SettingsError, guarded
from walltime.export.sender import Sender
from walltime.instrumentation.libraries import LIBRARIES, PARTS, is_installed, is_wrapped, state_of
from walltime.redaction.redact import redact_url
from walltime.servers.unsupported import HOSTS, REMEDIES, UNSUPPORTED
from walltime.settings import tls
from walltime.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from walltime.settings.settings import Settings

    _Distributions = Mapping[str, Sequence[str]]

MEASURED, WAITING, NOT_MEASURED = "measured", "measured once imported", "not measured"

_OF_OPENTELEMETRY: Final = {
    "aiokafka": "aiokafka", "aio_pika": "aio-pika", "asyncpg": "asyncpg", "cassandra": "cassandra",
    "confluent_kafka": "confluent-kafka", "elasticsearch": "elasticsearch", "grpc": "grpc", "kafka": "kafka-python",
    "pika": "pika", "psycopg": "psycopg", "psycopg2": "psycopg2", "pymongo": "pymongo", "pymssql": "pymssql",
    "tortoise": "tortoiseorm",
}  # fmt: skip
"""Module of a client that Walltime does not wrap → `opentelemetry-instrumentation-…`, whose spans it takes."""
_OF_NOBODY: Final = ("aiomcache", "bmemcached", "mariadb", "memcache", "pycurl", "pylibmc", "treq")
"""Clients that nobody instruments."""
_OURS: Final = str(Path(__file__).parent)
_OPENS: Final = re.compile(
    rb"\bwalltime\.(?:transaction|WSGIMiddleware|ASGIMiddleware)\b"
    rb"|\bfrom walltime import [\w\s,(]*\b(?:transaction|WSGIMiddleware|ASGIMiddleware)\b"
)
"""Code of an application that opens its transactions itself."""


@dataclass(frozen=True)
class LibraryCheck:
    """One installed library."""

    name: str
    version: str
    """Empty for a module of Python itself."""
    state: str
    """`measured`, `measured once imported` or `not measured`."""
    reason: str
    """Why it is not, and what it needs; empty when it is measured."""


@dataclass(frozen=True)
class Report:
    """The result of `check`; `str` is its text."""

    libraries: tuple[LibraryCheck, ...]
    """Those that are installed; the measured ones first, then by name."""
    problems: tuple[str, ...]
    """What keeps bills from being complete, or from arriving."""
    collector: str
    """What the collector answered."""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"walltime {VERSION}, Python {sys.version.split()[0]}, process {os.getpid()}"
        yield f"the core in C runs: {'yes' if native.is_used() else f'no, {native.reason}'}"
        width = max((len(f"{each.name} {each.version}") for each in self.libraries), default=0)
        for state in (MEASURED, WAITING, NOT_MEASURED):
            libraries = [each for each in self.libraries if each.state == state]
            if libraries:
                yield f"\n{state}"
            for each in libraries:
                yield f"  {each.name + ' ' + each.version:{width}}  {each.reason}".rstrip()
        yield f"\ncollector\n  {self.collector}"
        if self.problems:
            yield "\nproblems"
            yield from (f"  {each}" for each in self.problems)


@guarded("check", lambda: Report((), ("walltime.check has failed; the log of walltime says where",), "was not asked"))
def check(timeout_s: float = 2.0) -> Report:
    """
    Return what is measured in this process, what is not and why, and what it needs.

    It asks the collector with an empty request. Nothing is instrumented by it.

    Args:
        timeout_s: for the collector's answer.
    """
    return _report(timeout_s, is_installed, sys.modules.__contains__)


def _report(timeout_s: float, has_client: Callable[[str], bool], has_server: Callable[[str], bool]) -> Report:
    """`has_client`, `has_server`: whether the module of a client, a framework, a server or a worker is looked at."""
    settings = runtime.settings()
    collector, is_reached = _collector(settings, timeout_s)
    distributions = packages_distributions()
    libraries = [*_own(distributions), *_others(distributions, has_client), *_unsupported(distributions, has_server)]
    order = (MEASURED, WAITING, NOT_MEASURED)
    return Report(
        tuple(sorted(libraries, key=lambda each: (order.index(each.state), each.name))),
        tuple(_problems(settings, is_reached=is_reached)),
        collector,
    )


def _own(distributions: _Distributions) -> Iterator[LibraryCheck]:
    for name in LIBRARIES:
        module = PARTS[name][1]
        if not is_installed(module):
            continue
        is_chosen, is_wrapped, refused = state_of(name)
        if refused:
            state, reason = NOT_MEASURED, refused
        elif not is_chosen:
            state, reason = NOT_MEASURED, "call walltime.instrument(), or start the program with walltime-run"
        elif is_wrapped:
            state, reason = MEASURED, ""
        else:
            state, reason = WAITING, f"this process has not imported {module}"
        yield LibraryCheck(name, _version(module, distributions), state, reason)


def _others(distributions: _Distributions, is_there: Callable[[str], bool]) -> Iterator[LibraryCheck]:
    instrumented = _instrumented_by_opentelemetry()
    for module in sorted({*_OF_OPENTELEMETRY, *_OF_NOBODY}):
        if not is_there(module):
            continue
        package = f"opentelemetry-instrumentation-{_OF_OPENTELEMETRY.get(module)}"
        if package in instrumented:
            state, reason = MEASURED, f"by {package}"
        elif module in _OF_OPENTELEMETRY:
            state, reason = NOT_MEASURED, f"install and start {package}: Walltime puts its spans on the bill"
        else:
            state, reason = NOT_MEASURED, 'put its calls into `with walltime.component("…")`'
        yield LibraryCheck(module, _version(module, distributions), state, reason)


def _unsupported(distributions: _Distributions, is_there: Callable[[str], bool]) -> Iterator[LibraryCheck]:
    """Frameworks, servers and workers here in which nothing opens a transaction."""
    if runtime.exporter().is_used:
        return  # this process has opened some
    opener = _application_that_opens()
    has_framework = any(map(is_wrapped, unbilled.FRAMEWORKS))
    for module, (_, kind, is_server) in UNSUPPORTED.items():
        package = module.partition(".")[0]
        if package in sys.stdlib_module_names or not is_there(module) or (is_server and has_framework):
            continue
        host = next((host for host in HOSTS.get(kind, ()) if host in sys.modules), "")
        if opener:
            state, reason = MEASURED, f"by the transactions of {opener}"
        elif host and not is_server:
            state, reason = MEASURED, f"by {host.partition('.')[0]}; name its requests by walltime.current().set_name"
        else:
            state, reason = NOT_MEASURED, f"no transaction is opened in it: {REMEDIES[kind]}"
        yield LibraryCheck(module, _version(module, distributions), state, reason)


def _opens() -> bool:
    """Return whether something that this process has imported opens transactions, or is known not to."""
    known = {module for module in UNSUPPORTED if module.partition(".")[0] not in sys.stdlib_module_names}
    return unbilled.opens() or not known.isdisjoint(sys.modules) or bool(_application_that_opens())


def _application_that_opens() -> str:
    """Return the last imported module that opens transactions itself, or ''. An application may be installed."""
    for name, module in reversed(sys.modules.copy().items()):
        path = getattr(module, "__file__", None) or ""
        if path.endswith(".py") and not path.startswith(_OURS):
            with contextlib.suppress(OSError):
                text = Path(path).read_bytes()
                if b"walltime" in text and _OPENS.search(text):
                    return name
    return ""


def _instrumented_by_opentelemetry() -> set[str]:
    """The distributions of OpenTelemetry's instrumentations that are active in this process."""
    active = set()
    for entry in entry_points(group="opentelemetry_instrumentor"):
        instrumentor = getattr(sys.modules.get(entry.module), entry.attr, None)
        is_active = instrumentor is not None and getattr(instrumentor(), "is_instrumented_by_opentelemetry", False)
        if is_active and entry.dist is not None:
            active.add(entry.dist.name)
    return active


def _collector(settings: Settings, timeout_s: float) -> tuple[str, bool]:
    """What is to be said of the collector, and whether bills reach it."""
    if not settings.enabled:
        return "is not asked: measuring is switched off", False
    if "otlp" not in settings.exporters or not settings.endpoint:
        return "nothing is sent: no exporter, or no endpoint", False
    shown = redact_url(settings.endpoint)
    try:
        asking = replace(settings, timeout_s=timeout_s, gzip=False)
        sender = Sender(asking, Counter(), tls.context(asking, (), []))
        try:
            status = sender.exchange(b"").status  # an ExportTraceServiceRequest without spans
        finally:
            sender.close()
    except (OSError, HTTPException, ValueError, SettingsError) as error:
        return f"{shown} does not answer ({type(error).__name__}: {error}): start it with `walltime serve`", False
    if status == 200:
        return f"{shown} answers", True
    needs = {
        401: "it needs a token: OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20…",
        403: "this token may not send",
        404: "the endpoint needs the path /v1/traces",
    }.get(status, "its log says why")
    return f"{shown} answers with status {status}: {needs}", False


def _problems(settings: Settings, *, is_reached: bool) -> Iterator[str]:
    if not settings.enabled:
        yield "nothing is measured: OTEL_SDK_DISABLED, or walltime.configure(enabled=False)"
    elif not is_reached:
        yield "bills do not arrive at the collector"
    if settings.enabled and not settings.service_name:
        yield "the service has no name: set OTEL_SERVICE_NAME, or walltime.configure(service_name=…)"
    outside = {library: calls for library, calls in sorted(outside_calls.items()) if library != "late"}
    if outside:
        counted = ", ".join(f"{library} {calls}" for library, calls in outside.items())
        program = "" if runtime.exporter().is_used else unbilled.imported()
        yield f"calls outside of any transaction, which are on no bill: {counted}; {unbilled.remedy(program)}"
    lost = {name: count for name, count in runtime.counters().items() if count and name.startswith(("lost_", "failed"))}
    if lost:
        yield "counted since the start: " + ", ".join(f"{name} {count}" for name, count in sorted(lost.items()))


def _version(module: str, distributions: _Distributions) -> str:
    package = module.partition(".")[0]
    name, *_ = distributions.get(package, [package])  # Python 3.10 does not list packages without a top_level.txt
    try:
        return version(name)
    except PackageNotFoundError:  # of the standard library
        return ""


def main(modules: Sequence[str]) -> NoReturn:
    """
    `walltime-run --check [MODULE …]`: import the application's modules, or every known library, and print the report.

    Exits with 1 when there are problems, a library is not measured or a module cannot be imported.
    """
    from walltime.instrumentor import instrument

    instrument()
    sys.path.insert(0, str(Path.cwd()))
    is_good = True
    for module in modules or [PARTS[name][1] for name in LIBRARIES if is_installed(PARTS[name][1])]:
        try:
            # As servers and shells have it: shop:app, shop/wsgi.py.
            name = module.partition(":")[0]
            is_file = name.endswith(".py") and Path(name).is_file()
            importlib.import_module(name.removesuffix(".py").strip("./").replace("/", ".") if is_file else name)
        except Exception as error:  # the application's or a library's own mistake
            sys.stderr.write(f"walltime-run: {module} cannot be imported: {type(error).__name__}: {error}\n")
            is_good = False
    is_there = sys.modules.__contains__ if modules else is_installed
    report = _report(2.0, is_there, is_there)
    if modules and not _opens():
        found = "nothing that was imported opens transactions: name the application's module, run it under gunicorn or"
        found += f" uvicorn, or {REMEDIES['wsgi']}, or with walltime.transaction(name): (docs/servers.md)"
        report = replace(report, problems=(*report.problems, found))
    sys.stdout.write(f"{report}\n")
    sys.exit(not is_good or bool(report.problems) or any(each.state == NOT_MEASURED for each in report.libraries))
