"""The servers that .ci/servers.sh keeps beside the system start like those of the system."""

from __future__ import annotations

import pymysql
import pytest
from shop.services import MariaDB, Memcached

from tests.mysql_server import MysqlServer
from tests.redis_server import RedisServer
from tests.server_folder import server_folder
from tests.unpacked import MARIADB, MEMCACHED, REDIS, preferred


def test_two_mysql_servers_start_from_one_data_folder_and_are_two() -> None:
    with (
        server_folder() as folder,
        MysqlServer(folder / "1", performance_schema_consumer_events_statements_history_long="ON") as first,
        MysqlServer(folder / "2") as second,
    ):
        uuids = set()
        for server, history in ((first, "YES"), (second, "NO")):
            with server.admin() as connection, connection.cursor() as cursor:
                cursor.execute("SELECT @@server_uuid")
                uuids |= set(cursor.fetchall())
                cursor.execute("SELECT enabled FROM performance_schema.setup_consumers WHERE name LIKE '%ments%long'")
                assert cursor.fetchall() == ((history,),)
        assert len(uuids) == 2
        with pymysql.connect(**second.account()) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE words (word TEXT)")


@pytest.mark.nightly
@pytest.mark.parametrize("name", MARIADB)
def test_another_mariadb(name: str) -> None:
    with server_folder() as folder, preferred(name), MariaDB(folder, performance_schema="ON") as server:
        with server.admin() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@version, @@performance_schema")
            version, has_schema = cursor.fetchall()[0]
        assert has_schema
        assert not version.startswith("10.")


@pytest.mark.nightly
@pytest.mark.parametrize("name", MEMCACHED)
def test_another_memcached(name: str) -> None:
    with server_folder() as folder, preferred(name), Memcached("memcached", folder) as server:
        assert server.stats()["version"] > "1.6.18"


@pytest.mark.nightly
@pytest.mark.parametrize("name", REDIS)
def test_another_redis(name: str) -> None:
    with server_folder() as folder, preferred(name), RedisServer(folder) as server:
        assert ("valkey_version" in server.info("server")) == name.startswith("valkey")
