"""An hour of the shop in which one of two caches is restarted, stored in a collector."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from walltime_collector.health.incidents.current import Current
from walltime_collector.query.windows import Window

from tests import servers
from tests.collector.health.incidents.stored import slower, with_incidents
from tests.collector.traffic import CACHES, DATABASE, Sent, Shop, export_request

S = 1_000_000_000
BEFORE_S, COLD_S, AFTER_S = 1_500, 360, 300
"""The caches are warm for so long, then the first is empty for so long, then it is warm again, until now."""
KIND = "GET /product/{id}"
RESTARTED = CACHES[0]


@dataclass(frozen=True)
class Story:
    """A running collector and what it has stored."""

    web_url: str
    sent: tuple[Sent, ...]
    restarted_ns: int
    warm_ns: int
    incident: Current

    def views(self) -> dict[str, str]:
        """The address of every view, by a name."""
        kept = next(each for each in reversed(self.sent) if each.kept and each.name == KIND)
        statement = servers.over_http("GET", f"{self.web_url}/api/digest?since=1h").json()["statements"][0]
        return {
            "overview": "/",
            "kind": f"/kinds/shop/{quote(KIND, safe='')}",
            "transaction": f"/transactions/{kept.trace_id}",
            "servers": "/servers",
            "server": f"/servers/memcache.get/{quote(RESTARTED, safe='')}",
            "database": f"/servers/mysql.query/{quote(DATABASE, safe='')}",
            "statements": "/statements",
            "transactions": "/transactions",
            "diff": "/diff?time=last+2h&during=12m..5m&against=30m..12m",
            "statement": f"/statements/{statement['fingerprint_id']}",
            "collector": "/collector",
            "sql": "/sql",
            "advice": "/advice",
            "incidents": "/incidents",
            "incident": f"/incidents/{self.incident.id}",
        }


@contextmanager
def told(directory: Path) -> Iterator[Story]:
    """Serve it; sending about 3,000 requests takes two seconds."""
    shop, now_ns = Shop(seed=5), time.time_ns()
    warm_ns = now_ns - AFTER_S * S
    restarted_ns = warm_ns - COLD_S * S
    sent: list[Sent] = []
    at_ns = restarted_ns - BEFORE_S * S
    while at_ns < now_ns - S:
        is_cold = restarted_ns <= at_ns < warm_ns
        shop.hit_ratios = {CACHES[0]: 0.04 if is_cold else 0.97, CACHES[1]: 0.96}
        sent += shop.visit(at_ns)
        at_ns += 700_000_000
    incident = _incident(restarted_ns, warm_ns)
    with_incidents(directory, incident, status={"mysql_status": _database(now_ns), "cache_status": _cache(now_ns)})
    with servers.Collector(directory) as collector:
        for first in range(0, len(sent), 1_000):
            assert collector.send(export_request(sent[first : first + 1_000])).status_code == 200
        servers.eventually(lambda: _stored(collector) >= len(sent), 120)
        yield Story(collector.web_url, tuple(sent), restarted_ns, warm_ns, incident)


def _incident(restarted_ns: int, warm_ns: int) -> Current:
    """What the collector would have stored of it; it looks at what arrives within two minutes only."""
    incident = slower(KIND, server=RESTARTED)
    incident.started_s, incident.ended_s, incident.ended_because = restarted_ns // S, warm_ns // S, "over"
    incident.opened_s, incident.explained_s = incident.started_s + 60, warm_ns // S
    incident.usual = Window(restarted_ns - BEFORE_S * S, restarted_ns)
    incident.sentences = (
        f"{KIND}: 5.3 ms → 16 ms (×3.0).",
        f"mysql.query: 4.1× the calls (2.4 → 9.8 a transaction), at the usual speed, because memcache.get on"
        f" {RESTARTED} hits 96 % → 3.7 %.",
    )
    incident.headline = " ".join(incident.sentences)
    return incident


def _database(now_ns: int) -> list[dict[str, Any]]:
    """What the observed database said each second of the last ten minutes."""
    return [
        {
            "at": now_ns // S - at, "server": DATABASE, "version": "9.7.4", "over_ns": S, "uptime_s": 9_999 - at,
            "threads_running": at % 4, "threads_connected": 150 + at % 40, "max_connections": 200, "queries": 90,
            "page_requests": 9_000 + at, "page_misses": at % 3, "rows_read": 900, "rows_changed": at % 9,
            "tmp_tables_on_disk": 1, "row_lock_wait_ns": at * 9_999, "refused_connections": 0,
        }
        for at in range(600)
    ]  # fmt: skip


def _cache(now_ns: int) -> list[dict[str, Any]]:
    return [
        {
            "at": now_ns // S - at, "server": RESTARTED, "system": "memcached", "version": "1.6.38", "over_ns": S,
            "uptime_s": 600 - at, "bytes": 9_999 * (600 - at), "max_bytes": 64 << 20, "hits": 90, "misses": at // 60,
            "evictions": at % 5, "expired": 1, "commands": 99, "connections": 9, "max_connections": 1_024,
        }
        for at in range(600)
    ]  # fmt: skip


def _stored(collector: servers.Collector) -> int:
    top = servers.over_http("GET", f"{collector.web_url}/api/top?since=2h").json()
    return int(top.get("transactions", 0))
