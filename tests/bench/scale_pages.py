"""
How long the pages take over much data, as a browser sees it: over HTTP, from the request to the last byte.

Each request has other parameters than all before it, so that no shared answer helps.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from walltime_collector.format import iso_time
from walltime_collector.pages import urls
from walltime_collector.query.scope import Scope
from walltime_collector.query.windows import Window

from tests.bench.process_usage import usage
from tests.servers import Collector

FIRST_MS: Final = 1_000.0
INTERACTION_MS: Final = 300.0
"""The bars: of the first view after a start, and of every other one at p95."""
LENGTHS_S: Final = {"1 h": 3_600, "6 h": 21_600, "1 d": 86_400, "7 d": 604_800}
_S: Final = 1_000_000_000
_VALUES: Final = Path(__file__).with_name("scale_values.sql").read_text("utf-8")
_SERVERS: Final = (
    "SELECT component, address FROM targets_1m WHERE address != ''"
    " GROUP BY component, address ORDER BY sum(calls) DESC LIMIT 3"
)
_TRACES: Final = (
    "SELECT lower(hex(trace_id)) FROM transactions WHERE kept != '' AND toMinute(started_at) % 7 = 3"
    " LIMIT 1 BY name, toStartOfHour(started_at) LIMIT 20"
)


@dataclass(frozen=True)
class Stored:
    """What there is to ask for."""

    end_ns: int
    service: str
    kinds: Sequence[str]
    filters: Mapping[str, Sequence[str]]
    servers: Sequence[Sequence[str]]
    statements: Sequence[str]
    traces: Sequence[str]


@dataclass(frozen=True)
class PageTook:
    """A view with one kind of parameters; p95 is the nearest rank, with few requests the longest."""

    view: str
    params: str
    times: int
    median_ms: float
    p95_ms: float
    median_cpu_ms: float
    """Of collector and database together."""
    p95_cpu_ms: float
    bar_ms: float
    largest_bytes: int
    """Of a response, compressed."""


class Browser:
    """Fetches pages and measures them."""

    def __init__(self, collector: Collector) -> None:
        self._pid = collector.process.pid
        # one client for all: each reads the authorities of TLS first, 20 to 40 ms that are none of the collector's
        self.client = httpx.Client(base_url=collector.web_url, verify=False, timeout=300)  # noqa: S501  plain HTTP

    def timed(self, view: str, about: str, addresses: Sequence[str], bar_ms: float = INTERACTION_MS) -> PageTook:
        """Fetch each once."""
        took_ms, cpu_ms, sizes = [], [], []
        for address in addresses:
            cpu_s, started_s = usage(self._pid).cpu_s, time.perf_counter()
            response = self.client.get(address, headers={"accept": "text/html"})
            took_ms.append((time.perf_counter() - started_s) * 1000)
            cpu_ms.append((usage(self._pid).cpu_s - cpu_s) * 1000)
            # 404: a filter leaves nothing of a server
            assert response.status_code in (200, 404), f"{address}: {response.status_code} {response.text}"
            sizes.append(response.num_bytes_downloaded)
        median_ms, median_cpu_ms = statistics.median(took_ms), statistics.median(cpu_ms)
        p95_ms, p95_cpu_ms = p95(took_ms), p95(cpu_ms)
        return PageTook(view, about, len(addresses), median_ms, p95_ms, median_cpu_ms, p95_cpu_ms, bar_ms, max(sizes))

    def stored(self) -> Stored:
        """What the database has."""

        def sql(statement: str) -> Any:
            response = self.client.post("/api/sql", json={"sql": statement})
            assert response.status_code == 200, response.text
            return response.json()["rows"]

        ((end_ns, service, kinds, host, version, status, users, annotations),) = sql(_VALUES)
        filters = {"host": [host], "version": [version], "status": [str(status), f"{status // 100}xx"], "user": users}
        filters |= {"annotation": annotations, "kind": kinds}
        digest = self.client.get("/api/digest", params={"since": "30d"}).json()
        return Stored(
            int(end_ns),
            service,
            kinds,
            {name: values for name, values in filters.items() if values and values[0]},
            sql(_SERVERS),
            [each["fingerprint_id"] for each in digest["statements"][:3]],
            [row[0] for row in sql(_TRACES)],
        )


def p95(numbers: Sequence[float]) -> float:
    """The nearest rank."""
    return sorted(numbers)[math.ceil(len(numbers) * 0.95) - 1]


def browse(collector: Collector, times: int, report: Callable[[PageTook], object] = lambda _: None) -> list[PageTook]:
    """All views, each with several kinds of parameters, `times` times each."""
    browser = Browser(collector)
    took: list[PageTook] = []

    def measure(view: str, about: str, addresses: Sequence[str], bar_ms: float = INTERACTION_MS) -> None:
        took.append(browser.timed(view, about, addresses, bar_ms))
        report(took[-1])

    measure("/", "first after a start", ["/"], FIRST_MS)
    stored, chance = browser.stored(), random.Random(13)  # the same windows in each run
    views = {
        "/": ["/"],
        "/kinds/…": [urls.kind(stored.service, name) for name in stored.kinds],
        "/servers": ["/servers"],
        "/servers/…": [urls.server(component, address) for component, address in stored.servers],
        "/statements": ["/statements"],
        "/statements/…": [urls.statement(each) for each in stored.statements],
    }

    def window(length_s: int) -> tuple[int, int]:
        length_ns = length_s * _S - chance.randrange(length_s * _S // 10)
        return stored.end_ns - chance.randrange(1_800) * _S - length_ns, stored.end_ns + chance.randrange(60 * _S)

    def written(start_ns: int, end_ns: int) -> str:
        return f"{iso_time(start_ns)}..{iso_time(end_ns)}"

    def several(paths: Sequence[str], params: Callable[[int], Mapping[str, str]]) -> list[str]:
        return [urls.address(paths[at % len(paths)], params(at)) for at in range(times)]

    def in_window(length_s: int, **more: str | Sequence[str]) -> Callable[[int], Mapping[str, str]]:
        def params(at: int) -> Mapping[str, str]:
            chosen = {name: each if isinstance(each, str) else each[at % len(each)] for name, each in more.items()}
            return {"time": written(*window(length_s)), **chosen}

        return params

    def dragged(length_s: int, **more: str) -> Callable[[int], Mapping[str, str]]:
        def params(_: int) -> Mapping[str, str]:
            start_ns, end_ns = window(length_s)
            part_ns = (end_ns - start_ns) // chance.randrange(8, 30)
            at_ns = chance.randrange(end_ns - part_ns - (end_ns - start_ns) // 2, end_ns - 2 * part_ns)
            step_ns = Scope(Window(start_ns, end_ns)).step_s * _S  # charts.js selects whole steps
            first, last = at_ns // step_ns * step_ns, -(-(at_ns + part_ns) // step_ns) * step_ns
            return {"time": written(start_ns, end_ns), "during": written(first, last), **more}

        return params

    for view, paths in views.items():
        for length, length_s in LENGTHS_S.items():
            measure(view, length, several(paths, in_window(length_s)))
        for length in ("1 h", "1 d"):
            for name, values in stored.filters.items():
                if name != "kind" or not view.startswith("/kinds"):
                    about = f"{length}, filtered by {name}"
                    measure(view, about, several(paths, in_window(LENGTHS_S[length], **{name: values})))
            measure(view, f"{length}, a part selected", several(paths, dragged(LENGTHS_S[length])))
    for length in ("1 h", "6 h", "1 d"):
        kinds, length_s = views["/kinds/…"], LENGTHS_S[length]
        measure("/kinds/… why", f"{length}, a part selected", several(kinds, dragged(length_s, part="why")))
        slowest = several(kinds, in_window(length_s, part="why", slowest="5"))
        measure("/kinds/… why", f"{length}, the slowest 5 %", slowest)
    measure("/transactions/…", "with its place", [urls.transaction(each) for each in stored.traces])
    measure("/collector", "", several(["/collector"], in_window(3_600)))
    return took
