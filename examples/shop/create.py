"""
Make the shop's tables in the server that the settings name: `python -m shop.create`, once before the shop starts.

Run again it finds them and leaves them alone; what an interrupted run left half-made is made anew.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import pymysql

from shop.seed import SCHEMA, seed
from shop.settings import Settings

MARK = "shop_is_being_made"
"""A table that is there while the others are being made."""


class NotEmptyError(Exception):
    """The database holds tables that are not the shop's; the message says which."""


def create(connection: pymysql.connections.Connection[Any]) -> bool:
    """
    Make and fill the shop's tables in the connection's database; False when they were there.

    Raises:
        NotEmptyError: Somebody else's tables are there. Nothing was changed.
    """
    ours = re.findall(r"CREATE TABLE (\w+)", SCHEMA.read_text())
    with connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        found = {name for (name,) in cursor.fetchall()}
        if found == set(ours):
            return False
        if found and MARK not in found:
            raise NotEmptyError(
                f"the database holds {', '.join(sorted(found)[:5])}, which is not the whole shop; give an empty one"
            )
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {MARK} (id INT PRIMARY KEY)")
        for table in reversed(ours):  # first those that refer to others
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
    seed(connection)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {MARK}")
    return True


def main() -> None:
    settings = Settings.from_environment()
    where = f"{settings.mysql_database} on {settings.mysql_host}:{settings.mysql_port}"
    try:
        with pymysql.connect(
            host=settings.mysql_host,
            port=settings.mysql_port,
            user=settings.mysql_user,
            password=settings.mysql_password,
            database=settings.mysql_database,
            connect_timeout=5,
        ) as connection:
            made = create(connection)
    except (pymysql.Error, NotEmptyError) as problem:
        sys.exit(f"shop.create: {where}: {problem}")
    print(f"{where}: the shop's tables {'are made and filled' if made else 'are there'}")


if __name__ == "__main__":
    main()
