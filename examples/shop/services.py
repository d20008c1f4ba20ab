"""
The real servers the shop, its demo and the tests run on: MariaDB, memcached, gunicorn, any program.

Each has a folder of its own, listens on a free loopback port, and dies with the process that started it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pymysql

from shop.process import (
    LOOPBACK,
    Program,
    ProgramMissingError,
    Service,
    ServiceError,
    free_port,
    program,
)

READY_CONFIG = Path(__file__).with_name("gunicorn_ready.py")
OBSERVED: Mapping[str, Any] = {
    "performance_schema": "ON",
    "performance_schema_consumer_events_statements_current": "ON",
    "performance_schema_consumer_events_statements_history": "ON",
    "performance_schema_consumer_events_transactions_current": "ON",
    "performance_schema_instrument": "wait/lock/metadata/sql/mdl=ON",
}
"""Options of a MariaDB whose locks, their holders and plans a collector sees; all of it is off by default."""

__all__ = [
    "LOOPBACK",
    "OBSERVED",
    "Gunicorn",
    "MariaDB",
    "Memcached",
    "Program",
    "ProgramMissingError",
    "Service",
    "ServiceError",
    "fast_folder",
    "free_port",
]


class Gunicorn(Service):
    """A WSGI application under gunicorn; ready when every worker has loaded it."""

    def __init__(
        self,
        name: str,
        folder: Path,
        application: str,
        *,
        workers: int = 2,
        threads: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, folder, environment)
        self.application = application
        self.workers = workers
        self.threads = threads  # 0: sync workers, which close the connection after each answer

    def command(self) -> Sequence[str | Path]:
        threads = ("--worker-class", "gthread", "--threads", str(self.threads)) if self.threads else ()
        return [
            *(sys.executable, "-m", "gunicorn", self.application, "--bind", self.address),
            *("--workers", str(self.workers), *threads),
            *(
                "--config",
                READY_CONFIG,
                "--graceful-timeout",
                "5",
                "--no-control-socket",
                "--worker-tmp-dir",
                self.folder,
            ),
        ]

    def answers(self) -> bool:
        listening = re.search(r"Listening at: http://[^:]+:(\d+)", self.output())
        if listening is None or self.output().count("Worker ready with pid") < self.workers:
            return False
        self.port = int(listening[1])
        return True


class Memcached(Service):
    """A memcached server; stopping it forgets everything it held, which is what the demo is about."""

    def __init__(self, name: str, folder: Path, memory_mb: int = 64) -> None:
        super().__init__(name, folder)
        self.memory_mb = memory_mb

    def command(self) -> Sequence[str | Path]:
        self.port = self.port or free_port()
        user = ("-u", "root") if os.geteuid() == 0 else ()
        return [
            program("memcached", "memcached"),
            "-l",
            LOOPBACK,
            "-p",
            str(self.port),
            "-U",
            "0",
            "-m",
            str(self.memory_mb),
            *user,
        ]

    def stop(self) -> None:
        """Kill it: it has nothing to keep, and a clean end takes it up to a second."""
        self.kill()

    def answers(self) -> bool:
        return self.stats().get("pid") == str(self.pid)  # on a lost race for the port, somebody else answers

    def stats(self) -> dict[str, str]:
        """The server's own counters (`get_hits`, `get_misses`, …) since its start."""
        with socket.create_connection((LOOPBACK, self.port), timeout=5) as connection:
            connection.sendall(b"stats\r\nquit\r\n")
            lines = connection.makefile("r").read().splitlines()
        return dict(line.split(" ", 2)[1:] for line in lines if line.startswith("STAT "))


class MariaDB(Service):
    """
    A MariaDB server with one database and one account for it; `admin` is a connection that may do everything.

    The account `observer` is a collector's, with what docs/observing.md asks for.

    Fast to start and small, and not durable against a power cut: nothing to keep important data in.

    Args:
        general_log: Write every statement to `general.log`.
        slow_log_s: Write statements that took longer to `slow.log`, with all the server knows; 0.0 is all.
        options: More settings of the server, by name: `performance_schema="ON"`.
    """

    database = "shop"
    user = "shop"
    observer = "observer"

    def __init__(
        self,
        folder: Path,
        name: str = "mariadb",
        *,
        general_log: bool = False,
        slow_log_s: float | None = None,
        **options: str,
    ) -> None:
        super().__init__(name, folder)
        self.options = [f"--{option.replace('_', '-')}={value}" for option, value in options.items()]
        self.data, self.tmpdir = folder / "data", folder / "tmp"
        self.general_log = folder / "general.log" if general_log else None
        self.slow_log = folder / "slow.log" if slow_log_s is not None else None
        self.slow_log_s = slow_log_s
        self.password = secrets.token_hex(16)
        self.admin_password = secrets.token_hex(16)
        self.observer_password = secrets.token_hex(16)

    def prepare(self) -> None:
        self.tmpdir.mkdir(exist_ok=True)
        if self.data.exists():
            return
        accounts = self.folder / "accounts.sql"
        accounts.touch(mode=0o600)
        accounts.write_text(
            "FLUSH PRIVILEGES;\n"  # the installer runs without grant tables until it is told to read them
            f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4;\n"
            f"CREATE USER {self.user}@'{LOOPBACK}' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON {self.database}.* TO {self.user}@'{LOOPBACK}';\n"
            f"CREATE USER admin@'{LOOPBACK}' IDENTIFIED BY '{self.admin_password}';\n"
            f"GRANT ALL ON *.* TO admin@'{LOOPBACK}' WITH GRANT OPTION;\n"
            f"CREATE USER {self.observer}@'{LOOPBACK}' IDENTIFIED BY '{self.observer_password}';\n"
            f"GRANT PROCESS, REPLICA MONITOR ON *.* TO {self.observer}@'{LOOPBACK}';\n"
            f"GRANT SELECT ON performance_schema.* TO {self.observer}@'{LOOPBACK}';\n"
            f"GRANT SELECT, SHOW VIEW ON {self.database}.* TO {self.observer}@'{LOOPBACK}';\n"
        )
        install = [program("mariadb-install-db", "mariadb-server"), "--no-defaults", f"--datadir={self.data}"]
        install += ["--skip-test-db", "--skip-name-resolve", f"--extra-file={accounts}", *self._settings()]
        for _ in range(2):  # on a busy machine it crashes once in some thousand times
            done = subprocess.run(install, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
            if done.returncode:
                shutil.rmtree(self.data, ignore_errors=True)
            if "Segmentation fault" not in done.stdout + done.stderr:
                break
        accounts.unlink()
        if done.returncode:
            tail = "\n    ".join((done.stdout + done.stderr).splitlines()[-15:])
            raise ServiceError(f"{self.name}: mariadb-install-db could not make {self.data}:\n    {tail}")

    def command(self) -> Sequence[str | Path]:
        self.port = self.port or free_port()
        logs = []
        if self.general_log:
            logs += ["--general-log=1", f"--general-log-file={self.general_log}"]
        if self.slow_log:
            logs += [
                "--slow-query-log=1",
                f"--slow-query-log-file={self.slow_log}",
                "--log-slow-verbosity=full",
            ]
            logs += [f"--long-query-time={self.slow_log_s}"]
        return [
            *(
                program("mariadbd", "mariadb-server"),
                "--no-defaults",
                f"--datadir={self.data}",
                *self._settings(),
            ),
            *(f"--port={self.port}", f"--bind-address={LOOPBACK}", "--skip-name-resolve"),
            "--socket=mariadb.sock",  # relative to the data folder, so that a long path is no problem
            f"--pid-file={self.folder / 'mariadb.pid'}",
            *("--skip-log-bin", "--skip-performance-schema", "--max-connections=200"),
            *("--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"),
            *("--innodb-flush-log-at-trx-commit=2", "--skip-innodb-doublewrite", *logs),
            *self.options,
        ]

    def answers(self) -> bool:
        self.admin().close()
        return True

    def write_logs(self, *, on: bool) -> None:
        """Whether statements are written to the logs from now on, those of open connections too; at first they are."""
        with self.admin() as connection, connection.cursor() as cursor:
            # long_query_time and slow_query_log are copied by each connection when it opens; this one is not
            cursor.execute("SET GLOBAL log_output = %s", ("FILE" if on else "NONE",))

    def account(self) -> dict[str, Any]:
        """Arguments for `pymysql.connect`, as the application's user."""
        return {
            "host": LOOPBACK,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": self.database,
        }

    def admin(self) -> pymysql.connections.Connection[Any]:
        """A new autocommitting connection that may do everything."""
        return pymysql.connect(
            host=LOOPBACK,
            port=self.port,
            user="admin",
            password=self.admin_password,
            database=self.database,
            autocommit=True,
            connect_timeout=5,
        )

    def _settings(self) -> list[str]:
        as_root = ["--user=root"] if os.geteuid() == 0 else []
        # a server that starts deletes all temporary tables in its tmpdir: in /tmp, those of other servers too
        return [*as_root, f"--tmpdir={self.tmpdir}", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M"]


def fast_folder(prefix: str = "walltime-") -> Path:
    """A new private folder, in memory where Linux has room there, else on disk; the caller removes it."""
    memory = Path("/dev/shm")  # noqa: S108 - mkdtemp makes the folder private and its name unguessable
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30
    return Path(tempfile.mkdtemp(prefix=prefix, dir=memory if roomy else None))
