"""What people on live pages cost: each fetches its page every 10 seconds, or as it says."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import httpx
from walltime_collector.pages import urls

from tests.bench.process_usage import usage
from tests.bench.scale_pages import Browser
from tests.servers import Collector

PEOPLE: Final = 20
BAR: Final = 0.05
"""Of a core, for all of them."""
LIVE_S: Final = 10.0
_S: Final = 1_000_000_000


@dataclass(frozen=True)
class LiveTook:
    """CPU of collector and database above that of the same time without people, as a share of a core."""

    about: str
    people: int
    requests: int
    answered_304: int
    seconds: float
    idle_share: float
    share: float
    bar: float


def watch(collector: Collector, seconds: float) -> list[LiveTook]:
    """Measure idle first, then everybody on the overview, then people on several views."""
    stored = Browser(collector).stored()
    minutes = (time.time_ns() - stored.end_ns) // (60 * _S) + 60  # nothing is younger than the fill
    params = {"time": f"last {minutes}m"}
    idle_share = _idle_share(collector, seconds)
    overview = [urls.overview(params)]
    component, address = stored.servers[0]
    kind = urls.kind(stored.service, stored.kinds[0], params)
    server, statement = urls.server(component, address, params), urls.statement(stored.statements[0], params)
    mixed = overview * 8 + [kind] * 4 + [urls.servers(params)] * 3 + [server, statement] + [urls.statements(params)] * 2
    mixed.append(urls.collector())
    return [
        _watched(collector, "all on the overview", overview * PEOPLE, seconds, idle_share),
        _watched(collector, "on seven views", mixed, seconds, idle_share),
    ]


def _idle_share(collector: Collector, seconds: float) -> float:
    before_s = usage(collector.process.pid).cpu_s
    time.sleep(seconds)
    return (usage(collector.process.pid).cpu_s - before_s) / seconds


def _watched(collector: Collector, about: str, addresses: Sequence[str], seconds: float, idle_share: float) -> LiveTook:
    statuses: list[int] = []
    end_s = time.monotonic() + seconds

    def person(number: int, address: str) -> None:
        etag = ""
        with httpx.Client(base_url=collector.web_url, verify=False, timeout=60) as client:  # noqa: S501  plain HTTP
            next_s = end_s - seconds + LIVE_S * number / len(addresses)
            while next_s < end_s:
                time.sleep(max(next_s - time.monotonic(), 0))
                known = {"If-None-Match": etag} if etag else {}
                response = client.get(address, headers={"Accept": "text/html", **known})
                statuses.append(response.status_code)
                etag = response.headers.get("etag", etag)
                next_s += LIVE_S

    people = [threading.Thread(target=person, args=each) for each in enumerate(addresses)]
    before_s, started_s = usage(collector.process.pid).cpu_s, time.monotonic()
    for each in people:
        each.start()
    for each in people:
        each.join()
    took_s = max(time.monotonic() - started_s, seconds)
    share = (usage(collector.process.pid).cpu_s - before_s) / took_s - idle_share
    assert set(statuses) <= {200, 304}, statuses
    return LiveTook(about, len(addresses), len(statuses), statuses.count(304), took_s, idle_share, max(share, 0.0), BAR)
