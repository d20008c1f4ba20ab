"""The schema: numbered files of SQL, applied in their order."""

from __future__ import annotations

import re
from importlib.resources import files


def schema_files() -> list[tuple[str, list[str]]]:
    """Name and statements of each schema file, in the order to apply them."""
    directory = files(__package__) / "schema"
    found = sorted(entry.name for entry in directory.iterdir() if re.fullmatch(r"\d{3}_\w+\.sql", entry.name))
    return [(name, _statements((directory / name).read_text("utf-8"))) for name in found]


def _statements(sql: str) -> list[str]:
    return [statement for statement in re.split(r";[ \t]*(?:\n|$)", sql) if statement.strip()]
