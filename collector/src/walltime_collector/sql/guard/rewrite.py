"""Rewrites a statement's tree: values for parameters, our views of system tables, no FORMAT and SETTINGS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...errors import StatementRefused
from .check import Node

_MAX_CHARS = 1024 * 1024


class Ending(NamedTuple):
    """The clauses at the end of a statement: FORMAT and SETTINGS."""

    format_name: str
    settings: dict[str, Any]


def take_ending(tree: Node) -> Ending:
    """
    Take FORMAT and SETTINGS off the statement; those of a subquery stay, and are refused later.

    Raises:
        StatementRefused: SETTINGS … = DEFAULT.
    """
    ending = Ending(tree.pop("format_ast", {}).get("name", ""), {})
    statement = tree.get("query", tree) if tree.get("type") == "ExplainQuery" else tree
    selects = statement.get("list_of_selects", {}).get("children", [])
    for owner, part in [(tree, "settings_ast"), (statement, "settings_ast"), *((each, "settings") for each in selects)]:
        clause = owner.pop(part, {})
        if clause.get("default_settings"):
            raise StatementRefused("a setting to DEFAULT is not allowed", "leave it out")
        if clause.get("query_parameters"):
            raise StatementRefused("a parameter in SETTINGS is not allowed", "send it as param_… in the URL")
        ending.settings.update({change["name"]: change["value"] for change in clause.get("changes", [])})
    return ending


def put_parameters(tree: Node, parameters: Mapping[str, str]) -> None:
    """
    Put values where `{name:Type}` stands, as ClickHouse itself does: a value of that type, never text.

    Raises:
        StatementRefused: A parameter has no value, or all values together are too long.
    """
    chars = 0
    for node in nodes(tree):
        if node.get("type") != "QueryParameter":
            continue
        name, type_name = node["name"], node["param_type"]
        if type_name == "Identifier":
            raise StatementRefused(f"the parameter {name} is a name, and only values are allowed", "write the name")
        if name not in parameters:
            raise StatementRefused(f"the parameter {name} has no value", f"send param_{name}")
        chars += len(parameters[name])
        if chars > _MAX_CHARS:
            what = f"the values of its parameters, each as often as it is used, have more than {_MAX_CHARS} characters"
            raise StatementRefused(what, "use a long value once, in WITH")
        alias = {"alias": node["alias"]} if "alias" in node else {}
        node.clear()
        node.update(_value(parameters[name], type_name) | alias)


# Where the OpenTelemetry Collector's ClickHouse exporter keeps its tables, and where queries for them look.
EXPORTER_DATABASES = ("default", "otel")
EXPORTER_TABLES = ("otel_traces", "otel_traces_trace_id_ts")


def put_exporter_names(tree: Node, database: str) -> None:
    """Replace `default.otel_traces` and `otel.otel_traces`, as tables and before columns, by our views."""
    for node in nodes(tree):
        parts = node.get("name_parts", ())
        if len(parts) > 1 and parts[0] in EXPORTER_DATABASES and parts[1] in EXPORTER_TABLES:
            node["name_parts"] = [database, *parts[1:]]
            node["name"] = ".".join(node["name_parts"])


def put_views(tree: Node, views: Mapping[str, Any]) -> None:
    """
    Put a subquery of ours in the place of `system.<name>`: its harmless columns, the rows about our own tables.

    Its columns may have the full name (`system.tables.name`), also when the table has an alias: JDBC drivers do both.
    """
    todo: list[tuple[Any, Mapping[str, str]]] = [(tree, {})]
    while todo:
        node, aliases = todo.pop()
        if isinstance(node, list):
            todo += [(each, aliases) for each in node]
        if not isinstance(node, dict):
            continue
        if node.get("type") == "SelectQuery":
            aliases = {**aliases, **_aliases(node, views)}
        elif node.get("type") == "Identifier" and len(node.get("name_parts", ())) > 2:
            _shorten(node, aliases)
        elif "qualifier" in node:
            _shorten(node["qualifier"], aliases)
        name = _system_table(node, views)
        if name:
            table = node.pop("database_and_table_name")
            # its own system table is not replaced
            node["subquery"] = {"type": "Subquery", "alias": table.get("alias", name), "children": views[name]}
        else:
            todo += [(each, aliases) for each in node.values()]


def _aliases(select: Node, views: Mapping[str, Any]) -> dict[str, str]:
    """The alias of each view that this SELECT reads, by its name; without those that it reads twice."""
    read: dict[str, list[str]] = {}
    for element in select.get("tables", {}).get("children", []):
        expression = element.get("table_expression", {})
        if name := _system_table(expression, views):
            read.setdefault(name, []).append(expression["database_and_table_name"].get("alias", name))
    return {name: called[0] for name, called in read.items() if len(called) == 1}


def _system_table(node: Node, views: Mapping[str, Any]) -> str:
    """The name of the view that replaces this table expression; empty when none does."""
    table = node.get("database_and_table_name")
    if node.get("type") != "TableExpression" or not isinstance(table, dict):
        return ""
    parts = table.get("name_parts", [])
    return parts[1] if len(parts) == 2 and parts[0] == "system" and parts[1] in views else ""


def _shorten(identifier: Node, aliases: Mapping[str, str]) -> None:
    parts = identifier.get("name_parts", [])
    if len(parts) > 1 and parts[0] == "system" and parts[1] in aliases:
        identifier["name_parts"] = [aliases[parts[1]], *parts[2:]]
        identifier["name"] = ".".join(identifier["name_parts"])


def nodes(tree: Any) -> Iterator[Node]:
    """Every object in the tree, each before what is in it."""
    todo = [tree]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            yield each
            todo += each.values()
        elif isinstance(each, list):
            todo += each


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "0": "\0", "b": "\b", "f": "\f"}
_NULLABLE = re.compile(r"(LowCardinality\()?Nullable\(")
_MAP = re.compile(r"\s*Map\s*\(")
_COMPOSITE = re.compile(r"\s*(Array|Map|Tuple|Nested|JSON|Variant|Dynamic)\b")


def _value(text: str, type_name: str) -> Node:
    """A parameter's text is escaped like a field of TSV; that of an array, map or tuple is a literal."""
    if _NULLABLE.match(type_name) and text == r"\N":
        value: Node = {"type": "Literal", "value": {"field_type": "Null", "value": None}}
    else:
        is_escaped = not _COMPOSITE.match(type_name)
        plain = _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text) if is_escaped else text
        value = {"type": "Literal", "value": {"field_type": "String", "value": plain}}
    if type_name == "String":
        return value
    if _MAP.match(type_name):  # ClickHouse cannot cast a text to a map, but to a tuple with a map
        value["value"]["value"] = f"({value['value']['value']})"
        first = {"type": "Literal", "value": {"field_type": "UInt64", "value": 1}}
        return _call("tupleElement", _cast(value, f"Tuple({type_name})"), first)
    return _cast(value, type_name)


def _cast(value: Node, type_name: str) -> Node:
    return _call("_CAST", value, {"type": "Literal", "value": {"field_type": "String", "value": type_name}})


def _call(name: str, *arguments: Node) -> Node:
    return {"type": "Function", "name": name, "arguments": {"type": "ExpressionList", "children": [*arguments]}}
