"""What a panel asks: a file of queries/, through version 3.3 or 4.x of Grafana's ClickHouse plugin alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.dashboard import DataSourceRef

QUERIES = Path(__file__).with_name("queries")
_INCLUDE = re.compile(r"^ *-- include (\w+)((?: \w+=\S+)*)$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<!\$)\{([a-z]\w*)\}")
SOURCE = DataSourceRef(type_val="grafana-clickhouse-datasource", uid="walltime")
"""The uid is fixed in provisioning/datasources/walltime.yaml."""


class Format(IntEnum):
    """
    What the plugin makes of the rows.

    TIME_SERIES wants a time and numbers, and makes one series per value of a text column; rows must be ordered by time.
    """

    TIME_SERIES = 0
    TABLE = 1
    TRACE = 3


@dataclass
class Query(Builder[Dataquery], Dataquery):
    """queries/<name>.sql as a panel's target."""

    name: str
    format: Format
    ref_id: str = "A"

    def build(self) -> Query:
        """Itself: there is nothing to set."""
        return self

    def to_json(self) -> dict[str, object]:
        """
        The target.

        Both plugins' servers read rawSql and format alone. Plugin 3's editor wants queryType and selectedFormat, plugin
        4's wants editorType, and takes a query whose queryType is "sql" for an old one and renews it from the format.
        """
        return {
            "datasource": SOURCE,
            "editorType": "sql",
            "format": int(self.format),
            "meta": {},
            "pluginVersion": "4.0.0",
            "queryType": "sql",
            "rawSql": sql(self.name),
            "refId": self.ref_id,
            "selectedFormat": int(self.format),
        }


def sql(name: str) -> str:
    """
    The text of queries/<name>.sql, with the plugin's macros and the dashboard's variables still in it.

    A line `-- include NAME` is replaced by queries/_NAME.sql, and with `-- include NAME this=that` each `{this}` in it
    by `that`.

    Two traps of the plugin's macros. `$__timeFilter_ms` of plugin 3 compares with a quoted number of milliseconds,
    which ClickHouse takes for nanoseconds where the column has those, and nothing is found: use `$__timeFilter`. And a
    macro without arguments may swallow all up to the next closing bracket: write `($__interval_s)`.
    """
    return _INCLUDE.sub(_included, (QUERIES / f"{name}.sql").read_text("utf-8").strip())


def _included(line: re.Match[str]) -> str:
    given = dict(each.split("=", 1) for each in line[2].split())
    return _PARAMETER.sub(lambda found: given[found[1]], sql(f"_{line[1]}"))
