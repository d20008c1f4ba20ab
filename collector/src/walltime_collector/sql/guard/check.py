"""Refuses a syntax tree (JSON from ClickHouse) if it contains anything that is not allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from ...errors import StatementRefused
from ...format import printable
from .allowed import (
    AGGREGATE_IN_TEXT,
    EXPLAIN_SETTINGS,
    EXPLAINS,
    FORMATS_NUMBERS,
    IN_FUNCTIONS,
    LAMBDA_FUNCTIONS,
    NODES,
    SHORT_ARGUMENT,
    SHORT_BYTES,
    SHORT_ELEMENTS,
    SHORTENING,
    SHORTENING_AGGREGATES,
    TABLE_FUNCTIONS,
    TYPE_IN_TEXT,
    is_function,
)

Node = dict[str, Any]

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_MAX_ESCAPES = 8
_WIDE = re.compile(r"%[^A-Za-z%]*(\d{4}|\*)")

_IN_WORDS = {
    "out_file": "INTO OUTFILE",
    "SetQuery": "SETTINGS inside of a statement",
    "settings": "SETTINGS inside of a statement",
    "QueryParameter": "a parameter where no value can stand",
    "StreamSettings": "STREAM",
}


def check(tree: Any, *, database: str, views: Collection[Any]) -> None:
    """
    Return if everything in the tree is allowed.

    Args:
        tree: The result of parseQueryToJSON for exactly the text that will be run.
        database: Its tables may be read; a name without a database is one of them, or of WITH.
        views: Subqueries of our own, as trees, that need no check.

    Raises:
        StatementRefused: Something is not allowed; the message names it.
    """
    root = _object(tree)
    if root.get("type") == "ExplainQuery":
        _check_explain(root)
        root = root["query"]
    if root.get("type") != "SelectWithUnionQuery":
        raise _refused(_IN_WORDS.get(str(root.get("type")), str(root.get("type"))))
    todo = [root]
    while todo:
        node = todo.pop()
        node_type = str(node.get("type"))
        if node_type == "Subquery" and node.get("children") in views:
            continue
        _check_parts(node_type, node)
        if node_type == "Function":
            _check_function(node, database)
        elif node_type == "Identifier":  # `a.AggregateFunction(sum, UInt64)` is that part of a value of any type
            _check_type(".".join(map(str, node.get("name_parts", [node.get("name")]))))
        elif node_type == "TableIdentifier":
            _check_table(node, database)
        elif node_type == "ColumnsApplyTransformer" and "func_name" in node and not _is_value(node["func_name"]):
            raise _refused_function(node["func_name"])
        todo += _children(node_type, node)


def _check_parts(node_type: str, node: Node) -> None:
    if node_type not in NODES or node_type in ("ExplainQuery", "SetQuery"):
        raise _refused(_IN_WORDS.get(node_type, node_type))
    for part, value in node.items():
        if part not in NODES[node_type] and part != "type" and value is not False:
            raise _refused(_IN_WORDS.get(part, f"{part} in {node_type}"))


def _children(node_type: str, node: Node) -> list[Node]:
    """The nodes below; of a table function its arguments only, because its name is not that of a function."""
    children: list[Node] = []
    for part, value in node.items():
        if node_type == "Literal" and part == "value":
            continue  # a value, however it is nested
        if node_type == "TableExpression" and part == "table_function":
            _check_table_function(_object(value))
            children += [_object(below) for name, below in value.items() if name == "arguments"]
        elif isinstance(value, dict):
            children.append(value)
        elif isinstance(value, list) and part not in ("name_parts", "list_of_modes"):
            children += [_object(each) for each in value]
    return children


def _check_function(node: Node, database: str) -> None:
    name = node["name"]
    if not is_function(name):
        raise _refused_function(name)
    arguments = node.get("arguments", {}).get("children", [])
    _check_names_in_text(name, arguments)
    if name in SHORT_ARGUMENT and not any(_is_short(each) for each in _at(arguments, SHORT_ARGUMENT[name])):
        raise StatementRefused(
            f"{name} of two values of any length is not allowed, because no time limit could end it",
            f"write one of them out, in at most {SHORT_BYTES} bytes and {SHORT_ELEMENTS} elements, or cut it:"
            f" left(x, {SHORT_BYTES}), arraySlice(x, 1, {SHORT_ELEMENTS}), groupUniqArray({SHORT_ELEMENTS})(x)",
        )
    if name in IN_FUNCTIONS and len(arguments) > 1 and arguments[1].get("type") == "Identifier":
        _check_table(arguments[1], database)
    if LAMBDA_FUNCTIONS.fullmatch(name) and len(arguments) > 1 and arguments[0].get("type") == "Identifier":
        function = arguments[0]["name"]
        if not _is_value(function):
            raise StatementRefused(
                f"{_quoted(function)} as the function of {name} is not allowed", "write it as a lambda: x -> …"
            )


def _check_names_in_text(name: str, arguments: list[Node]) -> None:
    """Names of functions and types in texts: they must be literals, and allowed."""
    if name in AGGREGATE_IN_TEXT:
        called = _text(name, arguments, 0).partition("(")[0].strip()
        if not is_function(called):
            raise _refused_function(called)
    elif name.lower() in TYPE_IN_TEXT and (len(arguments) > 1 or TYPE_IN_TEXT[name.lower()] == 0):
        _check_type(_text(name, arguments, TYPE_IN_TEXT[name.lower()]))
    elif name == FORMATS_NUMBERS and _WIDE.search(_text(name, arguments, 0)):
        raise StatementRefused(f"a width in {name} of more than three digits is not allowed", "write a smaller one")


def _check_type(type_name: str) -> None:
    """Refuse the name of a type of states, in whatever quotes and escapes it is: the quotes of a name may be nested."""
    for _ in range(_MAX_ESCAPES):
        type_name = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else escape[2], type_name)
    if "aggregatefunction" in type_name.lower():
        raise StatementRefused("a type that names a function is not allowed", "read states from the tables")


def _text(name: str, arguments: list[Node], at: int) -> str:
    try:
        value = arguments[at].get("value", {}).get("value")
    except IndexError:
        value = None
    if not isinstance(value, str):
        raise StatementRefused(f"an argument of {name} must be a text that is written out", "write it between quotes")
    return value


def _at(arguments: list[Node], places: tuple[int, ...]) -> list[Node]:
    return [arguments[place] for place in places if place < len(arguments)]


def _is_short(node: Node) -> bool:
    """Whether a value is a literal and short, or is cut to a short length."""
    if node.get("type") == "Literal":
        elements = node["value"].get("value")
        is_few = not isinstance(elements, list) or len(elements) <= SHORT_ELEMENTS
        return is_few and len(json.dumps(elements)) <= SHORT_BYTES
    if node.get("type") != "Function":
        return False
    children = node.get("arguments", {}).get("children", [])
    if node["name"] in SHORTENING:
        place, most = SHORTENING[node["name"]]
        return any(_is_number(each, most) for each in _at(children, (place,)))
    if node["name"] in SHORTENING_AGGREGATES:
        return any(_is_number(each, SHORT_ELEMENTS) for each in node.get("parameters", {}).get("children", [])[:1])
    if node["name"] not in ("array", "_CAST", "CAST"):
        return False
    return len(children) <= SHORT_ELEMENTS and all(_is_short(each) for each in children)


def _is_number(node: Node, most: int) -> bool:
    value = node.get("value", {}).get("value") if node.get("type") == "Literal" else None
    return isinstance(value, int) and 0 <= value <= most


def _is_value(function: str) -> bool:
    """Whether a function may be named without its arguments."""
    looked_at = {*AGGREGATE_IN_TEXT, *SHORT_ARGUMENT, FORMATS_NUMBERS}
    return is_function(function) and function not in looked_at and function.lower() not in TYPE_IN_TEXT


def _check_table_function(node: Node) -> None:
    _check_parts("Function", node)
    if node.get("type") != "Function" or node["name"] not in TABLE_FUNCTIONS or "parameters" in node:
        raise StatementRefused(
            f"the table function {_quoted(str(node.get('name')))} is not allowed",
            "read Walltime's own tables; SHOW TABLES lists them",
        )
    structure = node.get("arguments", {}).get("children", [{}])[:1]
    if node["name"].lower() == "values" and structure:
        _check_type(str(structure[0].get("value")))


def _check_table(node: Node, database: str) -> None:
    parts = node.get("name_parts", [node["name"]])
    if len(parts) > 1 and (len(parts) > 2 or parts[0] != database):
        raise StatementRefused(
            f"the table {_quoted('.'.join(map(str, parts)))} is not one of Walltime's",
            f"read those of {database}; SHOW TABLES lists them",
        )


def _check_explain(node: Node) -> None:
    parts = {part for part, value in node.items() if value is not False}
    if parts - NODES["ExplainQuery"] - {"type"} or node.get("kind") not in EXPLAINS or "query" not in parts:
        raise _refused(str(node.get("kind")))
    settings = node.get("settings", {"type": "SetQuery", "changes": []})
    changes = settings.get("changes", [])
    allowed = EXPLAIN_SETTINGS - ({"graph"} if node["kind"] == "EXPLAIN AST" else set())  # it shows addresses in memory
    is_known = all(isinstance(each.get("value", {}).get("value"), int) and each["name"] in allowed for each in changes)
    if set(settings) != {"type", "changes"} or not is_known:
        raise _refused("such a setting of EXPLAIN")


def _object(value: Any) -> Node:
    if not isinstance(value, dict):
        raise _refused("something of ClickHouse's that Walltime does not know")
    return value


def _refused(what: str) -> StatementRefused:
    return StatementRefused(
        f"{_quoted(what, '')} is not allowed",
        "what can be asked is SELECT over Walltime's own tables, EXPLAIN of one, SHOW TABLES, SHOW DATABASES, DESCRIBE",
    )


def _refused_function(name: str) -> StatementRefused:
    return StatementRefused(
        f"the function {_quoted(name)} is not allowed", "use one that only computes on what the tables hold"
    )


def _quoted(text: str, quote: str = "`") -> str:
    return f"{quote}{printable(text)[:80]}{quote}"
