"""Hundreds of secrets through every integration: none on the wire, in lines of JSON, in our log, in SQL comments."""

from __future__ import annotations

import asyncio
import base64
import io
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiomysql
import asyncmy
import mysql.connector
import MySQLdb
import pymysql
import pytest
import redis
import sqlalchemy
import walltime
from opentelemetry.trace import ProxyTracerProvider
from pymemcache.client.base import Client
from shop.services import MariaDB, Memcached
from walltime import errors

from tests.redis_server import RedisServer
from tests.sdk.clients.http.upstream import Upstream
from tests.sdk.redaction import canaries, canary_servers
from tests.sdk.redaction.canaries import Canaries
from tests.sdk.sink import Received, Sink


@dataclass
class Told:
    """All that left the process while the application ran."""

    secrets: Canaries
    wire: bytes
    lines: bytes
    log: bytes
    spans: list[Received]
    failures: dict[str, int]
    """Our own, by place."""


MYSQL = {"PyMySQL": pymysql.connect, "mysqlclient": MySQLdb.connect, "mysql-connector": mysql.connector.connect}


def in_mysql(driver: str, account: dict[str, Any], secret: Canaries) -> None:
    with suppress(Exception):
        MYSQL[driver](**{**account, "password": secret(f"{driver}: wrong password")})
    connection = MYSQL[driver](**account)
    canaries.sql(connection.cursor(), secret, driver)
    with suppress(Exception):
        connection.rollback()
    connection.close()


@pytest.fixture(scope="module")
def told(
    mariadb: MariaDB,
    memcached: tuple[Memcached, Memcached],
    redis_server: RedisServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Told:
    secret = Canaries()
    path = tmp_path_factory.mktemp("canaries") / "bills.jsonl"
    ours = io.StringIO()
    handler = logging.StreamHandler(ours)
    logger = logging.getLogger("walltime")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    with Sink() as sink, Upstream() as upstream:
        walltime.configure(
            service_name="shop",
            endpoint=sink.endpoint,
            sample_probability=1.0,
            json_lines=str(path),
            summary=True,
            hash_user_ids=True,
            force_secret="c" * 16,
            headers={"Authorization": f"Bearer {secret('header of the export')}"},
        )
        walltime.instrument()
        jobs: dict[str, Callable[[], None]] = {
            **{driver: partial(in_mysql, driver, mariadb.account(), secret) for driver in MYSQL},
            "pymemcache": partial(in_memcache, memcached[0], secret),
            "redis": partial(in_redis, redis_server, secret),
            "aiomysql": partial(in_mysql_async, aiomysql.connect, "aiomysql", mariadb.account(), secret),
            "asyncmy": partial(in_mysql_async, asyncmy.connect, "asyncmy", mariadb.account(), secret),
            "SQLAlchemy": partial(in_sqlalchemy, mariadb.account(), secret),
            "spans": partial(
                canaries.spans, ProxyTracerProvider().get_tracer("opentelemetry.instrumentation.x"), secret
            ),
            "application": partial(canaries.application, secret),
            **{name: partial(canaries.web, secret, upstream.url, name, ask) for name, ask in canaries.ASK.items()},
        }
        for name, job in jobs.items():
            canary_servers.wsgi(name, job, secret)
            with walltime.transaction(f"task {name}"):
                job()
        with suppress(RuntimeError):
            canary_servers.wsgi("fails", partial(fail, secret), secret)
        for serve in (canary_servers.in_asgi, canary_servers.in_fastapi, canary_servers.in_flask):
            serve(partial(canaries.application, secret), secret)
            with suppress(RuntimeError):
                serve(partial(fail, secret), secret)
        canary_servers.in_django(secret)
        assert walltime.flush(30)
        spans = sink.spans()
        wire = b"".join(sink.bodies)
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)
    failures = dict(errors.contained)
    walltime.uninstrument()
    walltime.shutdown()
    return Told(secret, wire, path.read_bytes(), ours.getvalue().encode(), spans, failures)


def fail(secret: Canaries) -> None:
    raise RuntimeError(secret("exception")) from ValueError(secret("cause of an exception"))


def in_mysql_async(connect: Any, driver: str, account: dict[str, Any], secret: Canaries) -> None:
    account = {**account, "db": account["database"]}
    del account["database"]

    async def run() -> None:
        with suppress(Exception):
            await connect(**{**account, "password": secret(f"{driver}: wrong password")})
        connection = await connect(**account)
        async with connection.cursor() as cursor:
            await canaries.sql_async(cursor, secret, driver)
        connection.close()

    asyncio.run(run())


def in_sqlalchemy(account: dict[str, Any], secret: Canaries) -> None:
    url = sqlalchemy.URL.create(
        "mysql+pymysql", account["user"], account["password"], account["host"], account["port"], account["database"]
    )
    with suppress(Exception), sqlalchemy.create_engine(url.set(password=secret("SQLAlchemy: password"))).connect():
        pass
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        canaries.sql_alchemy(connection, secret)
    engine.dispose()


def in_memcache(server: Memcached, secret: Canaries) -> None:
    for ignore_exc in (False, True):
        client = Client(("127.0.0.1", server.port), ignore_exc=ignore_exc)
        canaries.memcache(client, secret)
        client.close()


def in_redis(server: RedisServer, secret: Canaries) -> None:
    client = redis.Redis.from_url(f"redis://127.0.0.1:{server.port}/0", client_name=secret("redis: client name"))
    canaries.redis(client, secret)
    client.close()
    with suppress(Exception):
        redis.Redis.from_url(f"redis://shop:{secret('redis: password in the URL')}@127.0.0.1:{server.port}/0").get("x")


def test_all_that_was_to_be_seen_was_seen(told: Told) -> None:
    """So that nothing found means nothing there."""
    assert len(told.secrets.planted) >= 200, len(told.secrets.planted)
    assert told.failures == {}
    components = {
        span.attributes["walltime.component"] for span in told.spans if "walltime.component" in span.attributes
    }
    expected = {
        "mysql.connect",
        "mysql.query",
        "memcache.get",
        "memcache.set",
        "memcache.cas",
        "redis.get",
        "redis.set",
    }
    expected |= {
        "redis.transaction",
        "redis.eval",
        "http.connect",
        "http.request",
        "pay",
        "mysql.pool",
        "postgresql.query",
        "s3.GetObject",
    }
    assert expected <= components
    transactions = [span for span in told.spans if "walltime.schema" in span.attributes]
    assert len(transactions) == len(told.lines.splitlines()) == len(re.findall(rb"\[[0-9a-f]{32}\]", told.log))
    names = {each.span.name for each in transactions}
    assert {"POST /{name}/{path}", "POST /FastAPI/{path}", "POST"} <= names
    assert [each.span.name for each in transactions if each.attributes.get("error.type") == "RuntimeError"]
    for name in (*MYSQL, "aiomysql", "asyncmy", "SQLAlchemy"):
        (task,) = [each for each in transactions if each.span.name == f"task {name}"]
        assert task.attributes["walltime.mysql.query.calls"] >= 20
        assert task.attributes["walltime.mysql.query.errors"] >= 5
        assert task.attributes["walltime.mysql.connect.errors"] == 1


def test_a_secret_that_left_would_be_found() -> None:
    secret = Canaries()
    planted = secret("here"), str(secret.number("number"))
    for data in (planted[0], planted[0].upper(), planted[0].encode().hex(), f"x{planted[0][-10:]}y", planted[1]):
        assert secret.found_in(data.encode()), data
    assert secret.found_in(base64.b64encode(b"me:" + planted[0].encode()))
    assert not secret.found_in(b"nothing of it")


def test_no_secret_is_on_the_wire(told: Told) -> None:
    assert told.secrets.found_in(told.wire) == []


def test_no_secret_is_in_the_lines_of_json(told: Told) -> None:
    assert told.secrets.found_in(told.lines) == []


def test_no_secret_is_in_our_own_log(told: Told) -> None:
    assert told.secrets.found_in(told.log) == []


def test_no_secret_is_in_the_comments_of_the_statements(told: Told, mariadb: MariaDB) -> None:
    assert mariadb.general_log is not None
    logged = mariadb.general_log.read_bytes()
    comments = re.findall(rb"/\*[^*]*traceparent='[^*]*\*/", logged)
    assert len(comments) > 100
    assert told.secrets.found_in(b"".join(comments)) == []


def test_a_failure_of_our_own_tells_where_it_was_and_not_what_it_was_about(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WALLTIME_TESTING_RAISE", raising=False)
    secret = Canaries()
    try:
        vars(secret)[secret("key that was looked for")]
    except KeyError as ours:
        errors.contain("redis", ours)
    assert "redis failed (KeyError at " in caplog.text
    assert f"{__file__}:" in caplog.text
    assert secret.found_in(caplog.text.encode()) == []
