"""What the commands that read slow logs say of files that are none, and of what they leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ...errors import CommandFailed
from ...format import plural, printable, size

NO_LOG: Final = "not a slow log of MySQL, MariaDB or Percona Server: there is no entry in it"


def check_file(path: str) -> None:
    """
    Refuse what cannot be read as a file; `-` is stdin.

    Raises:
        CommandFailed: It is not there, or is a folder.
    """
    if path != "-" and not Path(path).exists():
        raise CommandFailed(f"{printable(path)}: there is no such file")
    if Path(path).is_dir():
        raise CommandFailed(f"{printable(path)}: is a folder; name the files in it")


def left_out(malformed: int, skipped_bytes: int) -> str:
    """What became no entry, see slowlog.parser.Losses; empty for nothing."""
    parts = [f"{plural(malformed, 'header')} without a readable statement or time"] if malformed else []
    parts += [f"{size(skipped_bytes)} that are no part of an entry"] if skipped_bytes else []
    return "left out: " + ", ".join(parts) if parts else ""
