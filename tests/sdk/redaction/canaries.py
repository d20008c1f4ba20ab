"""Secrets that must not leave the process, put wherever an application puts its own; each is found again if it did."""

from __future__ import annotations

import asyncio
import base64
import http.client
import logging
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import aiohttp
import httpx
import requests
import sqlalchemy
import urllib3
import walltime
from opentelemetry.trace import SpanKind, Tracer

log = logging.getLogger("shop")


class Canaries:
    """Makes secrets, remembers where each was put, and looks for them."""

    def __init__(self) -> None:
        self.planted: dict[str, str] = {}

    def __call__(self, place: str) -> str:
        secret = f"c4n4ry{secrets.token_hex(8)}"
        self.planted[secret] = place
        return secret

    def number(self, place: str) -> int:
        secret = secrets.randbelow(9 * 10**14) + 10**14
        self.planted[str(secret)] = place
        return secret

    def found_in(self, data: bytes) -> list[str]:
        """Where those were put that are in the data: as they are, in hexadecimal or in base64, in any case."""
        data = data.lower()
        ends = {data[at : at + 8] for at in range(len(data) - 7)}  # nearly all forms are ruled out by their ends
        return [
            place
            for secret, place in self.planted.items()
            if any(form[-8:] in ends and form in data for form in _forms(secret))
        ]


def _forms(secret: str) -> Iterable[bytes]:
    plain = secret.encode()
    yield plain
    yield plain[-10:]
    yield plain.hex().encode()
    for shift in range(3):  # it may begin at any of the three places of base64's groups
        yield base64.b64encode(b"x" * shift + plain)[4 if shift else 0 : -4].lower()


# ---- what an application does with them ----


CREATE = "CREATE TEMPORARY TABLE canary (id INT PRIMARY KEY, secret VARCHAR(100))"


def statements(secret: Canaries, driver: str) -> list[str]:
    """Every way of writing a literal, also in statements that fail."""

    def put(kind: str) -> str:
        return secret(f"{driver}: {kind}")

    hexadecimal = [put(f"hexadecimal {n}").encode().hex() for n in range(2)]
    return [
        f"SELECT '{put('quoted')}', \"{put('double-quoted')}\"",
        f'SELECT \'it\'\'s {put("doubled quote")}\', "say ""{put("doubled double quote")}"""',
        f"SELECT 'it\\'s {put('escaped quote')}', '\\\\', '{put('after an escaped backslash')}'",
        f"SELECT 'it\\'s', 'not\\'{put('between two escaped quotes')}'",
        f"SELECT 0x{hexadecimal[0]}, x'{hexadecimal[1]}', N'{put('national')}', _utf8mb4'{put('introduced')}'",
        f"SELECT {secret.number(f'{driver}: integer')}, -{secret.number(f'{driver}: negative')}.5, "
        f"1e{3} + {secret.number(f'{driver}: added')}",
        f"SELECT 1 IN ('{put('in a list')}', '{put('in a list, second')}'), 'x' LIKE '%{put('like')}%'",
        f"SELECT 1 /* {put('comment')} */ -- {put('rest of a line')}\n, 2 # {put('hash')}\n",
        f"SELECT 1 /*! , '{put('executable comment')}' */ /* it's {put('comment with a quote')} */",
        f"SELECT '-- {put('comment in a literal')}', '# {put('hash in a literal')}', '/* {put('block in a literal')}'",
        f"SELECT 'two\nlines {put('multi-line')}', '{{\"json\": \"{put('json')}\"}}'",
        f"SET @a = '{put('variable')}'",
        f"SELECT $${put('dollar-quoted')}$$, $tag${put('dollar-quoted with a tag')}$tag$",
        f"SELEC '{put('syntax error')}'",
        f"SELECT * FROM no_such_table WHERE a = '{put('no such table')}'",
        f"INSERT INTO canary VALUES (1, '{put('inserted')}'), (1, '{put('duplicate key')}')",
        f"CREATE USER 'x' IDENTIFIED BY '{put('password of an account')}'",
        f"CALL no_such_procedure('{put('argument of a procedure')}')",
        f"SELECT 'never ends {put('unterminated')}",
    ]


def with_parameters(secret: Canaries, driver: str) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        ("SELECT %s, %s", (secret(f"{driver}: parameter"), secret.number(f"{driver}: number as a parameter"))),
        ("SELECT * FROM no_such_table WHERE a = %s", (secret(f"{driver}: parameter of a statement that fails"),)),
    ]


def sql(cursor: Any, secret: Canaries, driver: str) -> None:
    for text, *parameters in [(CREATE,), *zip(statements(secret, driver)), *with_parameters(secret, driver)]:
        with suppress(Exception):
            cursor.execute(text, *parameters)
            cursor.fetchall()
    rows = [(n, secret(f"{driver}: row {n}")) for n in range(2, 4)]
    for _ in range(2):  # the second time a duplicate key, whose message says it
        with suppress(Exception):
            cursor.executemany("INSERT INTO canary VALUES (%s, %s)", rows)


async def sql_async(cursor: Any, secret: Canaries, driver: str) -> None:
    for text, *parameters in [(CREATE,), *zip(statements(secret, driver)), *with_parameters(secret, driver)]:
        with suppress(Exception):
            await cursor.execute(text, *parameters)
            await cursor.fetchall()


def sql_alchemy(connection: Any, secret: Canaries) -> None:
    for text in statements(secret, "SQLAlchemy"):
        with suppress(Exception):
            connection.exec_driver_sql(text)
    for text, given in (("SELECT :a", "bound"), ("SELECT * FROM no_such_table WHERE a = :a", "bound where it fails")):
        with suppress(Exception):
            connection.execute(sqlalchemy.text(text), {"a": secret(f"SQLAlchemy: {given}")})


def memcache(client: Any, secret: Canaries) -> None:
    def put(kind: str) -> str:
        return secret(f"memcache: {kind}")

    client.set(f"user:{put('key of set')}", put("value of set"))
    client.set(put("whole key of set"), put("value of a key without prefix"), noreply=False)
    client.get(f"session:{put('key of get')}")
    client.get(put("whole key of get"), default=put("default"))
    client.get_many([f"a:{put('first of many')}", f"b:{put('second of many')}"])
    client.set_many({f"a:{put('first set')}": put("first value"), f"b:{put('second set')}": put("second value")})
    client.add(f"lock:{put('key of add')}", put("value of add"))
    client.replace(f"lock:{put('key of replace')}", "x", noreply=False)
    client.append(f"log:{put('key of append')}", put("appended"))
    client.gets(f"cas:{put('key of gets')}")
    client.cas(f"cas:{put('key of cas')}", put("value of cas"), b"1")
    client.delete(f"user:{put('key of delete')}", noreply=False)
    client.incr(f"count:{put('key of incr')}", 1)
    client.touch(f"user:{put('key of touch')}", 1, noreply=False)
    with suppress(Exception):
        client.get(f"illegal key {put('illegal key')}")
    with suppress(Exception):
        client.get("long:" + put("key that is too long") * 20)


def redis(client: Any, secret: Canaries) -> None:
    def put(kind: str) -> str:
        return secret(f"redis: {kind}")

    client.set(f"user:{put('key of set')}", put("value of set"), ex=60)
    client.set(put("whole key"), put("value of a whole key"))
    client.get(f"session:{put('key of get')}")
    client.mget([f"a:{put('first of mget')}", f"b:{put('second of mget')}"])
    client.mset({f"a:{put('key of mset')}": put("value of mset")})
    client.hset(f"h:{put('key of hset')}", put("field of hset"), put("value of hset"))
    client.hget(f"h:{put('key of hget')}", put("field of hget"))
    client.hgetall(f"h:{put('key of hgetall')}")
    client.rpush(f"l:{put('key of rpush')}", put("value of rpush"))
    client.delete(f"user:{put('key of delete')}")
    client.publish(put("channel"), put("message"))
    with suppress(Exception):
        client.eval(
            f"return redis.call('get', '{put('script')}')", 1, put("key of a script"), put("argument of a script")
        )
    with suppress(Exception):
        client.execute_command("AUTH", put("user of auth"), put("password of auth"))
    with suppress(Exception):
        client.incr(f"user:{put('key of incr')}", put("no number"))
    with client.pipeline() as pipeline:
        pipeline.set(f"p:{put('key in a pipeline')}", put("value in a pipeline"))
        pipeline.get(f"p:{put('get in a pipeline')}")
        pipeline.execute()


def web(secret: Canaries, url: str, client: str, ask: Callable[[str, str, dict[str, str], str], Any]) -> None:
    """
    Args:
        ask: makes a request: URL, user with password, headers, body.
    """

    def put(kind: str) -> str:
        return secret(f"{client}: {kind}")

    headers = {"X-Api-Key": put("header"), "Cookie": f"sid={put('cookie')}", "Authorization": f"Bearer {put('bearer')}"}
    ask(f"{url}/echo?token={put('query')}#{put('fragment')}", "", headers, put("body, and the answer's"))
    ask(f"{url}/users/{put('in the path')}/orders", f"{put('user')}:{put('password')}", {}, "")
    with suppress(Exception):
        ask(f"{url}/reset?token={put('query of a request that fails')}", "", {}, "")
    with suppress(Exception):
        ask(f"http://127.0.0.1:9/x?token={put('query of a refused connection')}", "", {}, "")


def with_login(url: str, login: str) -> str:
    return url.replace("://", f"://{login}@") if login else url


def ask_requests(url: str, login: str, headers: dict[str, str], body: str) -> None:
    with requests.Session() as session:
        session.trust_env = False
        session.post(with_login(url, login), headers=headers, data=body, timeout=5)


def ask_urllib3(url: str, login: str, headers: dict[str, str], body: str) -> None:
    with urllib3.PoolManager(retries=False) as pool:
        pool.request("POST", with_login(url, login), headers=headers, body=body)


def ask_httpx(url: str, login: str, headers: dict[str, str], body: str) -> None:
    with httpx.Client(trust_env=False) as client:
        client.post(with_login(url, login), headers=headers, content=body)


def ask_httpx_async(url: str, login: str, headers: dict[str, str], body: str) -> None:
    async def ask() -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            await client.post(with_login(url, login), headers=headers, content=body)

    asyncio.run(ask())


def ask_aiohttp(url: str, login: str, headers: dict[str, str], body: str) -> None:
    async def ask() -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.post(with_login(url, login), headers=headers, data=body) as answer,
        ):
            await answer.read()

    asyncio.run(ask())


def ask_http_client(url: str, login: str, headers: dict[str, str], body: str) -> None:
    address, _, path = url.partition("://")[2].partition("/")
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        login = base64.b64encode(login.encode()).decode()
        connection.request("POST", f"/{path.partition('#')[0]}", body, {**headers, "Authorization": f"Basic {login}"})
        connection.getresponse().read()
    finally:
        connection.close()


ASK = {
    "requests": ask_requests,
    "urllib3": ask_urllib3,
    "httpx": ask_httpx,
    "httpx, asyncio": ask_httpx_async,
    "aiohttp": ask_aiohttp,
    "http.client": ask_http_client,
}


def spans(tracer: Tracer, secret: Canaries) -> None:
    """What other instrumentations of OpenTelemetry tell about their calls."""

    def put(kind: str) -> str:
        return secret(f"span: {kind}")

    told: list[dict[str, str]] = [
        {"db.system.name": "postgresql", "db.query.text": f"SELECT $${put('dollar-quoted')}$$, E'it\\'s {put('E')}'"},
        {"db.system": "postgresql", "db.statement": f"SELECT 'C:\\', '{put('behind a backslash')}' --{put('dashes')}"},
        {"db.system": "mongodb", "db.operation": "find", "db.statement": f'{{"name": "{put("document")}"}}'},
        {
            "db.system": "elasticsearch",
            "db.statement": put("search"),
            "url.full": f"http://e/_search?q={put('search')}",
        },
        {"http.request.method": "GET", "url.full": f"https://{put('login')}@h/x/{put('path')}?token={put('query')}"},
        {
            "http.method": "GET",
            "http.url": f"http://h/?t={put('old query')}",
            "http.request.header.cookie": put("cookie"),
        },
        {"rpc.system": "aws-api", "rpc.service": "S3", "rpc.method": "GetObject", "aws.s3.key": put("object")},
        {"messaging.system": "kafka", "messaging.kafka.message.key": put("message's key"), "user.email": put("email")},
    ]
    for attributes in told:
        with suppress(ValueError), tracer.start_as_current_span("a span", kind=SpanKind.CLIENT, attributes=attributes):
            raise ValueError(put("exception"))


def application(secret: Canaries) -> None:
    """What the application says about itself, and what goes wrong in it."""
    transaction = walltime.current()
    for name in ("password", "client_secret", "apiToken", "session.id", "X-Api-Key", "cookie"):
        transaction.annotate(name, secret(f"annotation {name}"))
    transaction.annotate("broker", f"amqp://shop:{secret('password in an address')}@mq/orders")
    transaction.set_user(secret("user id"))
    os.environ["SHOP_TOKEN"] = secret("environment")
    log.error("cannot pay with %s", secret("log line"))
    with suppress(ValueError), walltime.component("pay"):
        raise ValueError(secret("exception in a component"))
    try:
        os.environ[secret("exception that is logged")]
    except KeyError:
        log.exception("failed with %s", secret("log line of an exception"))
