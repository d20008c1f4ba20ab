"""
What a MySQL server pays: for its own instruments, and for the collector's questions; CPU of mysqld, by turns.

    make bench-mysql [ARGS='--rounds 40 --rates 1000 10000']

Each turn is a second of the same load with other instruments on; after them longer ones with and without the collector.
What the collector's connection uses is known exactly, since a connection has a thread of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import MySQLdb
from shop.services import fast_folder

from tests.bench.machine import ForeignLoad, machine
from tests.mysql_server import MysqlServer
from tests.servers import Program

PROCESSES: Final = 2
PRODUCTS: Final = 10_000
WARM_S: Final = 4
"""After the collector has connected: what it does once is not what it costs."""
COMMENT: Final = "/*route='%2Fproduct',service='shop',traceparent='00-{0:032x}-{0:016x}-01'*/"
STATEMENTS: Final = (
    *["SELECT id, name, price FROM products WHERE id = {id}"] * 8,
    "SELECT id, name, price FROM products WHERE id BETWEEN {id} AND {id} + 20 ORDER BY price",
    "UPDATE products SET price = price + 1 WHERE id = {id}",
)
CONSUMERS: Final = {
    "global_instrumentation", "thread_instrumentation", "statements_digest", "events_statements_current",
    "events_statements_history", "events_transactions_current", "events_transactions_history",
}  # fmt: skip
HISTORY: Final = ("events_statements_history_long",)
CPU: Final = (*HISTORY, "events_statements_cpu")
WAITS: Final = (*CPU, "events_waits_current", "events_waits_history_long")


@dataclass(frozen=True)
class Turn:
    """Consumers that are on beside those that MySQL switches on by itself."""

    name: str
    consumers: Sequence[str] = ()
    waits: bool = False
    """The instruments of files and tables too."""
    collector: bool = False


INSTRUMENTS: Final = (
    Turn("as MySQL starts"),
    Turn("events_statements_history_long", HISTORY),
    Turn("and events_statements_cpu", CPU),
    Turn("and waits for files and tables", WAITS, waits=True),
)
COLLECTOR: Final = (Turn("without a collector", CPU), Turn("with the collector", CPU, collector=True))


@dataclass
class Measured:
    """Of one turn, an entry for each round."""

    statement_us: list[float] = field(default_factory=list)
    """CPU of mysqld for a statement of the load, all that it did besides included."""
    rate: list[float] = field(default_factory=list)
    connection_share: list[float] = field(default_factory=list)
    """CPU of the collector's connection by all CPU of mysqld."""
    connection_cores: list[float] = field(default_factory=list)


_connection: Any = None


def connect(account: Mapping[str, Any]) -> None:
    """Once for each process of the load."""
    global _connection  # noqa: PLW0603 it stays open from turn to turn
    _connection = MySQLdb.connect(**account, autocommit=True)


def load(rate: float, seconds: float) -> int:
    """Send so many statements a second over the connection; returns how many it were."""
    sent, began_s = 0, time.perf_counter()
    while (now_s := time.perf_counter() - began_s) < seconds:
        while sent < now_s * rate:
            text = STATEMENTS[sent % len(STATEMENTS)].format(id=sent * 7919 % PRODUCTS)
            _connection.query(text + COMMENT.format(sent))
            result = _connection.store_result()
            if result is not None:
                result.fetch_row(0)
            sent += 1
        time.sleep(0.001)
    return sent


def cpu_s(pid: int, thread: str = "*") -> float:
    """Of one thread, or all, in nanoseconds; the ticks of `stat` are too coarse for a second."""
    threads = Path(f"/proc/{pid}/task").glob(f"{thread}/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / 1e9


@contextmanager
def collected(server: MysqlServer, folder: Path) -> Iterator[str]:
    """A collector that observes the server; yields the thread of its connection."""
    password = server.admin_password
    Program.options = ("--mysql", f"mysql://admin@{server.address}")
    with Program(folder / "data", mysql_password=password):
        time.sleep(WARM_S)
        with server.admin() as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT THREAD_OS_ID FROM performance_schema.threads"
                " WHERE PROCESSLIST_USER = 'admin' AND PROCESSLIST_ID <> CONNECTION_ID()"
            )
            ((thread,),) = cursor.fetchall()
        yield str(thread)


class Bench:
    """One server, and the processes that load it."""

    def __init__(self, server: MysqlServer, loads: ProcessPoolExecutor, folder: Path) -> None:
        self.server, self.loads, self.folder = server, loads, folder
        with server.admin() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE products (id INT PRIMARY KEY, name VARCHAR(100), price INT)")
            rows = [(number, f"product {number}", number % 100) for number in range(PRODUCTS)]
            cursor.executemany("INSERT INTO products VALUES (%s, %s, %s)", rows)

    def by_turns(self, turns: Sequence[Turn], rate: float, seconds: float, rounds: int) -> Mapping[str, Measured]:
        """By the turn's name; each once in each round."""
        measured = {turn.name: Measured() for turn in turns}
        for _ in range(max(rounds, 1)):
            for turn in turns:
                self.measure(turn, rate, seconds, measured[turn.name])
        return measured

    def measure(self, turn: Turn, rate: float, seconds: float, into: Measured) -> None:
        """Run the load once as the turn says."""
        self._instruments(turn)
        with collected(self.server, self.folder) if turn.collector else nullcontext("none") as thread:
            pid = self.server.pid
            before_s, asked_before_s = cpu_s(pid), cpu_s(pid, thread)
            began_s = time.monotonic()
            each = rate / PROCESSES
            running = [self.loads.submit(load, each, seconds) for _ in range(PROCESSES)]
            sent = sum(each.result() for each in running)
            took_s = time.monotonic() - began_s
            used_s, asked_s = cpu_s(pid) - before_s, cpu_s(pid, thread) - asked_before_s
        into.rate.append(sent / took_s)
        into.statement_us.append(used_s / sent * 1e6)
        into.connection_share.append(asked_s / used_s)
        into.connection_cores.append(asked_s / took_s)

    def _instruments(self, turn: Turn) -> None:
        on, waits = ",".join(CONSUMERS | {*turn.consumers}), "YES" if turn.waits else "NO"
        with self.server.admin() as connection, connection.cursor() as cursor:
            cursor.execute(
                "UPDATE performance_schema.setup_consumers SET ENABLED = IF(FIND_IN_SET(NAME, %s), 'YES', 'NO')", (on,)
            )
            cursor.execute(
                "UPDATE performance_schema.setup_instruments SET ENABLED = %s, TIMED = %s"
                " WHERE NAME LIKE 'wait/io/file/%%' OR NAME LIKE 'wait/io/table/%%'",
                (waits, waits),
            )


def show(measured: Mapping[str, Measured]) -> None:
    """A line for each turn: medians, and of the ratios to the first turn of the same round."""
    first = next(iter(measured.values()))
    for name, each in measured.items():
        more = [now / was for now, was in zip(each.statement_us, first.statement_us, strict=True)]
        line = (
            f"{name:38} {statistics.median(each.rate):8,.0f}/s {statistics.median(each.statement_us):7.1f} µs of CPU a"
            f" statement, {statistics.median(more) - 1:+6.1%}{quartiles(more)}"
        )
        if any(each.connection_share):
            line += (
                f"; the collector's connection {statistics.median(each.connection_share):.2%} of mysqld's CPU,"
                f" {statistics.median(each.connection_cores):.2%} of a core"
            )
        print(line, flush=True)


def quartiles(ratios: Sequence[float]) -> str:
    """In between which half of them are."""
    low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [*ratios] * 3
    return f" ({low - 1:+.1%} … {high - 1:+.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--rates", type=float, nargs="+", default=[1_000, 10_000], help="statements a second")
    arguments = parser.parse_args()
    print(machine())
    foreign = ForeignLoad()
    folder = fast_folder()
    try:
        with MysqlServer(folder / "mysql") as server:
            spawn = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(PROCESSES, spawn, connect, (server.account(),)) as loads:
                bench = Bench(server, loads, folder)
                for rate in arguments.rates:
                    print(f"\n{rate:,.0f} statements a second wanted")
                    show(bench.by_turns(INSTRUMENTS, rate, 1, arguments.rounds))
                    show(bench.by_turns(COLLECTOR, rate, 20, arguments.rounds // 8))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\nother programs kept {foreign.cores() or 0:.2f} cores busy")


if __name__ == "__main__":
    main()
