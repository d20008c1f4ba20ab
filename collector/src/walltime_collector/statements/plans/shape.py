"""
The shape of a plan: which tables are read in which way, of EXPLAIN FORMAT=JSON without its values.

Only names of tables and indexes, words of ours and rounded numbers of rows are taken out of the document; its texts
(conditions, ranges, operations, the rewritten statement) have values in them, and are left there.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

Document: TypeAlias = Mapping[str, Any]
MAX_STEPS: Final = 100
_MAX_NAME_CHARS: Final = 64
LOOKUP, RANGE, INDEX_SCAN, SCAN, FULLTEXT = "lookup", "range", "index scan", "full scan", "full text"
_ACCESS: Final = {
    **dict.fromkeys(("system", "const", "eq_ref", "ref", "ref_or_null", "unique_subquery", "index_subquery"), LOOKUP),
    **dict.fromkeys(("range", "index_merge"), RANGE),
    **{"index": INDEX_SCAN, "ALL": SCAN, "fulltext": FULLTEXT},
}
"""Of MariaDB, and of MySQL with explain_json_format_version = 1."""
_INDEX_ACCESS: Final = {"index_lookup": LOOKUP, "index_scan": INDEX_SCAN, "full_text_search": FULLTEXT}
"""Of version 2; the others read ranges."""
_OPERATIONS: Final = {
    **dict.fromkeys(("filesort", "using_filesort", "sort"), "sort"),
    **dict.fromkeys(("temporary_table", "using_temporary_table", "temp_table_aggregate"), "temporary table"),
    **dict.fromkeys(("materialize", "materialized", "materialized_from_subquery"), "materialize"),
    **{"union_result": "union", "block-nl-join": "join with a buffer", "hash_join": "hash join"},
}
_TEXTS: Final = ("cost_info", "used_columns", "possible_keys", "used_key_parts", "ref", "index_merge")
_GENERATED: Final = re.compile(r"<.*")  # <derived2>, <temporary>, <auto_key0>: the numbers change


@dataclass(frozen=True)
class Step:
    """A table that is read, or an operation on what its steps yield."""

    does: str
    """How the table is read, or the operation."""
    table: str = ""
    key: str = ""
    parts: int = 0
    """Columns of the index that are used."""
    rows: float = 0
    """The server's estimate, one digit of it; no part of the plan's identity."""
    steps: tuple[Step, ...] = ()

    def tables(self) -> Iterator[Step]:
        """The tables in the order in which they are read."""
        for step in self.steps:
            yield from step.tables()
        if self.table:
            yield self


def shape(document: Document) -> Step | None:
    """
    The shape of a plan; None when it reads no table, which the values of a statement decide: `WHERE id = -1`.

    Understands MySQL's versions 1 and 2 of the format, and MariaDB's.
    """
    steps = _version_2(document["query_plan"]) if "query_plan" in document else _version_1(document)
    plan = Step("plan", steps=tuple(steps))
    many = sum(1 for _ in plan.tables())
    return plan if 0 < many <= MAX_STEPS else None


def plan_id(plan: Step) -> int:
    """Of the tables, in their order, and how each is read: the same in each format where they say the same."""
    read = [(each.table, each.does, each.key, each.parts) for each in plan.tables()]
    return int.from_bytes(hashlib.blake2b(json.dumps(read).encode(), digest_size=8).digest(), "big")


def to_json(plan: Step) -> str:
    """What is stored."""
    return json.dumps(asdict(plan), ensure_ascii=False, separators=(",", ":"))


def from_json(stored: str) -> Step:
    """The inverse of `to_json`."""
    return _step(json.loads(stored))


def _step(stored: Mapping[str, Any]) -> Step:
    return Step(**{**stored, "steps": tuple(map(_step, stored["steps"]))})


def _version_2(node: Document) -> list[Step]:
    steps = [step for each in node.get("inputs", ()) for step in _version_2(each)]
    access, name = str(node.get("access_type", "")), str(node.get("table_name", ""))
    if name and not name.startswith("<"):
        index = str(node.get("index_access_type", ""))
        does = _INDEX_ACCESS.get(index, RANGE) if access == "index" else SCAN if access == "table" else "other"
        return [_table(node, does, name, node.get("index_name"), node.get("key_columns"), "estimated_rows", steps)]
    operation = "hash join" if node.get("join_algorithm") == "hash" else _OPERATIONS.get(access)
    return [Step(operation, steps=tuple(steps))] if operation and steps else steps


def _version_1(value: Any) -> list[Step]:
    if isinstance(value, list):
        return [step for each in value for step in _version_1(each)]
    if not isinstance(value, dict):
        return []
    steps: list[Step] = []
    for name, each in value.items():
        if name in _TEXTS:
            continue
        inner = _table_1(each) if name == "table" and isinstance(each, dict) else _version_1(each)
        steps += [Step(_OPERATIONS[name], steps=tuple(inner))] if name in _OPERATIONS and inner else inner
    for flag in ("using_temporary_table", "using_filesort"):
        if value.get(flag) is True and steps:
            steps = [Step(_OPERATIONS[flag], steps=tuple(steps))]
    return steps


def _table_1(table: Document) -> list[Step]:
    steps = _version_1({name: each for name, each in table.items() if name not in _TEXTS})
    name, access = str(table.get("table_name", "")), str(table.get("access_type", ""))
    if not name or name.startswith("<"):
        return steps
    key = table.get("key") or "+".join(_merged(table.get("index_merge")))
    rows = "rows" if "rows" in table else "rows_examined_per_scan"
    return [_table(table, _ACCESS.get(access, "other"), name, key, table.get("used_key_parts"), rows, steps)]


def _table(node: Document, does: str, table: str, key: Any, columns: Any, rows: str, steps: Sequence[Step]) -> Step:
    used = 0 if does in (SCAN, INDEX_SCAN) else len(columns or ())
    return Step(does, _name(table), _name(key or ""), used, _rounded(node.get(rows)), tuple(steps))


def _merged(value: Any) -> Iterator[str]:
    """The indexes that MariaDB merges."""
    for name, each in value.items() if isinstance(value, dict) else ():
        if name == "key":
            yield str(each)
        for part in each if isinstance(each, list) else [each]:
            yield from _merged(part)


def _name(written: Any) -> str:
    return _GENERATED.sub("(generated)", str(written))[:_MAX_NAME_CHARS]


def _rounded(rows: Any) -> float:
    """One digit: the number of a small table could be a secret."""
    if not isinstance(rows, int | float) or rows < 1:
        return 0
    unit = 10 ** math.floor(math.log10(rows))
    return float(round(rows / unit) * unit)
