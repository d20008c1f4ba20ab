"""Asks everything that the pages, the API and the collector itself ask, and keeps the queries with their parameters."""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints
from urllib.parse import quote, urlencode

from walltime_collector.clickhouse.engine import Engine, Parameters, Rows
from walltime_collector.config.settings import Settings
from walltime_collector.health.cardinality_limit import CardinalityLimit
from walltime_collector.health.counters import Health
from walltime_collector.health.full_disk import OldestDays
from walltime_collector.health.incidents.current import Current
from walltime_collector.health.incidents.watch import IncidentWatch
from walltime_collector.health.status import status
from walltime_collector.http.authentication import Access
from walltime_collector.pages import urls
from walltime_collector.pages.routes import VIEWS
from walltime_collector.query import queries
from walltime_collector.query.advise.candidate import Candidate, Removed
from walltime_collector.query.advise.dismissed import dismissals
from walltime_collector.query.digest.rank import of_log
from walltime_collector.query.incidents.looks import KindName, Thresholds
from walltime_collector.query.kept.sample import kept_sample
from walltime_collector.query.queries import BESIDE, CONDITIONS, SORT, query_text, run
from walltime_collector.query.scope import Filters, Scope, Steps
from walltime_collector.query.servers.status import active, cache_status, mysql_status
from walltime_collector.query.why.values import NO_MIX
from walltime_collector.query.windows import Window
from walltime_collector.sql.runner import QueryRunner
from walltime_collector.statements.fingerprint import fingerprint_id, of_template
from walltime_collector.web.application import make_app

from tests.collector.every_evidence import ask_for_evidence
from tests.collector.pages.conftest import Browser
from tests.collector.traffic import Sent

_FOLDER = Path(queries.__file__).parent
QUERIES = sorted(
    str(path.relative_to(_FOLDER).with_suffix("")) for path in _FOLDER.rglob("*.sql") if not path.name.startswith("_")
)
"""Files with `_` are parts of others, by `-- include`."""
Asked = list[tuple[str, Parameters]]
Questions = dict[str, Asked]
"""
Query → its SQL and the parameters that it was run with, once for each set of those that are not empty, with rows and
without.
"""
_WHERE = " and ".join(  # a field of every sort
    f"({each} or duration >= 0)"
    for each in (
        "kind = x and kept = slow and error and status in (404, 5xx, failed) and cpu.time > 1ms and queue.time > 1ms",
        "server = 10.0.0.5:3306 and statement ~ SELECT and annotation.tenant = a and annotation.items > 5",
        "cpu.wait > 1ms or cpu.throttled > 1ms or loop.run > 1ms or loop.wait > 1ms",
        "mysql.time > 1ms and mysql.max > 1ms and memcache.misses > 1 and redis.get.hits > 1 and redis.get.time > 1s",
        "other.time > 1ms and lock.time > 1ms and not lock.time < 1ms and calls > 9 and tax.rows > 1",
    )
)
_SCOPES: tuple[dict[str, str], ...] = (
    {"time": "last 1h"},
    {"time": "last 1d"},
    {"time": "10m..now", "during": "5m..3m"},
    {"time": "last 1d", "service": "shop", "host": "web-1", "status": "2xx", "user": "7", "annotation": "tenant=a"},
    {"time": "last 1d", "where": _WHERE},
    {"time": "10m..now", "during": "5m..3m", "where": _WHERE},
)
_CHANGED = re.compile("|".join((*CONDITIONS.values(), SORT, BESIDE)))
"""Where the SQL that is run begins to differ from its file."""


class Recording:
    """An engine that keeps what it is asked; it changes nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._names = {_CHANGED.split(query_text(name))[0]: name for name in QUERIES}
        self.questions: Questions = defaultdict(list)
        self._shapes: set[tuple[str, frozenset[str], bool, bool]] = set()

    def query(self, sql: str, parameters: Parameters | None = None) -> Rows:
        rows = self._engine.query(sql, parameters)
        if name := next((name for beginning, name in self._names.items() if sql.startswith(beginning)), ""):
            values = frozenset(key for key, value in (parameters or {}).items() if value)
            shape = name, values, bool(rows), BESIDE in sql
            if shape not in self._shapes:
                self._shapes.add(shape)
                self.questions[name].append((sql, dict(parameters or {})))
        return rows

    def command(self, sql: str, parameters: Parameters | None = None) -> None:
        pass

    def insert_rows(self, table: str, rows: bytes, token: str) -> None:
        """The watch would explain the incident in this engine only."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def store_incident(engines: Iterable[Engine], sent: list[Sent]) -> str:
    """Store the same open incident in each engine, and return its id."""
    at_s = int(time.time()) - 60
    incident = Current(KindName("shop", _typical(sent).name), at_s, at_s, at_s)
    incident.usual = Window((at_s - 600) * 10**9, at_s * 10**9)
    rows = json.dumps(incident.row("this", time.time())).encode()
    for engine in engines:
        engine.insert_rows("incidents", rows, "an incident")
    return incident.id


def ask_everything(engine: Engine, data: Path, sent: list[Sent], incident_id: str) -> Questions:
    """
    Ask it of `sent` and of an incident, which the engine has stored.

    A new view needs its address in `_addresses`; a query that no view asks, a line here.
    """
    recording, health = Recording(engine), Health()
    asked = cast(Engine, recording)
    _open(asked, health, data, _addresses(sent, incident_id))
    now_ns = time.time_ns()
    hour, texts = Scope(Window(now_ns - 3_600 * 10**9, now_ns)), _statements(_typical(sent))
    # only of very many transactions
    assert kept_sample(asked, hour, texts=texts)
    # only where calls of several components became slower, a mix changed, or waits are known
    for _, compared in recording.questions["why/populations"][:3]:
        ask_for_evidence(asked, compared, _fingerprint_id(_typical(sent)))
        run(asked, "why/held_up", **compared)
        lengths = {"slow_block_ns": 10**9, "usual_block_ns": 10**9}
        run(asked, "why/dimensions/servers", **compared, **lengths, servers=["mysql.query 10.0.0.5:3306"])
        mix = {**NO_MIX, "mix_field": "host", "mix_values": ["web-1"]}
        mix |= {"mix_slow_weights": [1.0, 0.0], "mix_usual_weights": [1.0, 2.0]}
        for name in ("mix", "dimension"):
            run(asked, f"why/evidence/{name}", **{**compared, **mix, "value": "host = web-1"})
        run(asked, "why/evidence/server", **compared, component="mysql.query", address="10.0.0.5:3306")
        run(
            asked,
            "why/dimensions/blocks",
            **{**compared, **mix, **lengths},
            longest_ns=10**9,
            candidates=_hashes(asked, ("host", "web-1"), ("status", "2xx")),
            named=[],
        )
    # only of servers that are observed
    active(asked, hour, Steps.of(hour), "mysql", "10.0.0.5:3306")
    mysql_status(asked, "10.0.0.5:3306", Steps.of(hour))
    cache_status(asked, "10.0.0.11:11211", Steps.of(hour))
    run(asked, "scoped/distribution_minutes", **hour.in_whole_minutes().parameters(), step_s=60)
    sampled = replace(hour, filters=Filters(host="web-1"), sample_level=4)
    run(asked, "scoped/in_sample", **sampled.parameters())
    last_s = now_ns // 10**9 // 60 * 60
    some_minutes = [last_s - 60 * at for at in range(10)]
    for name, questions in recording.questions.items():
        if name.startswith("why/"):
            questions += [(sql, {**each, "minutes": some_minutes}) for sql, each in questions[-2:] if "minutes" in each]
        one_in_16 = {name: sampled.parameters()[name] for name in ("source", "sample_level")}
        questions += [(sql, {**each, **one_in_16}) for sql, each in questions[-1:] if "source" in each]
    _ask_for_advice(asked, hour, _typical(sent))
    # only of kinds that are not as usual
    run(asked, "incidents/earlier", service="shop", name=_typical(sent).name, now_s=last_s + 86_400, least_days=1)
    run(asked, "incidents/same_hour", service="shop", kind=_typical(sent).name, start_s=last_s + 86_400)
    series = {"measures": ["time", "calls"], "components": ["", "mysql.query"], "addresses": ["", ""]}
    kind, suspect = {"service": "shop", "kind": _typical(sent).name}, {"start_s": last_s - 240, "end_s": last_s}
    run(asked, "incidents/transactions", **kind, **suspect, limit=2_000, **series)
    run(asked, "diff/kind", **hour.parameters(), bound_ns=10**9, with_failed=True)
    run(asked, "servers/caches_of_bills", within_s=3_600)
    for is_shared in (True, False):
        watch = IncidentWatch(
            asked, health, Thresholds(), look_s=30, notify=list, collector="this", is_shared=is_shared
        )
        watch.look()
    CardinalityLimit(asked, health, most=1).look()
    OldestDays(asked, health, lambda: (0, 1 << 40)).look()
    return recording.questions


def ask_by_commands(engine: Engine, data: Path, sent: list[Sent]) -> Questions:
    """Ask what the main commands do: a few of the queries, in a twentieth of the time."""
    recording, one = Recording(engine), _typical(sent)
    addresses = (
        "/api/top?since=15m",
        "/api/digest?since=15m",
        f"/api/transactions/{one.trace_id}",
        f"/api/find?{urlencode({'since': '1d', 'sort': 'mysql.time', 'where': _WHERE})}",
        f"/api/why?{urlencode({'kind': one.name, 'slowest': '5'})}",
    )
    _open(cast(Engine, recording), Health(), data, addresses)
    return recording.questions


def _open(engine: Engine, health: Health, data: Path, addresses: Iterable[str]) -> None:
    settings, runner = Settings(data=data), QueryRunner(engine, "walltime")
    browser = Browser(make_app(engine, health, runner, Access(settings), lambda: status(engine, health, settings, {})))
    for address in addresses:
        response = browser.get(address)
        assert response.status_code == 200, f"{address}: {response.text}"
    runner.close()


def _ask_for_advice(engine: Engine, hour: Scope, one: Sent) -> None:
    """What is asked only where there is something to advise."""
    for least_ns in (0, 10**15):
        run(engine, "advise/waits", **of_log(hour), least_ns=least_ns, limit=100, most=3)
    kind = Scope(hour.window, Filters(one.service, one.name))
    for of in get_args(get_type_hints(Removed)["of"]):
        candidate = Candidate(
            "n_plus_one", one.service, "", {(one.service, one.name): 1.0}, "", "",
            of=of, texts=tuple(_statements(one)), targets=("mysql.query\t10.0.0.5:3306",),
            least_helped=0, least_mean_ns=0, least_share=0.0,
        )  # fmt: skip
        assert run(engine, "advise/saved", **kind.parameters(), **candidate.params)[0]["transactions"]
    hour_s = hour.window.start_ns // 10**9
    run(engine, "advise/call_times", texts=_statements(one), from_s=hour_s, until_s=hour_s - 60, around_s=3_600)
    run(
        engine,
        "advise/holders",
        **hour.parameters(),
        starts=[hour.window.start_ns],
        ends=[hour.window.end_ns],
        waits=1,
        spans=[one.span_id],
        minutes=[],
        table="(?i)cart_line",
        limit=3,
    )
    assert dismissals(engine)


def _hashes(engine: Engine, *values: tuple[str, str]) -> list[int]:
    sql = "SELECT cityHash64({dimension:String}, {value:String}) AS hash"
    return [int(engine.query(sql, {"dimension": one, "value": two})[0]["hash"]) for one, two in values]


def _addresses(sent: list[Sent], incident_id: str) -> Iterator[str]:
    one = _typical(sent)
    two = next(each for each in sent if each.parent_span_id and each.kept)
    names = {
        "service": one.service,
        "name": one.name,
        "trace": one.trace_id,
        "component": "mysql.query",
        "address": "10.0.0.5:3306",
        "fingerprint_id": f"{_fingerprint_id(one):016X}",
        "id": incident_id,
    }
    quoted = {name: quote(text, safe="") for name, text in names.items()}
    for view in VIEWS:
        for scope in _SCOPES if view.has_scope else ({},):
            yield f"{view.pattern.format(**quoted)}.json?{urlencode(scope)}"
    for scope in _SCOPES:
        yield f"{urls.kind(one.service, one.name)}.json?{urlencode({**scope, 'part': 'why'})}"
    yield urls.transaction(two.trace_id)
    for params in ({"since": "15m"}, {"since": "1d", "service": "shop"}, {"since": "1d", "service": "sho"}):
        yield f"/api/top?{urlencode(params)}"
        yield f"/api/digest?{urlencode(params)}"
    for compared in ({"slowest": "5"}, {"during": "5m..3m"}, {"when": "duration > 20ms"}):
        yield f"/api/why?{urlencode({'kind': one.name, **compared})}"
    yield f"/api/why?{urlencode({'kind': 'GET /product'})}"
    for scope in ({"since": "1d"}, {"during": "10m..", "state": "computing"}, {"host": "web-1", "where": _WHERE}):
        yield f"/api/profile?{urlencode({'kind': one.name, **scope})}"
    for compared in ({"during": "5m..", "against": "1h..5m"}, {"when": "status = 2xx", "where": _WHERE}):
        yield f"/api/diff?{urlencode(compared)}"
    for params in ({"since": "1d"}, {"since": "1d", "sort": "mysql.time", "where": _WHERE}, {"ended_within": "1d"}):
        yield f"/api/find?{urlencode(params)}"
    yield f"/api/transactions/{one.trace_id[:12]}"
    yield "/api/advice?since=1h"
    yield "/api/advice/dismissed"
    yield f"/api/incidents?{urlencode({'since': '1d', 'service': 'shop', 'open': '1'})}"
    yield f"/api/incidents/{incident_id}"
    yield "/api/applications"


def _typical(sent: list[Sent]) -> Sent:
    return next(each for each in sent if each.name == "GET /product/{id}" and each.kept and _statements(each))


def _fingerprint_id(sent: Sent) -> int:
    return fingerprint_id(of_template(_statements(sent)[0]))


def _statements(sent: Sent) -> list[str]:
    return [str(call.attributes["db.query.text"]) for call in sent.calls if "db.query.text" in call.attributes]
