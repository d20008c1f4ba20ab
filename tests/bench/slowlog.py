"""
What a slow log costs until it is stored, CPU of the reader and of the engine; and `walltime digest FILE` beside
pt-query-digest, seconds and CPU.

    make bench-slowlog [ARGS='--mib 200 --logs DIRECTORY --only digest']

Three logs: samples repeated as they are, the same statements with literals that are never the same, long INSERTs.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.health.counters import Health
from walltime_collector.observe.slowlog.reader import FollowedLog

from tests.bench.machine import machine
from tests.bench.process_usage import usage

WALLTIME: Final = Path(sys.executable).with_name("walltime")
SAMPLES: Final = Path(__file__).parents[3] / "shared" / "data" / "slowlogs"
_LARGEST_SAMPLE_BYTES: Final = 60_000
_MIB: Final = 1024 * 1024
_NUMBER: Final = re.compile(rb"(?<![\w.`])\d+(?![\w.])")
_TEXT: Final = re.compile(rb"'[^'\\\n]*'")
_NO_STATEMENT: Final = re.compile(
    rb"^(?:use |SET [\w=,]*timestamp=|[^\n]*mysqld, Version: |Tcp port: |Time  )[^\n]*\n", re.I | re.M
)
"""What a server writes beside statements; behind a header with all of its lines it would be a part of one."""
_HEADER: Final = (
    b"# Time: 2026-11-21T05:38:%02d.%06dZ\n# User@Host: root[root] @ localhost [127.0.0.1]  Id: %5d\n"
    b"# Query_time: 0.%06d  Lock_time: 0.%06d Rows_sent: %d  Rows_examined: %d\nSET timestamp=17952394%02d;\n"
)


def samples(folder: Path, size: int) -> Iterator[bytes]:
    """The small sample logs again and again."""
    logs = [path.read_bytes() for path in sorted(folder.glob("*.txt")) if path.stat().st_size < _LARGEST_SAMPLE_BYTES]
    whole = b"".join(log if log.endswith(b";\n") else b"" for log in logs)
    for _ in range(max(size // len(whole), 1)):
        yield whole


def distinct(folder: Path, size: int) -> Iterator[bytes]:
    """The statements of the samples, each time with other numbers, texts, times and counts."""
    chance = random.Random(19)
    statements = [
        statement
        for log in samples(folder, 0)
        for found in re.findall(rb"\n((?:[^#\n][^\n]*\n)+)", log)
        if len(found) < 2_000 and (statement := _NO_STATEMENT.sub(b"", found)).endswith(b";\n")
    ]
    while size > 0:
        number = chance.getrandbits(40)
        text = _NUMBER.sub(lambda _: b"%d" % (chance.getrandbits(20)), chance.choice(statements))
        text = _TEXT.sub(lambda _: b"'%x'" % chance.getrandbits(60), text)
        values = [number % n for n in (60, 999_999, 99_999, 900_000, 90_000, 1_000, 1_000_000, 60)]
        entry = _HEADER % tuple(values) + text.rstrip(b"; \n") + b";\n"
        size -= len(entry)
        yield entry


def inserts(size: int) -> Iterator[bytes]:
    """Long INSERTs of 0.2 to 1.2 MB."""
    chance = random.Random(19)
    while size > 0:
        rows = b",".join(
            b"(%d,'%x','it\\'s \"%x\"',NULL)"
            % (chance.getrandbits(30), chance.getrandbits(200), chance.getrandbits(80))
            if chance.random() < 0.01
            else b"(%d,'%x','2026-11-21 10:00:%02d',%d.5)"
            % (chance.getrandbits(30), chance.getrandbits(200), chance.getrandbits(5), chance.getrandbits(9))
            for _ in range(chance.randint(2_200, 13_000))
        )
        entry = _HEADER % (1, 2, 3, 4, 5, 6, 7, 8) + b"INSERT INTO `t` (`a`, `b`, `c`, `d`) VALUES " + rows + b";\n"
        size -= len(entry)
        yield entry


def stored_s(log: Path, folder: Path) -> tuple[int, float, float]:
    """Entries, and CPU seconds of the reader and of the engine's process until all is stored."""
    engine = EmbeddedEngine(folder / "chdb", "walltime")
    engine.migrate()
    engine_began_s = usage(os.getpid()).database_cpu_s  # without its start and the tables
    health = Health()
    (folder / "journal").mkdir()
    began_s = time.process_time()
    followed = FollowedLog(log, "bench", folder / "journal", health)
    while followed.step(engine):
        pass
    time.sleep(1.1)
    followed.step(engine)
    followed.step(engine)
    reader_s = time.process_time() - began_s
    (row,) = engine.query("SELECT count() AS entries FROM slow_queries")
    engine_s = usage(os.getpid()).database_cpu_s - engine_began_s
    followed.close()
    engine.close()
    return int(row["entries"]), reader_s, engine_s


def command_s(*command: str | Path) -> tuple[float, float]:
    """Seconds and CPU seconds of a command with all of its processes."""
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, capture_output=True, check=True)
    took_s, after = time.monotonic() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digests(log: Path) -> str:
    """`walltime digest` and pt-query-digest, one after the other, twice; the faster run of each."""
    commands: dict[str, list[str | Path]] = {"walltime digest": [WALLTIME, "digest", log]}
    if tool := shutil.which("pt-query-digest"):
        commands["pt-query-digest"] = [tool, "--no-version-check", log]
    best = {name: min(command_s(*command) for _ in range(2)) for name, command in commands.items()}
    return ", ".join(f"{name} {took_s:.1f} s, {cpu_s:.1f} s of CPU" for name, (took_s, cpu_s) in best.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=200, help="size of the logs of short statements")
    parser.add_argument("--logs", type=Path, default=SAMPLES, help="folder of sample logs")
    parser.add_argument("--only", choices=("stored", "digest"), help="one of the two")
    arguments = parser.parse_args()
    print(machine())
    size = arguments.mib * _MIB
    for name, pieces in (
        ("samples repeated", samples(arguments.logs, size)),
        ("distinct literals", distinct(arguments.logs, size)),
        ("long INSERTs", inserts(63_000_000 * arguments.mib // 200)),
    ):
        with tempfile.TemporaryDirectory(prefix="walltime-bench-") as folder:
            log = Path(folder) / "slow.log"
            with log.open("wb") as file:
                file.writelines(pieces)
            print(f"{name}: {log.stat().st_size / 1e6:.1f} MB", flush=True)
            if arguments.only != "digest":
                entries, reader_s, engine_s = stored_s(log, Path(folder))
                both_s = reader_s + engine_s
                print(
                    f"  stored: {entries:,} entries, reader {reader_s:.1f} s + engine {engine_s:.1f} s = {both_s:.1f} s"
                    f" of CPU ({both_s / entries * 1e6:.1f} µs an entry)",
                    flush=True,
                )
            if arguments.only != "stored":
                print(f"  {digests(log)}", flush=True)


if __name__ == "__main__":
    main()
