"""A slow log of numbered entries."""

from __future__ import annotations

import os
import shutil
from io import FileIO
from pathlib import Path

SERVER_SAYS = b"""/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
"""


def entry(number: int) -> bytes:
    return (
        f"# User@Host: shop[shop] @  [127.0.0.1]\n# Thread_id: {number}  Schema: shop  QC_hit: No\n"
        "# Query_time: 0.000100  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n"
        f"SET timestamp=1795253969;\nselect {number};\n"
    ).encode()


class Log:
    """A log of numbered entries, written as servers write: to the file that was opened, whatever its name is by now."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        self.file = self._open()

    def _open(self) -> FileIO:
        file = self.path.open("ab", buffering=0)
        file.write(SERVER_SAYS)
        return file

    def reopen(self) -> None:
        self.file.close()
        self.file = self._open()

    def write(self, count: int = 1) -> None:
        for _ in range(count):
            self.file.write(entry(self.number))
            self.number += 1

    def rename(self, to: str) -> None:
        self.path.rename(self.path.with_name(to))

    def copy_and_truncate(self, to: str) -> None:
        shutil.copy(self.path, self.path.with_name(to))
        os.truncate(self.path, 0)
