"""SQLAlchemy on every driver of MySQL: its pool is a line of the bill, and nothing is there twice."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextvars import Context
from typing import Any

import pytest
import sqlalchemy
import walltime
from shop.services import MariaDB
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import QueuePool

from tests.sdk.clients.mysql.mysql_server import Server
from tests.sdk.sink import Sink

BLOCKING = ("pymysql", "mysqldb", "mysqlconnector")
ASYNCIO = ("aiomysql", "asyncmy")


class Base(DeclarativeBase):
    pass


class Fruit(Base):
    __tablename__ = "fruit"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sqlalchemy.String(40))


@pytest.fixture
def server(mariadb: MariaDB) -> Iterator[Server]:
    server = Server(mariadb)
    yield server
    server.close()


def url(server: Server, driver: str) -> sqlalchemy.URL:
    account = server.account
    return sqlalchemy.URL.create(
        f"mysql+{driver}",
        username=account["user"],
        password=account["password"],
        host=account["host"],
        port=account["port"],
        database=account["database"],
    )


@pytest.fixture
def engine(server: Server) -> Iterator[Callable[..., sqlalchemy.Engine]]:
    """Makes an engine that has connected once: its first connection asks the server for its version and modes."""
    made = []

    def engine(driver: str, **arguments: Any) -> sqlalchemy.Engine:
        pure = {"use_pure": True, "sql_mode": "STRICT_ALL_TABLES"} if driver == "mysqlconnector" else {}
        made.append(sqlalchemy.create_engine(url(server, driver), connect_args=pure, **arguments))
        made[-1].connect().close()
        return made[-1]

    yield engine
    for one in made:
        one.dispose()


@pytest.mark.parametrize("driver", BLOCKING)
def test_a_request_is_a_checkout_its_statements_and_the_reset(
    recorded: Sink, server: Server, engine: Callable[..., sqlalchemy.Engine], driver: str
) -> None:
    shop = engine(driver)
    before = server.statements()
    with walltime.transaction("job"), shop.connect() as connection:
        rows = connection.execute(sqlalchemy.text("SELECT id FROM fruit WHERE id > :id"), {"id": 1}).all()
        assert sorted(rows) == [(2,), (3,)]
        connection.commit()
    bill = recorded.transaction()
    assert bill.cell("mysql.pool") == {"calls": 1}
    assert bill.targets()["mysql.pool", f"127.0.0.1:{server.mariadb.port}"]["calls"] == 1
    assert bill.cell("mysql.query")["calls"] == 1
    assert bill.cell("mysql.connect") == {}
    calls = bill.cell("mysql.query")["calls"] + bill.cell("mysql.commit")["calls"]
    assert server.statements() - before - 1 == calls
    (text,) = bill.statements()
    assert text == "SELECT id FROM fruit WHERE id > " + ("%(id)s" if driver != "mysqldb" else "%s")


@pytest.mark.parametrize("driver", BLOCKING)
def test_waiting_for_an_exhausted_pool_is_seen(
    recorded: Sink, server: Server, engine: Callable[..., sqlalchemy.Engine], driver: str
) -> None:
    shop = engine(driver, pool_size=1, max_overflow=0)
    held, waited_for = threading.Event(), threading.Event()

    def hold() -> None:
        with shop.connect() as connection:
            held.set()
            waited_for.wait(10)
            connection.execute(sqlalchemy.text("SELECT SLEEP(0.3)"))

    other = threading.Thread(target=Context().run, args=(hold,))
    other.start()
    assert held.wait(10)
    with walltime.transaction("job"):
        waited_for.set()
        with shop.connect() as connection:
            connection.execute(sqlalchemy.text("SELECT 1"))
    other.join()
    bill = recorded.transaction()
    assert bill.cell("mysql.pool") == {"calls": 1}
    assert bill.cell("mysql.connect") == {}
    assert bill.times_ns()["mysql.pool"] >= 200_000_000
    assert sum(bill.times_ns().values()) <= bill.duration_ns, "it is in no other line"


def test_a_pool_that_gives_no_connection_in_time_is_an_error_of_the_pool(
    recorded: Sink, engine: Callable[..., sqlalchemy.Engine]
) -> None:
    shop = engine("pymysql", pool_size=1, max_overflow=0, pool_timeout=0.05)
    with shop.connect(), walltime.transaction("job"), pytest.raises(sqlalchemy.exc.TimeoutError):
        shop.connect()
    assert recorded.transaction().cell("mysql.pool") == {"calls": 1, "errors": 1}


def test_what_cannot_connect_is_counted_by_the_driver_alone(recorded: Sink, server: Server) -> None:
    server.account["password"] = "wrong"
    shop = sqlalchemy.create_engine(url(server, "pymysql"))
    with walltime.transaction("job"), pytest.raises(sqlalchemy.exc.OperationalError):
        shop.connect()
    bill = recorded.transaction()
    assert bill.cell("mysql.connect") == {"calls": 1, "errors": 1}
    assert bill.cell("mysql.pool") == {"calls": 1}


def test_a_ping_before_each_checkout_is_seen(recorded: Sink, engine: Callable[..., sqlalchemy.Engine]) -> None:
    shop = engine("pymysql", pool_pre_ping=True)
    with walltime.transaction("job"):
        for _ in range(3):
            with shop.connect() as connection:
                connection.execute(sqlalchemy.text("SELECT 1"))
    bill = recorded.transaction()
    assert bill.cell("mysql.pool") == {"calls": 3}
    assert bill.cell("mysql.ping") == {"calls": 3}


@pytest.mark.parametrize("driver", BLOCKING)
def test_objects_inserted_together_stay_one_statement(
    recorded: Sink, server: Server, engine: Callable[..., sqlalchemy.Engine], driver: str
) -> None:
    shop = engine(driver)
    before = server.statements()
    with walltime.transaction("import"), Session(shop) as session:
        session.add_all([Fruit(id=10 + n, name=f"fruit {n}") for n in range(50)])
        session.commit()
    assert server.statements() - before - 1 == 3  # INSERT, COMMIT, and the ROLLBACK of a connection that comes back
    bill = recorded.transaction()
    assert bill.cell("mysql.query") == {"calls": 1, "rows": 50}
    assert bill.cell("mysql.commit") == {"calls": 2}
    assert server.rows("SELECT COUNT(*) FROM fruit") == [(53,)]


@pytest.mark.parametrize("driver", ASYNCIO)
def test_an_async_engine_waits_for_its_pool_on_the_execution_context_of_its_task(
    recorded: Sink, server: Server, driver: str
) -> None:
    async def main() -> None:
        shop = create_async_engine(url(server, driver), pool_size=1, max_overflow=0)
        async with shop.connect() as connection:
            await connection.execute(sqlalchemy.text("SELECT 1"))

        async def request() -> None:
            async with shop.connect() as connection:
                await connection.execute(sqlalchemy.text("SELECT SLEEP(0.3)"))

        with walltime.transaction("job"):
            await asyncio.gather(request(), request())
        await shop.dispose()

    asyncio.run(main())
    (bill,) = recorded.transactions()
    assert bill.cell("mysql.pool") == {"calls": 2}
    assert bill.cell("mysql.query")["calls"] == 2
    assert bill.times_ns()["mysql.pool"] >= 200_000_000
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns
    assert all("SLEEP" in call.attributes["db.query.text"] for call in recorded.calls("mysql.query"))


def test_a_pool_of_another_database_is_not_ours(recorded: Sink) -> None:
    shop = sqlalchemy.create_engine("sqlite://", poolclass=QueuePool)
    with walltime.transaction("job"), shop.connect() as connection:
        connection.execute(sqlalchemy.text("SELECT 1"))
    shop.dispose()
    assert recorded.transaction().cell("mysql.pool") == {}
