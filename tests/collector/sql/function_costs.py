"""
Calls every function that a statement may call with large arguments, and finds those that no limit of a statement ends.

    python -m tests.collector.sql.function_costs [NAME …]

ClickHouse looks at the clock between blocks, never inside of a call. A call is tried with a small argument first, in
every combination of the kinds below; what is accepted is called with large ones, under a limit of one second. Whatever
takes more than MOST_CPU_S of CPU is printed, and its process is killed; so is what takes more than MOST_MIB of memory,
because it allocates before ClickHouse counts.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from walltime_collector.sql.guard.allowed import (
    AGGREGATES,
    FORMATS_NUMBERS,
    FUNCTIONS,
    LAMBDA_FUNCTIONS,
    SHORT_ARGUMENT,
)
from walltime_collector.sql.runner import LIMITS

MOST_CPU_S = 6.0
MOST_MIB = 1_024  # the limit of a statement is 512
LENGTHS = (60_000, 1_000_000)  # some functions refuse more than 65,536
ACCEPTED = 8  # so many combinations of each function are tried large

# Kind → an expression, small with {n} = 4 and large with {n} = one of LENGTHS.
TEXT = {
    "text": "substring(repeat('ab,1 ', intDiv({n}, 4)), 1)",
    "other text": "reverse(repeat('ba;2 ', intDiv({n}, 4)))",
    "marks": "repeat('a\\u0301\\u0323\\u0301\\u0323', intDiv({n}, 8) + 1)",
}
SOURCES = {
    **TEXT,
    "numbers": "arrayMap(x -> sipHash64(x) % 1000, range({n}))",
    "other numbers": "range({n})",
    "texts": "arrayMap(x -> toString(x), range({n}))",
    "map": "mapFromArrays(range({n}), range({n}))",
    "number": "toUInt64({n})",
    "fraction": "0.5",
    "small": "3",
    "bitmap": "bitmapBuild(range({n}))",
    "date": "toDateTime(1700000000 + {n})",
    "large number": "toUInt64({n}) * 2000",
    "url": "concat('http://a/', repeat('a/', intDiv({n}, 4)))",
    "width": "'%{n}000d'",
    "width in braces": "'{:>{n}000}'",
    "json": "concat('{\"a\":[', repeat('1,', {n}), '1]}')",
}
COLUMNS = {
    "number": "number",
    "half": "number % 2",
    "fraction": "toFloat64(number) / 7",
    "text": "toString(number)",
    "array": "[number % 5, number]",
    "date": "toDateTime(number)",
    "map": "map(number % 10, number)",
    "state": "bitmapBuild([number])",
    "flag": "number % 3 = 0",
}
PARAMETERS = ["", "(0.5)", "(10)", "(10, 20)", "('two-sided')", "('two-sided', 'exact')", "('(?1)(?2)')", "(1000)"]
LARGE = (
    "text",
    "url",
    "marks",
    "json",
    "numbers",
    "texts",
    "map",
    "number",
    "bitmap",
    "fraction",
    "width",
    "width in braces",
)
SECOND = ("other text", "other numbers", "texts", "number", "small", "fraction", "map", "large number")
THIRD = ("other numbers", "number", "small", "text")
COLUMN_TRIPLES = ("number", "half", "fraction", "flag")
LAMBDAS = ["x -> x", "(x, y) -> x + y"]


def calls(name: str) -> Iterator[tuple[str, str]]:
    """Combinations of arguments for a function, each as what it is and as a call in SQL with {n} in it."""
    if LAMBDA_FUNCTIONS.fullmatch(name):
        for function, kind in product(LAMBDAS, ("numbers", "texts", "map")):
            yield f"{function}, {kind}", f"SELECT ignore({name}({function}, {SOURCES[kind]}))"
    for kinds in (*((each,) for each in LARGE), *product(LARGE, SECOND), *product(LARGE, SECOND, THIRD)):
        arguments = ", ".join(SOURCES[kind] for kind in kinds)
        yield ", ".join(kinds), f"SELECT ignore({name}({arguments}))"


def aggregate_calls(name: str) -> Iterator[tuple[str, str]]:
    """Combinations of parameters and columns for an aggregate function, likewise."""
    for parameters in PARAMETERS:
        for kinds in (*((each,) for each in COLUMNS), *product(COLUMNS, COLUMNS), *product(COLUMN_TRIPLES, repeat=3)):
            arguments = ", ".join(COLUMNS[kind] for kind in kinds)
            yield (
                f"{parameters} {', '.join(kinds)}",
                f"SELECT ignore({name}{parameters}({arguments})) FROM numbers({{n}})",
            )


class Worker:
    """A process with an engine of its own, which may be killed."""

    def __init__(self) -> None:
        self._start()

    def ask(self, sql: str) -> tuple[str, float]:
        """The error or nothing, and the seconds of CPU; `killed` if it did not end, `memory` if it took too much."""
        before_s = self._cpu_s()
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")  # the largest size is that of now
        before_mib = self._largest_mib()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(sql) + "\n")
        self._process.stdin.flush()
        while True:
            if select.select([self._process.stdout], [], [], 0.5)[0]:
                line = self._process.stdout.readline()
                if not line:
                    self.close()
                    self._start()
                    return "crashed", 0
                if self._largest_mib() > before_mib + MOST_MIB:
                    self.close()
                    self._start()
                    return "memory", 0
                return json.loads(line), self._cpu_s() - before_s
            if (spent_s := self._cpu_s() - before_s) > MOST_CPU_S:
                self.close()
                self._start()
                return "killed", spent_s

    def close(self) -> None:
        """End it, and close its pipes."""
        with self._process:
            self._process.kill()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.collector.sql.function_costs", "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def _largest_mib(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) // 1024

    def _cpu_s(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def work() -> None:
    """Answer statements until stdin ends."""
    import chdb

    session = chdb.connect(":memory:")
    for name, value in {**LIMITS, "max_execution_time": "1", "max_threads": "1"}.items():
        session.query(f"SET {name} = '{value}'")
    print("ready", flush=True)
    for line in sys.stdin:
        error = ""
        try:
            session.query(json.loads(line), "TSV")
        except Exception as caught:  # noqa: BLE001 whatever it is, it is an answer
            error = str(caught)[:200] or "error"
        print(json.dumps(error), flush=True)


def outliving(name: str, worker: Worker) -> list[str]:
    """What of this function its time limit does not end; combinations that are not accepted are left out."""
    accepted = 0
    for kinds, sql in (aggregate_calls if name in AGGREGATES else calls)(name):
        if accepted == ACCEPTED:
            break
        if worker.ask(sql.replace("{n}", "4"))[0]:
            continue
        accepted += 1
        for length in LENGTHS:
            error, spent_s = worker.ask(sql.replace("{n}", str(length)))
            if spent_s > MOST_CPU_S / 2 or error in ("killed", "crashed", "memory"):
                return [f"{name}({kinds}) of {length}: {spent_s:.1f} s {error[:80]}"]
    return []


def measurable() -> list[str]:
    """The functions of the allow-list that may be called with arguments of any length, without second names."""
    import chdb

    session = chdb.connect(":memory:")
    second = session.query("SELECT name FROM system.functions WHERE alias_to != ''", "TSV").bytes().decode().split()
    session.close()
    return sorted((FUNCTIONS | AGGREGATES) - set(second) - set(SHORT_ARGUMENT) - {FORMATS_NUMBERS})


def main(names: list[str]) -> list[str]:
    """Print what is found, function by function, and return it."""
    worker = Worker()
    found = []
    for name in names:
        for line in outliving(name, worker):
            print(line, flush=True)
            found.append(line)
    worker.close()
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        work()
    else:
        main(sys.argv[1:] or measurable())
