"""A real MySQL, of the newest version that there is (.ci/servers.sh)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shop.process import LOOPBACK, free_port
from shop.services import MariaDB

from tests.unpacked import MARIADB, preferred, unpacked


class MysqlServer(MariaDB):
    """
    A MySQL server with all that `MariaDB` has: the database, its account, `admin()`, options by name.

    Passwords are checked by caching_sha2_password, and TLS is on: its authority is `data / "ca.pem"`. The
    performance_schema is on with the consumers that MySQL has on by default.
    """

    version = "mysql-sid"

    def __init__(self, folder: Path, name: str = "mysql", *, slow_log_s: float | None = None, **options: str) -> None:
        super().__init__(folder, name, general_log=False, slow_log_s=slow_log_s, **options)
        self.accounts = folder / "accounts.sql"

    def prepare(self) -> None:
        self.tmpdir.mkdir(exist_ok=True)
        if self.data.exists():
            return
        shutil.copytree(unpacked(self.version).with_name("data"), self.data)
        self.accounts.touch(mode=0o600)
        # one statement a line, as the server wants them
        self.accounts.write_text(
            f"CREATE DATABASE IF NOT EXISTS {self.database} CHARACTER SET utf8mb4;\n"
            f"CREATE USER IF NOT EXISTS {self.user}@'{LOOPBACK}' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON {self.database}.* TO {self.user}@'{LOOPBACK}';\n"
            f"CREATE USER IF NOT EXISTS admin@'{LOOPBACK}' IDENTIFIED BY '{self.admin_password}';\n"
            f"GRANT ALL ON *.* TO admin@'{LOOPBACK}' WITH GRANT OPTION;\n"
        )

    def command(self) -> Sequence[str | Path]:
        self.port = self.port or free_port()
        logs = []
        if self.slow_log:
            logs = ["--slow-query-log=1", f"--slow-query-log-file={self.slow_log}", "--log-slow-extra=ON"]
            logs += [f"--long-query-time={self.slow_log_s}"]
        return [
            *(unpacked(self.version) / "mysqld", "--no-defaults", f"--datadir={self.data}", f"--tmpdir={self.tmpdir}"),
            *(["--user=root"] if os.geteuid() == 0 else []),
            *(f"--init-file={self.accounts}", "--secure-file-priv=NULL"),
            *(f"--port={self.port}", f"--bind-address={LOOPBACK}", "--skip-name-resolve", "--skip-mysqlx"),
            "--socket=mysql.sock",  # relative to the data folder, so that a long path is no problem
            f"--pid-file={self.folder / 'mysql.pid'}",
            *("--skip-log-bin", "--max-connections=200", "--innodb-buffer-pool-size=64M"),
            *("--innodb-redo-log-capacity=16M", "--innodb-flush-log-at-trx-commit=2", "--skip-innodb-doublewrite"),
            *logs,
            *self.options,
        ]

    def answers(self) -> bool:
        # trying to connect until it is there would take more CPU than its start
        return "ready for connections" in self.output() and super().answers()


@contextmanager
def kind_of(name: str) -> Iterator[type[MariaDB]]:
    """The server that a test's parameter names: mysql, mariadb, or a MariaDB of another suite."""
    if name in MARIADB:
        with preferred(name):
            yield MariaDB
    else:
        yield MysqlServer if name == "mysql" else MariaDB
