"""Plans of real servers: their shape without values, a change once with old and new, and what cannot be explained."""

from __future__ import annotations

import json
import logging
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pymysql
import pytest
from shop.services import MariaDB
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import NotStored
from walltime_collector.health.counters import Health
from walltime_collector.observe.address import Address
from walltime_collector.observe.mysql.connection import connect
from walltime_collector.observe.mysql.plans.explain import NotExplained, Sample, explain
from walltime_collector.observe.mysql.plans.explainer import Explainer
from walltime_collector.observe.mysql.plans.known import KnownPlans
from walltime_collector.observe.mysql.plans.look import PlansLook
from walltime_collector.observe.writer import Writer
from walltime_collector.query.digest.answer import Plan
from walltime_collector.query.digest.plans import plans
from walltime_collector.statements.fingerprint import fingerprint, fingerprint_id
from walltime_collector.statements.plans.shape import plan_id, shape
from walltime_collector.statements.plans.words import lines, summary

from tests.collector.cli.command import run as command
from tests.mysql_server import MysqlServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually

SECRET, NUMBER = "s3cret-Zx93", 76543210
READ, ADMIN = "read2b7e151628aed2a6", "adm1n2b7e151628aed2a6"
PASSWORD: Final = "an0ther-Secret"
RIGHTS: Final = (
    f"CREATE USER walltime@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
    "GRANT SELECT ON performance_schema.* TO walltime@'127.0.0.1'",
    "GRANT SELECT, SHOW VIEW ON shop.* TO walltime@'127.0.0.1'",
)
CONSUMERS: Final = (
    *("events_statements_current", "events_statements_history", "events_statements_history_long"),
    "statements_digest",
)
ROWS: Final = 2_000
STATEMENTS: Final = {
    f"SELECT id, name FROM products WHERE category_id = 7 AND name <> '{SECRET}' ORDER BY name LIMIT 5": (
        "products: index `category_id`"
    ),
    "SELECT p.price, COUNT(*) FROM products p JOIN reviews r ON r.product_id = p.id WHERE p.category_id IN (3, 4)"
    " GROUP BY p.price": "{p}: range of index `category_id`; {r}: index `product_id`",
    f"SELECT * FROM products WHERE name LIKE '%{SECRET}%' OR price > {NUMBER}": "products: full scan",
    f"SELECT id, name FROM products WHERE id > 40 AND id < {NUMBER} LIMIT 10": "products: range of index `PRIMARY`",
    f"SELECT COUNT(*) FROM reviews WHERE stars > 2 AND {NUMBER} > stars": ("reviews: full scan of index `product_id`"),
}
ALIASES: Final = {" p ": " ", " r ": " ", "p.": "products.", "r.": "reviews."}
"""Version 1 has aliases instead of names."""
ALIAS: Final = re.compile(r"(?<=products) p |(?<=reviews) r |\b[pr]\.")
Server = MysqlServer | MariaDB


@pytest.fixture(scope="module", params=["MySQL", "MariaDB"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_folder() as folder:
        maker: Any = MysqlServer if request.param == "MySQL" else MariaDB
        consumers = {f"performance_schema_consumer_{name}": "ON" for name in CONSUMERS}
        with maker(folder, performance_schema="ON", **consumers) as running:
            with pymysql.connect(**running.account(), autocommit=True) as connection:
                run(connection, *tables("products", "reviews"))
            with running.admin() as admin:
                run(admin, *RIGHTS)
            yield running


def tables(products: str, reviews: str) -> list[str]:
    """2,000 rows each; all but 10 rows of `flag` are 2."""
    numbers = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT i FROM n"
    return [
        f"CREATE TABLE {products} (id INT PRIMARY KEY AUTO_INCREMENT, category_id INT, name VARCHAR(40), price INT,"
        " flag INT, KEY category_id (category_id), KEY flag (flag))",
        f"CREATE TABLE {reviews} (id INT PRIMARY KEY AUTO_INCREMENT, product_id INT, stars INT,"
        " KEY product_id (product_id, stars))",
        *[f"INSERT INTO {products} (category_id, name, price, flag)"
        f" SELECT i MOD 50, CONCAT('n', i), i MOD 97, IF(i < 5, 1, 2) FROM ({numbers}) n"] * (ROWS // 1_000),
        *[f"INSERT INTO {reviews} (product_id, stars) SELECT i, i MOD 5 FROM ({numbers}) n"] * (ROWS // 1_000),
        f"ANALYZE TABLE {products}, {reviews}",
    ]  # fmt: skip


def run(connection: Any, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            cursor.fetchall()


@pytest.fixture
def application(server: Server) -> Iterator[Any]:
    with pymysql.connect(**server.account(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def address(server: Server) -> Address:
    return Address(server.address, "mysql", "127.0.0.1", server.port, "walltime", PASSWORD)


@pytest.fixture
def writer(engine: Engine) -> Writer:
    return Writer(engine, Health())


def stored(engine: Engine, server: Server) -> list[str]:
    """All that was written about a server's plans, as text."""
    tables = {"plans": "first_seen", "server_events": "at"}
    where = {"server": server.address}
    return [
        json.dumps(row)
        for table, order in tables.items()
        for row in engine.query(f"SELECT * FROM {table} WHERE server = {{server:String}} ORDER BY {order}", where)
    ]


def plans_of(engine: Engine, server: Server, sql: str) -> list[Plan]:
    found = plans(engine, fingerprint_id(fingerprint(sql)))
    return [each for each in found if each.server == server.address]


def test_the_shape_of_a_plan_has_tables_and_indexes_and_no_value(server: Server, application: Any) -> None:
    schema = server.account()["database"]
    for sql, expected in STATEMENTS.items():
        plan = explain(application, Sample("", schema, sql, 1))
        assert plan is not None, sql
        names = {"p": "products", "r": "reviews"} if isinstance(server, MysqlServer) else {"p": "p", "r": "r"}
        assert summary(plan) == expected.format(**names)
        written = summary(plan) + str(list(lines(plan)))
        assert SECRET not in written
        assert str(NUMBER) not in written
    assert explain(application, Sample("", schema, "SELECT * FROM products WHERE id = -1", 1)) is None


def test_both_versions_of_the_format_have_the_same_shape(server: Server, application: Any) -> None:
    if not isinstance(server, MysqlServer):
        pytest.skip("MySQL has two versions of EXPLAIN's JSON")
    for sql in STATEMENTS:
        found = []
        for version in (1, 2):
            run(application, f"SET SESSION explain_json_format_version = {version}")
            with application.cursor() as cursor:
                cursor.execute(f"EXPLAIN FORMAT=JSON {ALIAS.sub(lambda match: ALIASES[match[0]], sql)}")
                ((document,),) = cursor.fetchall()
            plan = shape(json.loads(document))
            assert plan is not None
            found.append((plan_id(plan), summary(plan)))
        assert found[0] == found[1], sql


def sent(connection: Any, sql: str) -> None:
    """As an application sends it, often enough to be among the statements with the most time."""
    run(connection, *[sql] * 20)


def round_of(look: PlansLook, connection: Any) -> None:
    """Until nothing waits."""
    assert look.opened(connection) == ""
    for _ in range(25):
        look.look(connection)


@pytest.mark.parametrize("change", ["a dropped index", "a mass insert"])
def test_a_changed_plan_is_named_once_with_old_and_new_and_no_value_is_stored(
    server: Server,
    address: Address,
    application: Any,
    engine: Engine,
    writer: Writer,
    change: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    table = change.replace(" ", "_")
    run(application, *tables(table, f"{table}_reviews"))
    sql = f"SELECT id, name FROM {table} WHERE category_id = {NUMBER % 50} AND name <> '{SECRET}' /*traceparent='x'*/"
    text = fingerprint(sql)
    look = PlansLook(server.address, writer, KnownPlans(server.address, writer, engine))
    connection = connect(address)
    try:
        for _ in range(2):
            sent(application, sql)
            round_of(look, connection)
        if change == "a dropped index":
            run(application, f"ALTER TABLE {table} DROP KEY category_id")
        else:
            run(application, f"UPDATE {table} SET category_id = {NUMBER % 50}", f"ANALYZE TABLE {table}")
        for _ in range(3):
            sent(application, sql)
            round_of(look, connection)
        writer.step()
        again = PlansLook(server.address, writer, KnownPlans(server.address, writer, engine))  # the collector restarted
        sent(application, sql)
        round_of(again, connection)
        writer.step()
    finally:
        connection.close()
    found = plans_of(engine, server, sql)
    assert [(each.summary, each.changed) for each in found] == [
        (f"{table}: full scan", "index `category_id` → full scan"),
        (f"{table}: index `category_id`", ""),
    ]
    events = engine.query(
        "SELECT event, what, details FROM server_events FINAL"
        " WHERE server = {server:String} AND what LIKE {like:String}",
        {"server": server.address, "like": f"%{table}%"},
    )
    assert [each["event"] for each in events] == ["plan_changed"]
    assert events[0]["what"] == f"the plan of `{text}` changed: index `category_id` → full scan"
    assert events[0]["details"]["fingerprint_id"] == f"{fingerprint_id(text):016X}"
    assert (events[0]["details"]["old_plan_id"], events[0]["details"]["new_plan_id"]) == (
        found[1].plan_id,
        found[0].plan_id,
    )
    for written in (*stored(engine, server), caplog.text):
        assert SECRET not in written
        assert str(NUMBER) not in written


def test_a_plan_that_values_decide_is_no_change(
    server: Server, application: Any, engine: Engine, writer: Writer
) -> None:
    schema, known = server.account()["database"], KnownPlans(server.address, writer, engine)
    rare, frequent = (Sample("", schema, f"SELECT name FROM products WHERE flag = {flag}", 1) for flag in (1, 2))
    shown = {
        name: found[1]
        for name, each in (("rare", rare), ("frequent", frequent))
        if (found := known.explain(application, each))
    }
    for each in (rare, frequent, frequent, rare):
        found = known.explain(application, each)
        assert found is not None
        assert found[1] == ""
    assert shown == {"rare": "", "frequent": ""}
    writer.step()
    assert {each.summary for each in plans_of(engine, server, rare.text)} == {
        "products: index `flag`",
        "products: full scan",
    }


def test_a_person_gets_the_plan_of_a_statement_or_the_reason_why_not(
    server: Server, address: Address, application: Any, engine: Engine, writer: Writer
) -> None:
    explainer = Explainer(writer, engine, by_itself=False)
    with pytest.raises(NotStored, match="the collector asks no MySQL server"):
        explainer.explain(1)
    assert explainer.looks(address) == []
    sql = "SELECT name FROM products WHERE category_id = 5 AND price < 7"
    sent(application, sql)
    long = f"SELECT name FROM products WHERE category_id = 5 AND name <> '{'x' * 2_000}'"
    of_server = "SELECT COUNT(*) FROM information_schema.tables"
    for each in (long, of_server):
        sent(application, each)
    plan = explainer.explain(fingerprint_id(fingerprint(sql))).plan
    assert (plan.server, plan.database) == (server.address, server.account()["database"])
    assert [(each.depth, each.text.partition(",")[0]) for each in plan.lines] == [(0, "products: index `category_id`")]
    writer.step()
    assert [each.plan_id for each in plans_of(engine, server, sql)] == [plan.plan_id]
    for each in (long, of_server):
        with pytest.raises(NotStored, match="texts are cut at performance_schema_max_sql_text_length = 1024 bytes"):
            explainer.explain(fingerprint_id(fingerprint(each)))
    unreachable = Explainer(writer, engine, by_itself=True)
    assert len(unreachable.looks(Address("db", "mysql", "127.0.0.1", 1))) == 1
    with pytest.raises(NotStored, match="db: connection refused"):
        unreachable.explain(1)


def test_what_an_account_may_not_read_and_what_is_no_select_is_not_explained(server: Server, application: Any) -> None:
    for refused in ("UPDATE products SET name = 'x'", "/*! UPDATE products SET name = 'x' */", "DELETE FROM products"):
        with pytest.raises(NotExplained, match="only SELECT"):
            explain(application, Sample("", "", refused, 1))
    denied = Sample("", "mysql", f"SELECT * FROM mysql.user WHERE user = '{SECRET}'", 1)
    with pytest.raises(NotExplained, match="GRANT SELECT, SHOW VIEW ON `mysql`") as problem:
        explain(application, denied)
    assert SECRET not in str(problem.value) + repr(denied)
    with pytest.raises(NotExplained, match="the server refuses to explain it") as problem:
        explain(application, Sample("", server.account()["database"], f"SELECT {SECRET} FROM products", 1))
    assert SECRET not in str(problem.value)


def test_the_collector_looks_by_itself_and_a_person_with_the_admin_token_may_ask(
    server: Server, tmp_path: Path, application: Any
) -> None:
    if isinstance(server, MariaDB) and not isinstance(server, MysqlServer):
        pytest.skip("the way is the same for both")
    sql = f"SELECT price FROM products WHERE category_id = 9 AND name <> '{SECRET}'"
    identity = f"{fingerprint_id(fingerprint(sql)):016X}"
    settings = {"mysql": f"mysql://walltime@{server.address}", "mysql_password": PASSWORD, "mysql_explain": "1"}
    with server.admin() as admin:
        run(admin, "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
    sent(application, sql)
    with Collector(tmp_path / "data", read_token=READ, admin_token=ADMIN, **settings) as collector:

        def is_shown() -> bool:
            sent(application, sql)
            return "products: index `category_id`" in digest(collector, identity).stdout

        eventually(is_shown, 60)
        refused = digest(collector, identity, "--plan")
        assert (refused.returncode, "admin token" in refused.stderr) == (1, True), refused.stderr
        asked = digest(collector, identity, "--plan", WALLTIME_TOKEN=ADMIN)
        assert (asked.stderr, asked.returncode) == ("", 0)
        first, second = asked.stdout.splitlines()
        assert first.startswith(f"plan on {server.address}, shop, ")
        assert second.startswith("  products: index `category_id`")
        assert SECRET not in collector.log()


def digest(collector: Collector, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return command(
        "digest", *arguments, "--url", collector.web_url, environment={"WALLTIME_TOKEN": READ, **environment}
    )
