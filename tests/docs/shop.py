"""The hour of a shop that the documentation shows: the same transactions for every run, ending now, in a collector."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from walltime_collector.query.incidents.answer import Change
from walltime_collector.query.incidents.history import Series
from walltime_collector.query.windows import Window

from tests import servers
from tests.collector.health.incidents.stored import slower, with_incidents
from tests.collector.traffic import CACHES, MS, SAMPLE_NS, Sent, SentCall, SentSample, Shop, Value, export_request

S = 1_000_000_000
RESTART_S, WARM_S, DEPLOY_S = 12 * 60, 6 * 60, 25 * 60
"""So long ago: the first cache was restarted, it was warm again, version 2.1 was deployed on web-2."""
LENGTH_S = 50 * 60
KIND = "GET /product/{id}"
SLOWNESS_OF_2_1 = 1.6
LOCK_WAIT_NS = 383_412_000


class DocumentedShop(Shop):
    """The shop of the tests on two hosts, with two versions, users, a report and a page with N+1 statements."""

    host, version = "web-1", "2.0"
    slowness = 1.0
    is_deployed = False

    def visit(self, started_ns: int) -> list[Sent]:
        self.host = self._random.choice(("web-1", "web-2"))
        self.version = "2.1" if self.is_deployed and self.host == "web-2" else "2.0"
        page = self._random.random()
        if page < 0.02:
            return self.report(started_ns)
        return self.orders(started_ns) if page < 0.08 else super().visit(started_ns)

    def search(self, started_ns: int) -> list[Sent]:
        self.slowness = SLOWNESS_OF_2_1 if self.version == "2.1" else 1.0
        sent = super().search(started_ns)
        self.slowness = 1.0
        return sent

    def orders(self, started_ns: int) -> list[Sent]:
        sent = self._sent("GET /orders", started_ns)
        self._query(sent, "SELECT id FROM orders WHERE user_id = %s ORDER BY id DESC LIMIT 12", 1.2, rows=12)
        for _ in range(12):
            self._query(sent, "SELECT * FROM order_line WHERE order_id = %s", 1.1, rows=3)
        return [self._finished(sent)]

    def report(self, started_ns: int) -> list[Sent]:
        sent = self._sent("GET /report", started_ns)
        self._query(sent, "SELECT day, sum(price_cents) FROM sales GROUP BY day ORDER BY day", 45, rows=90)
        self._call(sent, "template.render", 70)
        self._call(sent, "view", 150)
        view_ns = sent.calls[-1].duration_ns
        to_json = "report (shop/views.py:12);to_json (shop/serializers.py:88)"
        wait = "report (shop/views.py:19);lines (shop/exchange.py:40)"
        sent.samples = [
            SentSample(
                "shop/serializers.py:88", "to_json", count, "view", "json.encoder.iterencode", "computing", to_json
            )
            for count in [view_ns * 6 // 10 // SAMPLE_NS]
            if count
        ]
        if count := view_ns * 3 // 10 // SAMPLE_NS:
            lock = "threading.Lock.acquire"
            sent.samples.append(SentSample("shop/exchange.py:40", "lines", count, "view", lock, "lock", wait))
        return [self._finished(sent)]

    def _sent(self, name: str, started_ns: int, service: str = "shop") -> Sent:
        sent = super()._sent(name, started_ns, service)
        sent.host, sent.version = ("rank-1", "7") if service == "ranker" else (self.host, self.version)
        sent.attributes = {"user.id": f"u-{self._random.randrange(1, 40)}", "tenant": self._random.choice("ab")}
        return sent

    def _query(self, sent: Sent, text: str, mean_ms: float, rows: int) -> None:
        super()._query(sent, text, mean_ms * self.slowness, rows)

    def _finished(self, sent: Sent) -> Sent:
        samples = sent.samples
        super()._finished(sent)
        sent.samples = samples or sent.samples
        return sent


def documented(now_ns: int) -> tuple[list[Sent], Sent]:
    """Return the transactions of the hour before `now_ns`, and the checkout among them that waited for a row lock."""
    shop = DocumentedShop(seed=16)
    sent: list[Sent] = []
    start_ns = now_ns - LENGTH_S * S
    for at_ns in range(start_ns, now_ns - 2 * S, S):
        ago_s = (now_ns - at_ns) / S
        is_cold = WARM_S < ago_s <= RESTART_S
        shop.hit_ratios = {CACHES[0]: 0.04 if is_cold else 0.97, CACHES[1]: 0.96}
        shop.is_deployed = ago_s <= DEPLOY_S
        sent += shop.visit(at_ns)
    waited = next(each for each in reversed(sent) if each.name == "POST /checkout" and not each.is_error)
    waited.kept = "slow"
    query = next(call for call in waited.calls if call.component == "mysql.query")
    _lengthen(waited, query, LOCK_WAIT_NS + 2 * MS - query.duration_ns)
    return sent, waited


def _lengthen(sent: Sent, longer: SentCall, more_ns: int) -> None:
    for call in sent.calls[sent.calls.index(longer) + 1 :]:
        call.offset_ns += more_ns
    longer.duration_ns += more_ns
    sent.duration_ns += more_ns


def slow_log(sent: list[Sent], waited: Sent) -> str:
    """What MariaDB would have logged of the statements of kept transactions, with `long_query_time = 0.001`."""
    entries = []
    for each in sent:
        if each.service != "shop" or not each.kept:
            continue
        for call in each.calls:
            text = call.attributes.get("db.query.text")
            if call.component == "mysql.query" and text and call.duration_ns > 2 * MS:
                ended_ns = each.started_ns + call.offset_ns + call.duration_ns
                is_waiting = each is waited and "FOR UPDATE" in str(text)
                server_ns = LOCK_WAIT_NS if is_waiting else call.duration_ns * 9 // 10
                entries.append((ended_ns, _entry(each, call.attributes, ended_ns, server_ns, is_waiting)))
    return "".join(text for _, text in sorted(entries))


def _entry(sent: Sent, said: dict[str, Value], ended_ns: int, server_ns: int, is_waiting: bool) -> str:
    at = datetime.fromtimestamp(ended_ns // S, tz=timezone.utc)
    rows = int(str(said["db.response.returned_rows"]))
    examined = rows * (220 if "LIKE" in str(said["db.query.text"]) else 1)
    statement = str(said["db.query.text"]).replace("%s", "4711")
    comment = f"/*route='{sent.name}',service='shop',traceparent='00-{sent.trace_id}-{sent.span_id}-01'*/"
    return (
        f"# Time: {at:%y%m%d %H:%M:%S}\n"
        f"# User@Host: shop[shop] @ {sent.host} [10.0.0.21]\n"
        "# Thread_id: 42  Schema: shop  QC_hit: No\n"
        f"# Query_time: {server_ns / S:.6f}  Lock_time: 0.000{'212' if is_waiting else '031'}"
        f"  Rows_sent: {rows}  Rows_examined: {examined}\n"
        f"# Rows_affected: 0  Bytes_sent: {rows * 90}\n"
        f"# Pages_accessed: {examined}  Pages_read: 0  Pages_prefetched: 0  Pages_updated: 0  Old_rows_read: 0\n"
        f"# Pages_read_time: 0.0000  Engine_time: {(server_ns / MS) * (0.998 if is_waiting else 0.05):.4f}\n"
        f"SET timestamp={ended_ns // S};\n{statement} {comment};\n"
    )


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Store it in a collector and return the address of its pages, when all of it is stored."""
    now_ns = time.time_ns()
    sent, waited = documented(now_ns)
    log = folder / "slow.log"
    log.write_text(slow_log(sent, waited))
    incident = slower(KIND, server=CACHES[0])
    incident.started_s, incident.ended_s = now_ns // S - RESTART_S, now_ns // S - WARM_S
    incident.opened_s, incident.ended_because = incident.started_s + 60, "over"
    incident.explained_s = incident.ended_s
    changes = (
        Change("time", "", "", 6.25e6, 18.4e6, 20.1e6),
        Change("hit_ratio", "memcache.get", CACHES[0], 0.96, 0.1, 0.02),
        Change("calls", "mysql.query", "", 0.2, 2.7, 3.1),
    )
    incident.changes = {Series(each.measure, each.component, each.address): each for each in changes}
    incident.sentences = (
        f"{KIND}: 6.25 ms → 18.4 ms (+12.2 ms).",
        "mysql.query: 11× the calls (0.2 → 2.7) at the usual speed (3.90 ms each), +9.82 ms, because memcache.get on"
        f" {CACHES[0]} hits 10 % instead of 96 %; {CACHES[1]} is unchanged (96 %).",
    )
    incident.headline = " ".join(incident.sentences)
    incident.usual = Window((incident.started_s - 600) * S, incident.started_s * S)
    with servers.Collector(with_incidents(folder / "data", incident), slow_log=f"db1={log}") as collector:
        for first in range(0, len(sent), 1_000):
            assert collector.send(export_request(sent[first : first + 1_000])).status_code == 200
        collector.wait_until_loaded(sum(1 + (len(each.calls) if each.kept else 0) for each in sent), 120)
        count = "SELECT count() AS n FROM slow_queries"
        entries = log.read_text().count("# Query_time")
        servers.eventually(lambda: _rows(collector.web_url, count) >= entries, 120)
        yield collector.web_url


def _rows(web_url: str, statement: str) -> int:
    answer = servers.over_http("POST", f"{web_url}/api/sql", json={"sql": statement}).json()
    return int(answer["rows"][0][0])
