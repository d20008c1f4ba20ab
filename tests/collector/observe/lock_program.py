"""
An instrumented application whose requests wait for each other's locks: `python -m … SCENARIO,… TURNS ACCOUNT`.

It prints what really happened, a line of JSON for each wait: the trace ids of who waited and who held, and how long the
statement took. HOLD_S is in its environment. Values in its statements have `s3cret` in them.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pymysql
import walltime
from opentelemetry import trace

HOLD_S = float(os.environ["HOLD_S"])
TABLES = (
    "DROP TABLE IF EXISTS stock",
    "CREATE TABLE stock (id INT PRIMARY KEY, sort VARCHAR(40), n INT, UNIQUE KEY (sort)) ENGINE=InnoDB",
    "INSERT INTO stock VALUES (1, 's3cret-one', 0), (2, 's3cret-two', 0), (3, 's3cret-three', 0)",
)
account: dict[str, Any] = {}
columns = itertools.count(1)
running: list[str] = []
"""The scenarios so far."""


class Request:
    """A transaction of the application with a connection of its own."""

    def __init__(self, connection: pymysql.Connection[Any]) -> None:
        self.connection = connection
        self.trace = f"{trace.get_current_span().get_span_context().trace_id:032x}"

    def run(self, sql: str, *values: object) -> float:
        """Seconds that it took."""
        began_s = time.perf_counter()
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            cursor.fetchall()
        return time.perf_counter() - began_s


@contextmanager
def request(name: str) -> Iterator[Request]:
    with walltime.transaction(name):
        connection = pymysql.connect(**account)
        try:
            yield Request(connection)
        finally:
            connection.close()


def together(*roles: Callable[[], None]) -> None:
    threads = [threading.Thread(target=role) for role in roles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def pair(take: str, wait: str, *meanwhile: str) -> None:
    """One takes a lock and holds it, idle or while it works; another one waits for it."""
    taken, waits = threading.Event(), threading.Event()
    holder: list[str] = []

    def holds() -> None:
        with request("POST /checkout") as mine:
            mine.run(take)
            holder.append(mine.trace)
            taken.set()
            waits.wait()
            for each in meanwhile:
                mine.run(each)
            if not meanwhile:
                time.sleep(HOLD_S)
            mine.run("UNLOCK TABLES") if take.startswith("LOCK") else mine.connection.commit()

    def waiter() -> None:
        with request("GET /product/{id}") as mine:
            taken.wait()
            waits.set()
            took_s = mine.run(wait)
            mine.connection.rollback()
            told(mine.trace, holder[0], took_s)

    together(holds, waiter)


def told(waiter: str, holder: str, took_s: float) -> None:
    # in one piece: others print at the same time
    sys.stdout.write(json.dumps({"scenario": running[-1], "waiter": waiter, "holder": holder, "took_s": took_s}) + "\n")
    sys.stdout.flush()


def idle() -> None:
    pair("UPDATE stock SET n = n + 1, sort = 's3cret-one' WHERE id = 1", "UPDATE stock SET n = 5 WHERE id = 1")


def inserted() -> None:
    """The lock of a row that was inserted is made by the one that waits for it."""
    pair("INSERT INTO stock VALUES (77, 's3cret-new', 1)", "SELECT n FROM stock WHERE sort = 's3cret-new' FOR UPDATE")
    with pymysql.connect(**account, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DELETE FROM stock WHERE id = 77")


def working() -> None:
    pair(
        "UPDATE stock SET n = n + 1 WHERE sort = 's3cret-one'",
        "SELECT n FROM stock WHERE id = 1 FOR UPDATE",
        f"SELECT 's3cret-work', SLEEP({HOLD_S})",
    )


def metadata() -> None:
    pair("SELECT COUNT(*) FROM stock WHERE sort <> 's3cret'", f"ALTER TABLE stock ADD COLUMN c{next(columns)} INT")


def table() -> None:
    pair("LOCK TABLES stock WRITE", "SELECT n FROM stock WHERE sort = 's3cret-two'")


def chain() -> None:
    """The third waits for the second, which waits for the first."""
    ready = [threading.Event() for _ in range(3)]
    traces: dict[str, str] = {}

    def first() -> None:
        with request("POST /checkout") as mine:
            traces["first"] = mine.trace
            mine.run("UPDATE stock SET n = 1 WHERE id = 1")
            ready[0].set()
            ready[2].wait()
            time.sleep(HOLD_S)
            mine.connection.commit()

    def second() -> None:
        with request("POST /cart") as mine:
            traces["second"] = mine.trace
            mine.run("UPDATE stock SET n = 2 WHERE id = 2")
            ready[0].wait()
            ready[1].set()
            took_s = mine.run("UPDATE stock SET n = 3 WHERE id = 1")
            mine.connection.commit()
            told(mine.trace, traces["first"], took_s)

    def third() -> None:
        with request("GET /product/{id}") as mine:
            ready[1].wait()
            time.sleep(0.05)
            ready[2].set()
            took_s = mine.run("SELECT n FROM stock WHERE id = 2 FOR UPDATE")
            mine.connection.rollback()
            told(mine.trace, traces["second"], took_s)

    together(first, second, third)


def deadlock() -> None:
    """Each of two waits for the other one; told once for each side."""
    both = threading.Barrier(2)
    traces: dict[int, str] = {}

    def side(mine_id: int, other_id: int) -> None:
        with request(f"POST /move/{mine_id}") as mine:
            traces[mine_id] = mine.trace
            mine.run("UPDATE stock SET n = n + 1 WHERE id = %s", mine_id)
            both.wait()
            time.sleep(0.02 * mine_id)
            with suppress(pymysql.err.OperationalError):  # one of the two is rolled back
                mine.run("UPDATE stock SET n = 7, sort = sort WHERE id = %s AND sort <> 's3cret'", other_id)
            mine.connection.rollback()

    together(lambda: side(1, 2), lambda: side(2, 1))
    told(traces[1], traces[2], 0)
    told(traces[2], traces[1], 0)
    time.sleep(2.5)  # the server keeps the last one only, and is asked once a second, on a busy machine in two


def ring() -> None:
    """Each of three waits for the next one; the first to wait in vain is rolled back, and the others go on."""
    all_three = threading.Barrier(3)
    traces: dict[int, str] = {}

    def side(number: int) -> None:
        with request(f"POST /move/{number}") as mine:
            traces[number] = mine.trace
            mine.run("UPDATE stock SET n = n + 1 WHERE id = %s", number)
            all_three.wait()
            time.sleep(0.05 * number)
            with suppress(pymysql.err.OperationalError):
                mine.run("UPDATE stock SET n = 8 WHERE id = %s", number % 3 + 1)
            mine.connection.rollback()

    together(*(partial(side, number) for number in (1, 2, 3)))
    for number in (1, 2, 3):
        told(traces[number], traces[number % 3 + 1], 0)


def main() -> None:
    scenarios, turns, known = sys.argv[1:]
    account.update(json.loads(known))
    walltime.configure(service_name="shop")
    walltime.instrument()
    with pymysql.connect(**account, autocommit=True) as connection, connection.cursor() as cursor:
        for sql in TABLES:
            cursor.execute(sql)
    for scenario in scenarios.split(","):
        for _ in range(int(turns)):
            running.append(scenario)
            globals()[scenario]()
    walltime.shutdown()


if __name__ == "__main__":
    main()
