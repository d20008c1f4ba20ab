"""Make the shop's tables and fill them with a few thousand rows, the same ones every time."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pymysql

PRODUCTS, CATEGORIES, MAKERS, USERS, ORDERS = 3000, 20, 60, 400, 3000

ADJECTIVES = ("Blue", "Folding", "Silent", "Oak", "Steel", "Pocket", "Garden", "Winter", "Copper", "Light")
THINGS = ("Lamp", "Kettle", "Tent", "Chair", "Radio", "Knife", "Bicycle", "Blanket", "Clock", "Ladder", "Mug")
CATEGORY_NAMES = (
    "Home",
    "Kitchen",
    "Outdoor",
    "Tools",
    "Travel",
    "Music",
    "Office",
    "Sport",
    "Toys",
    "Books",
)
PRAISE = ("Does what it says.", "Better than my last one.", "Came late, works well.", "Would buy it again.")

SCHEMA = Path(__file__).with_name("schema.sql")


def seed(connection: pymysql.connections.Connection[Any]) -> None:
    """Create the tables in the connection's (empty) database, fill and commit them."""
    with connection.cursor() as cursor:
        for statement in SCHEMA.read_text().split(";\n"):
            if statement.strip():
                cursor.execute(statement)
        connection.begin()
        for insert, rows in _rows(random.Random(2010)):
            cursor.executemany(insert, rows)
        connection.commit()
        cursor.execute("SHOW TABLES")
        for (table,) in cursor.fetchall():
            # Without statistics the optimizer guesses, in one run so, in the next otherwise: BOUGHT_TOGETHER reads all
            # order_items, 14 ms, or the right ones, 0.2 ms.
            cursor.execute(f"ANALYZE TABLE {table}")


def _rows(chance: random.Random) -> Iterable[tuple[str, list[tuple[Any, ...]]]]:
    yield (
        "INSERT INTO categories VALUES (%s, %s)",
        [(n, f"{chance.choice(CATEGORY_NAMES)} {n}") for n in range(1, CATEGORIES + 1)],
    )
    yield (
        "INSERT INTO makers VALUES (%s, %s, %s)",
        [(n, f"Maker {n}", chance.choice(("DE", "FR", "IT", "JP", "PT"))) for n in range(1, MAKERS + 1)],
    )
    prices = {n: chance.randrange(199, 49_999) for n in range(1, PRODUCTS + 1)}
    yield (
        "INSERT INTO products VALUES (%s, %s, %s, %s, %s, %s, %s)",
        [
            (
                n,
                chance.randint(1, CATEGORIES),
                chance.randint(1, MAKERS),
                f"{chance.choice(ADJECTIVES)} {chance.choice(THINGS)} {n}",
                " ".join(chance.choices(PRAISE, k=12)),
                prices[n],
                1_000_000,
            )
            for n in prices
        ],
    )
    yield (
        "INSERT INTO users VALUES (%s, %s, %s)",
        [(n, f"User {n}", f"user{n}@shop.example") for n in range(1, USERS + 1)],
    )
    yield (
        "INSERT INTO reviews VALUES (%s, %s, %s, %s, %s)",
        [
            (
                n,
                chance.randint(1, PRODUCTS),
                chance.randint(1, USERS),
                chance.randint(2, 5),
                chance.choice(PRAISE),
            )
            for n in range(1, PRODUCTS * 4 + 1)
        ],
    )
    yield (
        "INSERT INTO questions VALUES (%s, %s, %s, %s)",
        [
            (
                n,
                chance.randint(1, PRODUCTS),
                "Does it fit into a car?",
                chance.choice(("Yes.", "No.", "A big one.")),
            )
            for n in range(1, PRODUCTS + 1)
        ],
    )
    baskets = {n: chance.sample(range(1, PRODUCTS + 1), chance.randint(2, 7)) for n in range(1, ORDERS + 1)}
    yield (
        "INSERT INTO orders VALUES (%s, %s, %s, %s)",
        [
            (n, chance.randint(1, USERS), f"2010-05-{n % 28 + 1:02} 12:00:00", sum(prices[p] for p in basket))
            for n, basket in baskets.items()
        ],
    )
    yield (
        "INSERT INTO order_items VALUES (%s, %s, %s, %s)",
        [(n, product, 1, prices[product]) for n, basket in baskets.items() for product in basket],
    )
