"""Pages of which it is known whether their queries follow lost cache lookups, or only change at the same time."""

from __future__ import annotations

import random
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from walltime_collector.clickhouse.engine import Engine
from walltime_collector.query.answers import Call
from walltime_collector.query.components import LOOKUPS
from walltime_collector.query.queries import Row
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.causes.because import follow, observed
from walltime_collector.query.why.causes.behind import Behind, behind
from walltime_collector.query.why.explain import explain
from walltime_collector.query.windows import Comparison, Window

from tests.collector.conftest import MINUTE_NS, Store
from tests.collector.traffic import MS, Sent, SentCall, Value

ONE, TWO, DATABASE = "10.0.0.11:11211", "10.0.0.12:11211", "10.0.0.5:3306"
FILL, LIST, N = "SELECT * FROM stock WHERE id = %s", "SELECT id FROM item", "SELECT name FROM seller WHERE id = %s"
Made = tuple[str, float, dict[str, Value]]


@dataclass
class Request:
    """One request: its time as a part of its window's, and whether it is on the slow side."""

    rng: random.Random
    is_slow: bool
    at: float
    version: str = ""
    tenant: str = ""

    def is_hit(self, usual: float, slow: float) -> bool:
        return self.rng.random() < (slow if self.is_slow else usual)

    def key(self) -> str:
        return f"item:#{self.rng.getrandbits(32):08x}"

    def query(self, text: str = FILL, times: int = 1) -> Iterator[Made]:
        for _ in range(times):
            said: dict[str, Value] = {"db.query.text": text, "db.response.returned_rows": 1}
            yield "mysql.query", 2 * self.rng.lognormvariate(-0.03, 0.25), {**_at(DATABASE), **said}

    def get(self, key: str, result: str, cache: str = ONE) -> Made:
        said: dict[str, Value] = {"walltime.memcache.key": key, "walltime.memcache.result": result}
        return "memcache.get", 0.3, {**_at(cache), **said, **({"error.type": "OSError"} if result == "error" else {})}

    def look_up(self, *, is_hit: bool, cache: str = ONE, is_stored: bool = True) -> Iterator[Made]:
        """The value comes from the cache, or from a query and is stored."""
        key = self.key()
        yield self.get(key, "hit" if is_hit else "miss", cache)
        if not is_hit:
            yield from self.query()
            if is_stored:
                stored: dict[str, Value] = {"walltime.memcache.key": key, "walltime.memcache.result": "stored"}
                yield "memcache.set", 0.2, {**_at(cache), **stored}


Page = Callable[[Request], Iterator[Made]]


def _at(address: str) -> dict[str, Value]:
    host, _, port = address.rpartition(":")
    return {"server.address": host, "server.port": int(port)}


# queries that follow misses


def emptied(of: Request) -> Iterator[Made]:
    yield from of.query(LIST)
    for _ in range(of.rng.randint(1, 8)):
        yield from of.look_up(is_hit=of.is_hit(0.9, 0.2))
    yield from of.query(N, 2)


def never_stored(of: Request) -> Iterator[Made]:
    """Another process fills the cache."""
    for _ in range(of.rng.randint(1, 8)):
        yield from of.look_up(is_hit=of.is_hit(0.9, 0.4), is_stored=False)


def filled(of: Request) -> Iterator[Made]:
    """The other way round: the cache has become warm, so there are fewer queries."""
    for _ in range(of.rng.randint(1, 8)):
        yield from of.look_up(is_hit=of.is_hit(0.2, 0.9))


def one_of_two(of: Request) -> Iterator[Made]:
    for at in range(8):
        is_hit = of.is_hit(0.95, 0.95 if at % 2 else 0.3)
        yield from of.look_up(is_hit=is_hit, cache=TWO if at % 2 else ONE)


def stored_at_the_end(of: Request) -> Iterator[Made]:
    """First all lookups, then all queries and stores."""
    looked_up = [[*of.look_up(is_hit=of.is_hit(0.95, 0.3))] for _ in range(5)]
    for calls in looked_up:
        yield calls[0]
    for calls in looked_up:
        yield from calls[1:]


def several_keys(of: Request) -> Iterator[Made]:
    keys = of.rng.randint(2, 8)
    hits = sum(of.is_hit(0.95, 0.3) for _ in range(keys))
    yield of.get(f"{of.key()} and {keys - 1} more", f"{hits}/{keys}")
    yield from of.query(times=keys - hits)


def server_is_dead(of: Request) -> Iterator[Made]:
    for at in range(6):
        if of.is_slow and at % 2:
            yield of.get(of.key(), "error", TWO)
            yield from of.query()
        else:
            yield from of.look_up(is_hit=of.is_hit(0.95, 0.95), cache=TWO if at % 2 else ONE)


def all_lost(of: Request) -> Iterator[Made]:
    """Without any variance on a side; only kept calls can show it."""
    for _ in range(4):
        yield from of.look_up(is_hit=not of.is_slow)


def by_redis(of: Request) -> Iterator[Made]:
    for component, took_ms, said in emptied(of):
        named = {key.replace("memcache", "redis"): value for key, value in said.items()}
        yield component.replace("memcache", "redis"), took_ms, named


FOLLOW: Mapping[str, Page] = {
    each.__name__: each
    for each in (
        emptied, never_stored, filled, one_of_two, stored_at_the_end, several_keys, server_is_dead, all_lost, by_redis,
    )
}  # fmt: skip


def slowest(of: Request) -> Iterator[Made]:
    """One lookup; those that miss are the slowest, so no side varies."""
    yield from of.query(LIST)
    yield from of.look_up(is_hit=of.is_hit(0.95, 0.95))
    yield from of.query(N)


def more_rows(of: Request) -> Iterator[Made]:
    """A query of three times the rows takes as much longer."""
    for component, took_ms, said in of.query(LIST):
        more = 3 if of.is_slow else 1
        yield component, took_ms * more, {**said, "db.response.returned_rows": 10 * more}


# queries that change at the same time


def by_page_size(of: Request) -> Iterator[Made]:
    """An item is one lookup and one query, hit or not; then two queries."""
    for _ in range(of.rng.randint(1, 10)):
        yield of.get(of.key(), "hit" if of.is_hit(0.7, 0.3) else "miss")
        yield from of.query(times=2 if of.is_slow else 1)


def by_deploy(of: Request) -> Iterator[Made]:
    of.version = "2.1" if of.is_slow else "2.0"
    yield from by_page_size(of)


def by_tenant(of: Request) -> Iterator[Made]:
    """More requests of the large tenant, which has cold keys and makes many queries, each for itself."""
    is_large = of.rng.random() < (0.5 if of.is_slow else 0.1)
    of.tenant = "large" if is_large else "small"
    for _ in range(4):
        yield of.get(of.key(), "hit" if of.rng.random() < (0.2 if is_large else 0.9) else "miss")
    yield from of.query(times=12 if is_large else 3)


def by_tenant_unnamed(of: Request) -> Iterator[Made]:
    """Nothing in a bill tells the tenants apart."""
    yield from by_tenant(of)
    of.tenant = ""


def by_tenant_with_one_lookup(of: Request) -> Iterator[Made]:
    """The same, and nothing in a transaction can be compared with another lookup of it."""
    *_, last = calls = [*by_tenant_unnamed(of)]
    is_large = len(calls) > 10
    yield of.get(of.key(), "hit" if of.rng.random() < (0.2 if is_large else 0.9) else "miss")
    yield from (each for each in calls if each[0] == last[0])


def both_cool_down(of: Request) -> Iterator[Made]:
    """Misses and queries both jump up and then become fewer, each for itself."""
    for _ in range(6):
        yield of.get(of.key(), "hit" if of.is_hit(0.9, 0.2 + 0.6 * of.at) else "miss")
    yield from of.query(times=3 + (round(10 * (1 - of.at) + of.rng.random()) if of.is_slow else 0))


def before_the_lookup(of: Request) -> Iterator[Made]:
    yield from of.query(times=of.rng.randint(1, 3) + (3 if of.is_slow else 0))
    for _ in range(3):
        yield of.get(of.key(), "hit" if of.is_hit(0.9, 0.3) else "miss")


def filled_by_another_process(of: Request) -> Iterator[Made]:
    for _ in range(6):
        yield of.get(of.key(), "hit" if of.is_hit(0.9, 0.3) else "miss")
    yield from of.query(times=7 if of.is_slow else 2)


def all_lost_and_doubled(of: Request) -> Iterator[Made]:
    """Without variance, and with a store behind the queries that were always made."""
    for _ in range(4):
        *_, stored = of.look_up(is_hit=False)
        yield of.get(str(stored[2]["walltime.memcache.key"]), "miss" if of.is_slow else "hit")
        yield from of.query(times=2 if of.is_slow else 1)
        if of.is_slow:
            yield stored


SAME_TIME: Mapping[str, Page] = {
    each.__name__: each
    for each in (
        by_page_size, by_deploy, by_tenant, by_tenant_unnamed, by_tenant_with_one_lookup, both_cool_down,
        before_the_lookup, filled_by_another_process, all_lost_and_doubled,
    )
}  # fmt: skip


def partly(of: Request) -> Iterator[Made]:
    """A deploy adds six queries, and its caches are cold."""
    of.version = "2.1" if of.is_slow else "2.0"
    for _ in range(of.rng.randint(1, 10)):
        yield from of.look_up(is_hit=of.is_hit(0.9, 0.2))
    yield from of.query(N, times=6 if of.is_slow else 0)


def compared(engine: Engine, store: Store, page: Page, *, kept: float) -> Why:
    """The answer for 200 transactions of the page against 600, of which this part was kept by chance."""
    return explain(engine, *stored(store, page, kept=kept))


def stored(store: Store, page: Page, *, kept: float, usual: int = 600, slow: int = 200) -> tuple[str, Comparison]:
    """The name of these transactions, and their times."""
    name, end_ns = f"GET /{page.__name__}/{kept}", time.time_ns()
    windows = [Window(end_ns - (40 - 20 * at) * MINUTE_NS, end_ns - (30 - 20 * at) * MINUTE_NS) for at in (0, 1)]
    for window, requests in zip(windows, _requests(name, usual, slow), strict=True):
        length_ns = window.end_ns - window.start_ns
        store([_sent(name, window.start_ns + int(each.at * length_ns), each, page, kept) for each in requests])
    return name, Comparison(windows[1], windows[0])


def judged(page: Page, *, kept: float, seed: int, usual: int = 600, slow: int = 200) -> tuple[float, bool]:
    """How many queries of such transactions follow lost lookups, and whether that is why; without an engine."""
    rows: list[Row] = []
    lookups: list[Behind] = []
    for is_slow, requests in enumerate(_requests(f"{page.__name__}/{kept}/{seed}", usual, slow)):
        for request in requests:
            sent = _sent("", 0, request, page, kept)
            bill = Counter({key: number for key, number in sent.bill().items() if isinstance(number, int)})
            lost = sum(bill[f"walltime.{each}.misses"] + bill[f"walltime.{each}.errors"] for each in LOOKUPS)
            row = {
                "is_slow": is_slow,
                "started_ns": len(rows),
                "lost": lost,
                "lookups": lost + sum(bill[f"walltime.{each}.hits"] for each in LOOKUPS),
                "mysql_query_calls": bill["walltime.mysql.query.calls"],
                "version": request.version,
                "annotations": sent.attributes,
                **dict.fromkeys(("host", "method", "status", "user"), ""),
            }
            if sent.kept:
                lookups += behind(len(rows), [_call(each) for each in sent.calls])
            rows.append(row)
    calls = [sum(row["mysql_query_calls"] for row in rows if row["is_slow"] == side) for side in (0, 1)]
    return follow("mysql.query", calls[1] / slow - calls[0] / usual, observed(rows, lookups))


def _requests(name: str, usual: int, slow: int) -> Iterator[list[Request]]:
    rng = random.Random(zlib.crc32(name.encode()))
    for is_slow, number in ((False, usual), (True, slow)):
        yield [Request(rng, is_slow, at / number) for at in range(number)]


def _call(sent: SentCall) -> Call:
    said, system = sent.attributes, sent.component.partition(".")[0]
    return Call(
        component=sent.component,
        name="",
        offset_ns=sent.offset_ns,
        duration_ns=sent.duration_ns,
        own_ns=sent.duration_ns,
        address="",
        text=str(said.get("db.query.text") or said.get(f"walltime.{system}.key", "")),
        result=str(said.get(f"walltime.{system}.result", "")),
        error=str(said.get("error.type", "")),
    )


def _sent(name: str, started_ns: int, of: Request, page: Page, kept: float) -> Sent:
    calls, offset_ns = [], 100_000
    for component, took_ms, said in page(of):
        calls.append(SentCall(component, offset_ns, int(took_ms * MS), said))
        offset_ns += int(took_ms * MS) + 1_000
    return Sent(
        f"{of.rng.getrandbits(128) | 1:032x}",
        f"{of.rng.getrandbits(64) | 1:016x}",
        name,
        started_ns,
        offset_ns + int(of.rng.lognormvariate(1, 0.25) * MS),
        version=of.version,
        kept="random" if of.rng.random() < kept else "",
        calls=calls,
        attributes={"tenant": of.tenant} if of.tenant else {},
    )
