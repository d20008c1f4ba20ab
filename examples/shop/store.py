"""What the pages read and write: MariaDB, the caches in front of it, and the supplier's service."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pymysql
import requests
from pymemcache.client.hash import HashClient
from pymysql.cursors import DictCursor

from shop.settings import Settings

Row = dict[str, Any]
CACHED_FOR_S = 600

CARD = "SELECT id, name, price_cents FROM products WHERE id = %s"


class JsonSerde:
    """Rows as JSON in the cache."""

    def serialize(self, key: str, value: Any) -> tuple[bytes, int]:
        return json.dumps(value).encode(), 0

    def deserialize(self, key: str, value: bytes, flags: int) -> Any:
        return json.loads(value)


class Store(threading.local):
    """One of each connection for every thread that serves requests, opened at its first use."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.http = requests.Session()
        self.cache = HashClient(
            list(settings.memcached),
            serde=JsonSerde(),
            connect_timeout=1,
            timeout=1,
            no_delay=True,
            ignore_exc=True,
        )
        self.database: pymysql.connections.Connection[DictCursor] | None = None

    def connect(self) -> pymysql.connections.Connection[DictCursor]:
        """A new connection, the caller's to close."""
        return pymysql.connect(
            host=self.settings.mysql_host,
            port=self.settings.mysql_port,
            user=self.settings.mysql_user,
            password=self.settings.mysql_password,
            database=self.settings.mysql_database,
            autocommit=True,
            connect_timeout=5,
            cursorclass=DictCursor,
        )

    def connection(self) -> pymysql.connections.Connection[DictCursor]:
        """This thread's connection; a new one when the server has closed the old one."""
        if self.database is None or not self.database.open:
            self.database = self.connect()
        return self.database

    def rows(self, sql: str, *values: Any) -> list[Row]:
        with self.connection().cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall())

    def row(self, sql: str, *values: Any) -> Row | None:
        return next(iter(self.rows(sql, *values)), None)

    def write(self, sql: str, *values: Any) -> None:
        with self.connection().cursor() as cursor:
            cursor.execute(sql, values)

    @contextmanager
    def transaction(self) -> Iterator[DictCursor]:
        """Everything or nothing: commit at the end, roll back when the block fails."""
        connection = self.connection()
        connection.begin()
        try:
            with connection.cursor() as cursor:
                yield cursor
        except BaseException:
            connection.rollback()
            raise
        connection.commit()

    def cached(self, key: str, sql: str, *values: Any) -> list[Row]:
        """Cache-aside: the rows from the cache, or from the database and then into the cache."""
        rows: list[Row] | None = self.cache.get(key)
        if rows is None:
            rows = self.rows(sql, *values)
            self.cache.set(key, rows, expire=CACHED_FOR_S)
        return rows

    def cards(self, ids: Iterable[int]) -> list[Row]:
        """Name and price of products, in this order, each once: one multi-get, then a query for each missing one."""
        wanted = list(dict.fromkeys(ids))
        found = self.cache.get_many([f"card:{product}" for product in wanted])
        cards = [found.get(f"card:{product}") or self.cached_card(product) for product in wanted]
        return [card for card in cards if card]

    def cached_card(self, product: int) -> Row | None:
        card = self.row(CARD, product)
        if card:
            self.cache.set(f"card:{product}", card, expire=CACHED_FOR_S)
        return card

    def suggestions(self, user: int) -> Sequence[int]:
        """What the supplier would offer this user: product ids."""
        answer = self.http.get(f"{self.settings.supplier}/suggestions/{user}", timeout=2)
        answer.raise_for_status()
        products: list[int] = answer.json()["products"]
        return products
