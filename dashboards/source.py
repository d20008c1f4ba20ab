"""What a panel asks: a file of queries/, through version 3.3 or 4.x of Grafana's ClickHouse plugin alike."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path
from typing import Any

from walltime_collector.query.queries import query_text

QUERIES = Path(__file__).with_name("queries")
PLUGIN = "grafana-clickhouse-datasource"
SOURCE = {"type": PLUGIN, "uid": "${datasource}"}
_INCLUDE = re.compile(r"^ *-- include (\S+)((?: \w+=\S+)*)$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<!\$)\{(\w+)(?::[^{}]+)?\}")
_HEAD = re.compile(r"\A-- (?P<title>.+)\n(?P<about>(?:--(?! columns: ).*\n)*)(?:-- columns: (?P<columns>.+)\n)?")
_COLUMN = re.compile(r'\bAS "([^"]+)"')
STEP_S = 15
"""The time shown begins and ends with whole steps: who looks at a board within one asks the same as the others."""
_FROM = f"(intDiv(toUnixTimestamp(($__fromTime)), {STEP_S}) * {STEP_S})"
_ROUNDED = {
    "($__fromTime)": _FROM,
    "($__toTime)": f"greatest(intDiv(toUnixTimestamp(($__toTime)), {STEP_S}) * {STEP_S}, {_FROM} + {STEP_S})",
}


class Format(IntEnum):
    """
    What the plugin makes of the rows.

    TIME_SERIES wants a time and numbers, and makes one series per value of the text columns; rows must be ordered by
    time. The series are in the order of the text columns, the first one first.
    """

    TIME_SERIES = 0
    TABLE = 1
    TRACE = 3


def target(name: str, form: Format, ref_id: str = "A") -> dict[str, Any]:
    """
    queries/<name>.sql as a panel's target.

    Both plugins' servers read rawSql and format alone. Plugin 3's editor wants queryType and selectedFormat, plugin 4's
    wants editorType, and takes a query whose queryType is "sql" for an old one and renews it from the format.
    """
    return {
        "datasource": SOURCE,
        "editorType": "sql",
        "format": int(form),
        "meta": {},
        "pluginVersion": "4.0.0",
        "queryType": "sql",
        "rawSql": sql(name),
        "refId": ref_id,
        "selectedFormat": int(form),
    }


def sql(name: str) -> str:
    """
    The text of queries/<name>.sql, with the plugin's macros and the dashboard's variables still in it.

    A line `-- include kinds` stands for queries/_kinds.sql, or _kinds.sql in the folder of the query; with
    `-- include kinds this=that` each `{this}` in it becomes `that`. A name with `.sql` is a query of
    Walltime's own pages, where `{this:Type}` becomes `that`. The comment at the top, which panels show, is left out.

    Two traps of the plugin's macros. `$__timeFilter_ms` of plugin 3 compares with a quoted number of milliseconds,
    which ClickHouse takes for nanoseconds where the column has those, and nothing is found: use `$__timeFilter`. And a
    macro without arguments may swallow all up to the next closing bracket: write `($__interval_s)`.

    The collector gives the answer to a statement that rounds its time like this again, to all who ask within the step.
    """
    return rounded(_HEAD.sub("", _text(name)).strip())


def rounded(text: str) -> str:
    """The text with the time shown in whole steps, one at least."""
    named = {macro: f"\0{at}" for at, macro in enumerate(_ROUNDED)}
    for macro, name in named.items():
        text = text.replace(f"toUnixTimestamp({macro})", name).replace(macro, f"toDateTime({name})")
    for macro, name in named.items():
        text = text.replace(name, _ROUNDED[macro])
    return text


def words(name: str) -> tuple[str, str]:
    """Title and description of the panel: the first line of queries/<name>.sql, and the comment below it."""
    head = _HEAD.match(_text(name))
    if head is None:
        raise ValueError(f"queries/{name}.sql: the first line is no title; begin with `-- TITLE`")
    return head["title"], " ".join(line.removeprefix("--").strip() for line in head["about"].splitlines())


def columns(name: str) -> list[str]:
    """The columns of a table: what queries/<name>.sql calls `AS "…"`, in double quotes."""
    return list(dict.fromkeys(_COLUMN.findall(sql(name))))


def chosen(name: str) -> list[str]:
    """The columns that the panel draws of a query with others in it: a line `-- columns: p99, p95` below the words."""
    head = _HEAD.match(_text(name))
    return head["columns"].split(", ") if head and head["columns"] else []


def included(text: str, folder: str = "") -> str:
    """The text with the parts that its `-- include` lines stand for; one in this folder of queries/ comes first."""

    def part(line: re.Match[str]) -> str:
        own, of_pages = QUERIES / folder / f"_{line[1]}.sql", line[1].removesuffix(".sql")
        path = own if own.exists() else QUERIES / f"_{line[1]}.sql"
        inside = query_text(of_pages) if of_pages != line[1] else path.read_text("utf-8")
        given = dict(each.partition("=")[::2] for each in line[2].split())
        inside = _PARAMETER.sub(lambda parameter: given.get(parameter[1], parameter[0]), inside)
        return included(inside, folder).rstrip()

    return _INCLUDE.sub(part, text)


def _text(name: str) -> str:
    return included((QUERIES / f"{name}.sql").read_text("utf-8"), name.rpartition("/")[0])
