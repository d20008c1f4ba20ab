"""Boards of servers and statements: numbers as SQL and as Walltime's pages have them, links between both ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from walltime_collector.query.servers.requested import NO_PREFIX, key_prefix
from walltime_collector.statements.fingerprint import fingerprint_id, of_template

from dashboards.source import sql
from tests.dashboards.conftest import BUYER_TRACE_ID, Grafana
from tests.servers import over_http

TEMPLATES = [
    "SELECT * FROM a WHERE id IN (%s, %s) LIMIT %s OFFSET %s",
    "SELECT a FROM t WHERE id = %(id)s AND b IS NULL ;",
    "INSERT INTO t (a, b) VALUES (%s, %s)",
    "INSERT INTO t (a, b) VALUES (%s, %s), (%s, %s)",
    "INSERT INTO orders (user_id, placed_at) VALUES (%s, NOW())",
    "SELECT * FROM t WHERE (a, b) IN ((%s, %s), (%s, %s)) AND ok = TRUE",
    "SELECT x FROM t WHERE id IN %s LIMIT ?, ?",
]
KEYS = [
    *(
        "product:#5f1c",
        "product:123:de",
        "user_42",
        "v2:cart:#5f1c",
        "plain",
        "a.b.c",
        "session/abc123",
        "item7",
        "7",
        "",
    ),
    *("x" * 40, "x" * 40 + ":1", "deadbeef01", "überschrift:1", "cat-1-2", "::a:1", "v2:7", "V10-user5"),
]


def page(grafana: Grafana, path: str) -> Any:
    """A page of the product, of the time shown, as JSON."""
    return over_http("GET", f"{grafana.pages}{path}.json", params={"time": grafana.window}).json()


def one(grafana: Grafana, name: str, **chosen: Any) -> dict[str, Any]:
    (row,) = grafana.ask(sql(name), "4", chosen).by_name()
    return row


def test_a_fingerprint_made_in_sql_joins_both_ends_of_every_statement_of_the_shop(grafana: Grafana) -> None:
    sent = [text for (text,) in grafana.ask_raw("SELECT DISTINCT text FROM statements_1m").rows]
    assert len(sent) > 15
    in_sql = sql("statements/rows").split("arrayMap(text ->")[1].split(", [${statement")[0]
    found = grafana.ask_raw(
        f"SELECT {in_sql} FROM (SELECT arrayJoin([{', '.join(map(quoted, sent + TEMPLATES))}]) AS text)"
    )
    assert [number for (number,) in found.rows] == [fingerprint_id(of_template(text)) for text in sent + TEMPLATES]
    rows = grafana.ask(sql("statements/statements")).by_name()
    assert {row["statement"] for row in rows if row["at server"]} >= set(sent)
    assert all(row["per call"] >= row["at server"] for row in rows if row["per call"] and row["at server"])


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def test_a_prefix_made_in_sql_is_the_one_of_the_pages(grafana: Grafana) -> None:
    in_sql = sql("caches/prefixes").split("AS asked,\n")[1].split("AS prefix")[0]
    found = grafana.ask_raw(f"SELECT {in_sql} FROM (SELECT arrayJoin([{', '.join(map(quoted, KEYS))}]) AS key)").rows
    assert dict(zip(KEYS, (prefix or NO_PREFIX for (prefix,) in found), strict=True)) == {
        key: key_prefix(key) for key in KEYS
    }


def test_statements_have_the_numbers_of_the_page_of_the_same_time(grafana: Grafana) -> None:
    of_page = {each["fingerprint_id"]: each for each in page(grafana, "/statements")["digest"]["statements"]}
    rows = {row["id"]: row for row in grafana.ask(sql("statements/statements")).by_name()}
    assert len(of_page) > 15
    window_s = grafana.shown.to_s - grafana.shown.from_s
    for number, statement in of_page.items():
        row, client, server = rows[number], statement["client"], statement["server"]
        if client:
            assert row["per second"] * window_s == pytest.approx(client["calls"])
            assert row["per call"] == pytest.approx(client["mean_ns"], abs=1)
        if server:
            assert row["at server"] == pytest.approx(server["mean_ns"], abs=1)
            assert row["examined each"] == pytest.approx(server["examined_per_row"])


def test_a_chosen_statement_is_alone_at_both_ends_and_all_are_their_sum(grafana: Grafana) -> None:
    first = grafana.ask(sql("statements/statements")).by_name()[0]
    chosen = {"statement": [first["statement"]]}
    tiles = {
        row["tile"].partition(" ")[0]: row["value"]
        for row in grafana.ask(sql("statements/summary"), "4", chosen).by_name()[-5:]
    }
    assert tiles["mean"] == pytest.approx(first["per call"])
    shares = grafana.ask(sql("statements/senders"), "4", chosen).column("share")
    assert sum(shares) == pytest.approx(1)
    logged = grafana.ask(sql("statements/slowest"), "4", chosen).rows
    ((entries,),) = grafana.ask_raw(
        "SELECT least(50, count()) FROM slow_queries "
        f"WHERE fingerprint_id = reinterpretAsUInt64(reverse(unhex('{first['id']}')))"
        f" AND started_at >= toDateTime({grafana.shown.from_s}) AND started_at < toDateTime({grafana.shown.to_s})"
    ).rows
    assert len(logged) == entries > 1


def test_mysql_servers_have_the_numbers_of_their_page_and_what_they_say(grafana: Grafana) -> None:
    row = one(grafana, "mysql/servers")
    of_page = page(grafana, f"/servers/mysql.query/{quote(row['server'])}")["detail"]["server"]
    assert row["per query"] == pytest.approx(of_page["time_ns"] / of_page["calls"], abs=1)
    window_s = grafana.shown.to_s - grafana.shown.from_s
    ((spent_s,),) = grafana.ask_raw(
        "SELECT sum(arraySum([COLUMNS('^mysql_.+_time_ns$')])) / 1e9 FROM transactions"
    ).rows
    ((per_second, running),) = grafana.ask(
        "SELECT sum(queries) / sum(over_ns) * 1e9, sum(threads_running * over_ns) / sum(over_ns) FROM mysql_status "
        "WHERE $__timeFilter(at)"
    ).rows
    assert row["load"] * window_s == pytest.approx(spent_s, rel=1e-9)
    assert sum(grafana.ask(sql("mysql/kinds")).column("load")) == pytest.approx(row["load"], rel=1e-9)
    # a row that began before the time shown counts with its part in it
    assert row["per second"] == pytest.approx(per_second, rel=0.2)
    assert row["running"] == pytest.approx(running, rel=0.2, abs=0.1)
    assert 0 < row["used"] < 0.2


def test_the_load_by_state_is_the_time_in_the_log(grafana: Grafana) -> None:
    answer = grafana.ask(sql("mysql/states"))
    times = sorted(set(answer.column("time")))
    wide_s = int(times[1][-2:]) - int(times[0][-2:]) or 60
    ((logged_s,),) = grafana.ask(
        "SELECT sum(query_ns * weight) / 1e9 FROM slow_queries WHERE $__timeFilter(started_at)"
    ).rows
    assert sum(answer.column("active")) * wide_s == pytest.approx(
        logged_s, rel=0.2
    )  # a point may stick out of the time
    assert set(answer.column("state")) == {"waits for locks", "not divided"}, "MariaDB's log"


def test_a_lock_wait_names_the_holder_and_leads_to_both_transactions(grafana: Grafana) -> None:
    (row,) = [
        each
        for each in grafana.ask(sql("mysql/lock_waits")).by_name()
        if each["waited for"].startswith("shop.products PRIMARY ")
    ]
    assert (row["kind"], row["holder"]) == ("POST /checkout", BUYER_TRACE_ID)
    assert row["holder statement"].startswith("SELECT stock FROM products")
    assert row["waited"] > 0
    others: list[dict[str, Any]] = [{"kind": ["GET /search"]}, {"server": ["10.0.0.1:3306"]}, {"service": ["supplier"]}]
    for chosen in others:
        assert one(grafana, "mysql/lock_waits", **chosen)["waited for"] == "Nothing in this time."


def test_caches_have_the_numbers_of_their_page_and_of_the_servers(grafana: Grafana) -> None:
    rows = {row["server"]: row for row in grafana.ask(sql("caches/servers")).by_name()}
    assert len(rows) == 2
    for server, row in rows.items():
        of_page = page(grafana, f"/servers/memcache.get/{quote(server)}")["detail"]["server"]
        assert row["hit ratio"] == pytest.approx(of_page["hits"] / (of_page["hits"] + of_page["misses"]))
        assert row["hit ratio"] == pytest.approx(row["of all"], abs=0.02), "no other client"
        assert row["version"].startswith("memcached 1.")
        alone = one(grafana, "caches/servers", server=[server])
        assert alone == row
    kinds = grafana.ask(sql("caches/kinds")).by_name()
    ((misses,),) = grafana.ask_raw("SELECT sum(memcache_get_misses) FROM transactions").rows
    assert sum(row["misses"] or 0 for row in kinds) == misses


def test_hosts_have_the_time_and_requests_of_the_transactions(grafana: Grafana) -> None:
    row = one(grafana, "http/hosts")
    ((requests, ns, errors),) = grafana.ask_raw(
        "SELECT sum(http_request_calls), sum(http_request_time_ns + http_connect_time_ns), sum(http_request_errors) "
        "FROM transactions"
    ).rows
    assert row["per second"] * (grafana.shown.to_s - grafana.shown.from_s) == pytest.approx(requests)
    assert row["per request"] == pytest.approx(ns / requests)
    assert (row["failed"] or 0) == errors / requests
    (kind,) = grafana.ask(sql("http/kinds")).by_name()
    assert (kind["kind"], kind["share"]) == ("GET /recommendations", 1)
    assert {each["answer"] for each in grafana.ask(sql("http/slowest")).by_name()} == {"200"}


def test_a_server_is_shown_though_no_transaction_called_it_in_this_time(grafana: Grafana) -> None:
    """Its applications may be gone: what it says of itself is then all there is."""
    nowhere = {"kind": ["GET /nowhere"]}
    assert one(grafana, "mysql/servers", **nowhere)["load"] is None
    assert one(grafana, "mysql/servers", **nowhere)["running"] is not None
    earlier = replace(grafana, shown=replace(grafana.shown, from_s=1_700_000_000, to_s=1_700_003_600))
    assert earlier.ask(sql("mysql/servers")).rows == []
