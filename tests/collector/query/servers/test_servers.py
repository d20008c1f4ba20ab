"""Servers over time, their users and what is requested of them, against the same sums over what was sent."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from typing import Any
from zlib import crc32

import pytest
from walltime_collector.errors import NotStored
from walltime_collector.query.scope import Filters, Scope, Steps
from walltime_collector.query.servers.rank import server, servers
from walltime_collector.query.servers.requested import NO_PREFIX, key_prefix
from walltime_collector.query.windows import Window
from walltime_collector.statements.fingerprint import fingerprint

from tests.collector.conftest import MINUTE_NS, Store, Stored
from tests.collector.traffic import CACHES, DATABASE, MS, Sent, SentCall, Value

S_NS = 1_000_000_000
HOUR_NS = 60 * MINUTE_NS


def targets(sent: Sent) -> Iterator[tuple[str, str, list[int]]]:
    bill: Mapping[str, Any] = sent.bill()
    columns = [bill.get(f"walltime.target.{name}", []) for name in ("calls", "time_ns", "errors", "hits", "misses")]
    names = zip(bill.get("walltime.target.component", []), bill.get("walltime.target.address", []), strict=True)
    for at, (component, address) in enumerate(names):
        yield component, address, [column[at] for column in columns]


def expected(sent: list[Sent], scope: Scope, steps: Steps) -> dict[tuple[str, str], dict[int, list[int]]]:
    """Server → step → sums."""
    found: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0] * 5))
    for each in sent:
        if not scope.window.start_ns <= each.started_ns < scope.window.end_ns:
            continue
        if scope.filters.kind and each.name != scope.filters.kind:
            continue
        if scope.filters.status == "failed" and not each.is_error:
            continue
        step = (each.started_ns - steps.start_ns) // (steps.step_s * S_NS)
        for component, address, counters in targets(each):
            sums = found[component, address][step]
            found[component, address][step] = [a + b for a, b in zip(sums, counters, strict=True)]
    return found


def window_of(shop: Stored, *, longer_ns: int = 0) -> Window:
    started = [each.started_ns for each in shop.sent]
    return Window(min(started) + 90 * S_NS - longer_ns, max(started) - 47 * S_NS)


@pytest.mark.parametrize("longer_ns", [0, 3 * HOUR_NS], ids=["short steps", "whole minutes and the rest"])
@pytest.mark.parametrize(
    "filters", [Filters(), Filters(service="shop", kind="GET /product/{id}"), Filters(status="failed")], ids=str
)
def test_servers_add_up_in_every_step(shop: Stored, filters: Filters, longer_ns: int) -> None:
    scope = Scope(window_of(shop, longer_ns=longer_ns), filters)
    answer = servers(shop.engine, scope)
    wanted = expected(shop.sent, scope, answer.steps)
    assert wanted
    assert {(each.component, each.address) for each in answer.servers} == set(wanted)
    for each in answer.servers:
        by_step = wanted[each.component, each.address]
        assert len(each.steps) == answer.steps.count
        for at, sums in enumerate(each.steps):
            assert list(astuple(sums)) == by_step.get(at, [0] * 5)
        whole = [sum(column) for column in zip(*by_step.values(), strict=True)]
        assert [each.calls, each.time_ns, each.errors, each.hits, each.misses] == whole
        assert each.share == pytest.approx(each.time_ns / answer.total_ns)
    assert [each.time_ns for each in answer.servers] == sorted((each.time_ns for each in answer.servers), reverse=True)


def test_users_of_a_server_are_the_kinds_that_call_it(shop: Stored) -> None:
    scope = Scope(window_of(shop, longer_ns=3 * HOUR_NS))
    detail = server(shop.engine, scope, "memcache.get", CACHES[1])
    calls: dict[tuple[str, str], int] = defaultdict(int)
    callers: dict[tuple[str, str], int] = defaultdict(int)
    for each in shop.sent:
        if scope.window.start_ns <= each.started_ns < scope.window.end_ns:
            for component, address, counters in targets(each):
                if (component, address) == ("memcache.get", CACHES[1]):
                    calls[each.service, each.name] += counters[0]
                    callers[each.service, each.name] += 1
    assert {(each.service, each.name): each.calls for each in detail.users} == calls
    assert {(each.service, each.name): each.transactions for each in detail.users} == callers
    assert detail.all_users == detail.server.kinds == len(calls)
    assert sum(each.share for each in detail.users) == pytest.approx(1)
    assert {each.component for each in detail.others} == {"memcache.set"}


def kept_texts(shop: Stored, component: str, address: str, text_of: Callable[[SentCall], str]) -> dict[str, int]:
    host, _, port = address.rpartition(":")
    found: dict[str, int] = defaultdict(int)
    for each in shop.sent:
        for call in each.calls if each.kept == "random" else []:
            where = (str(call.attributes.get("server.address")), str(call.attributes.get("server.port")))
            if call.component == component and where == (host, port):
                found[text_of(call)] += 1
    return found


def test_what_is_requested_is_estimated_from_the_calls_kept_by_chance(shop: Stored) -> None:
    scope = Scope(Window(min(each.started_ns for each in shop.sent), time.time_ns()))
    detail = server(shop.engine, scope, "memcache.get", CACHES[1])
    wanted = kept_texts(
        shop, "memcache.get", CACHES[1], lambda call: str(call.attributes["walltime.memcache.key"]).partition("#")[0]
    )
    kept = sum(wanted.values())
    assert detail.sample.is_fair
    assert detail.sample.calls == kept > 20
    assert {each.text: round(each.calls_share * kept) for each in detail.requested} == wanted
    assert sum(each.calls for each in detail.requested) == pytest.approx(detail.server.calls)
    assert sum(each.share for each in detail.requested) == pytest.approx(1)
    (product,) = [each for each in detail.requested if each.text == "product:"]
    assert product.hit_ratio is not None
    assert 0.2 < product.hit_ratio < 0.9  # 55 % of the lookups on this server hit

    detail = server(shop.engine, scope, "mysql.query", DATABASE)
    wanted = kept_texts(shop, "mysql.query", DATABASE, lambda call: fingerprint(str(call.attributes["db.query.text"])))
    # spans of the ranker were kept because the shop's transaction was
    assert {each.text: round(each.calls_share * detail.sample.calls) for each in detail.requested} == wanted
    assert all(len(each.fingerprint_id) == 16 for each in detail.requested)


@pytest.mark.parametrize("address", ["[::1]:3306", "/run/mysqld.sock", "db.example:3306"])
def test_addresses_of_every_form_find_their_calls(store: Store, shop: Stored, address: str) -> None:
    now_ns = time.time_ns()
    trace_id = f"{crc32(address.encode()):032x}"
    sent = Sent(trace_id, "0d" * 8, f"GET {address}", now_ns - MINUTE_NS, 100 * MS, kept="random")
    host, _, port = (address, "", "") if address.startswith("/") else address.rpartition(":")
    where: dict[str, Value] = {"server.address": host.strip("[]")}
    if port:
        where["server.port"] = int(port)
    sent.calls = [SentCall("mysql.query", MS, 5 * MS, {"db.query.text": "SELECT 1", **where})]
    store([sent])
    detail = server(shop.engine, Scope(Window(now_ns - 5 * MINUTE_NS, now_ns)), "mysql.query", address)
    assert detail.server.calls == 1
    assert [each.text for each in detail.requested] == ["select ?"]


def test_a_server_that_was_not_called_is_named(shop: Stored) -> None:
    with pytest.raises(NotStored, match=r"no call of memcache\.get on 10\.9\.9\.9:1"):
        server(shop.engine, Scope(window_of(shop)), "memcache.get", "10.9.9.9:1")


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        ("product:123:de", "product:"),
        ("product:#5f1c09be6a0d2b17", "product:"),
        ("product:#5f1c09be6a0d2b17 and 4 more", "product:"),
        ("user_42", "user_"),
        ("user42", "user"),
        ("v2:cart:17:lines", "v2:cart:"),
        ("session/deadbeef01", "session/"),
        ("facets", "facets"),
        ("shop.cart.total", "shop.cart.total"),
        ("17:product", NO_PREFIX),
        ("#5f1c09be6a0d2b17", NO_PREFIX),
        ("größe:1", NO_PREFIX),
        ("", NO_PREFIX),
    ],
)
def test_the_prefix_of_a_key_ends_before_its_first_value(key: str, prefix: str) -> None:
    assert key_prefix(key) == prefix
