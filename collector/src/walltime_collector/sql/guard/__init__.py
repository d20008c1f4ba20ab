"""
The guard: allows or refuses the SQL of users by allow-lists, on the engine's own parse of the statement.

    text ─parseQueryToJSON─► tree ─rewrite─► tree ─formatQueryFromJSON─► text ─parseQueryToJSON─► tree ─check
                                                                          └────────── what is run ──────────┘

So the received text is never run, only a text that ClickHouse printed; and what is checked is how ClickHouse parses
exactly that text. A second statement after a semicolon, comments and quotes do not pass the first arrow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from ...clickhouse.dialect import error_code
from ...clickhouse.engine import Engine
from ...errors import QueryFailed, StatementRefused
from ...format import printable
from . import settings
from .allowed import FORMATS
from .check import Node, check
from .rewrite import EXPORTER_DATABASES, EXPORTER_TABLES, put_exporter_names, put_parameters, put_views, take_ending
from .verdicts import Admitted, Question, Verdicts, question

MAX_STATEMENT_BYTES = 256 * 1024

_PARSE = "SELECT parseQueryToJSON({sql:String}) AS answer"
_PRINT = "SELECT formatQueryFromJSON({tree:String}) AS answer"
_NORMALISE = "SELECT formatQuerySingleLine({sql:String}) AS answer"
_TABLES = "SELECT name FROM system.tables WHERE database = {database:String}"
_DESCRIBE = re.compile(
    r"(?P<verb>DESCRIBE TABLE|SHOW CREATE (?:TABLE|VIEW)) (?:(?P<database>\w+)\.)?(?P<table>\w+)"
    r"(?: FORMAT (?P<format>\w+))?"
)
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
# read once: while other people's statements run, no file is opened
_OWN_SQL = {
    each.name.removesuffix(".sql"): each.read_text("utf-8")
    for each in (files(__package__) / "visible").iterdir()
    if each.name.endswith(".sql")
}
_SHOWS = {"show_create", "show_databases", "show_full_tables", "show_tables"}
"""The others in that folder stand for system tables of their names."""
_NO_TREE, _NO_SUCH_FUNCTION = 36, 46


class Guard:
    """Checks statements about the tables of one database; safe to use from several threads."""

    def __init__(self, engine: Engine, database: str) -> None:
        self._engine, self._database = engine, database
        self._views: dict[str, Any] = {}
        self._verdicts = Verdicts()

    def admit(self, sql: str, parameters: Mapping[str, str], url: Mapping[str, str] | None = None) -> Admitted:
        """
        Check one statement and make it ready to run.

        Args:
            parameters: Values of `{name:Type}`, as texts that are escaped like a field of TSV.
            url: Settings from the URL; those that clients always send are ignored.

        Raises:
            StatementRefused: Something in it is not allowed; the message names it.
            QueryFailed: ClickHouse does not understand it.
            EngineUnavailable: The engine does not answer now.
        """
        url = url or {}
        for text in (sql, *parameters.values(), *url.values()):
            if _NOT_TEXT.search(text):
                raise StatementRefused("a zero byte or half a character is not allowed", "leave it out")
            if len(text.encode()) > MAX_STATEMENT_BYTES:
                raise StatementRefused(f"it is longer than {MAX_STATEMENT_BYTES} bytes", "ask with a shorter statement")
        try:
            asked = question(sql, parameters, url)
            return self._verdicts.find(asked) or self._admit(sql, parameters, url, asked)
        except RecursionError as error:
            raise StatementRefused("the statement is nested too deeply", "make it flatter") from error

    def calls(self, sql: str) -> list[str]:
        """The functions of a SELECT that only calls functions without arguments; for any other statement, none."""
        try:
            tree = self._parse(sql)
        except (QueryFailed, StatementRefused):
            return []
        take_ending(tree)
        selects = tree.get("list_of_selects", {}).get("children", [])
        if len(selects) != 1 or set(selects[0]) != {"type", "select"}:
            return []
        selected = selects[0]["select"]["children"]
        is_bare = all(each["type"] == "Function" and not each["arguments"].get("children") for each in selected)
        return [each["name"] for each in selected] if is_bare else []

    def _admit(self, sql: str, parameters: Mapping[str, str], url: Mapping[str, str], asked: Question) -> Admitted:
        try:
            tree = self._parse(sql)
        except QueryFailed as error:
            if error_code(error) != _NO_TREE:
                raise
            return self._describe(sql)
        if tree.get("type") == "ShowTablesQuery":
            tree, parameters = self._show(tree)
        ending = take_ending(tree)
        put_parameters(tree, parameters)
        put_exporter_names(tree, self._database)
        views = self._our_views()
        put_views(tree, views)
        run = self._print(tree)
        check(self._parse(run), database=self._database, views=views.values())
        if ending.format_name not in {"", *FORMATS}:
            raise StatementRefused(f"the format {ending.format_name[:40]} is not allowed", "use JSON, CSV or TSV")
        chosen = settings.within(settings.from_url(url), settings.from_statement(ending.settings))
        filters = settings.filters(ending.settings) or self._filters_in_url(url.get(settings.FILTERS, ""))
        admitted = Admitted(run, ending.format_name, chosen | self._filters(filters))
        if not filters:  # their conditions have moments too, and depend on the tables there are
            self._verdicts.keep(asked, admitted)
        return admitted

    def _describe(self, sql: str) -> Admitted:
        """DESCRIBE and SHOW CREATE of one of our tables: the only allowed statements without a tree as JSON."""
        match = _DESCRIBE.fullmatch(self._ask(_NORMALISE, sql=sql))
        is_ours = match is not None and (
            match["database"] in (None, self._database) or _is_exporters(match["database"], match["table"])
        )
        if match is None or not is_ours or match["format"] not in {None, *FORMATS}:
            raise StatementRefused(
                "this statement is not allowed",
                "what can be asked is SELECT, EXPLAIN of one, SHOW TABLES, SHOW DATABASES, DESCRIBE or SHOW CREATE of"
                " a table",
            )
        table, format_name = match["table"], match["format"] or ""
        if match["verb"] == "DESCRIBE TABLE":
            return Admitted(f"DESCRIBE TABLE {self._database}.{table}", format_name, {})
        if {"name": table} not in self._engine.query(_TABLES, {"database": self._database}):
            what = f"Table {self._database}.{table} does not exist"
            raise QueryFailed(f"Code: 60. DB::Exception: {what}. (UNKNOWN_TABLE)")
        tree = self._parse(_OWN_SQL["show_create"])
        put_parameters(tree, {"database": self._database, "name": table})
        return Admitted(self._print(tree), format_name, {})

    def _show(self, tree: Node) -> tuple[Node, dict[str, str]]:
        """SHOW TABLES and SHOW DATABASES as a SELECT of our own."""
        parts = {part: value for part, value in tree.items() if value is not False}
        known = "type databases full temporary from like not_like case_insensitive_like format_ast"
        database = parts.get("from", {"name": self._database}).get("name")
        if set(parts) - set(known.split()) or database != self._database:
            raise StatementRefused("this SHOW is not allowed", f"use SHOW TABLES FROM {self._database}")
        tables = "show_full_tables" if "full" in parts else "show_tables"
        select = self._parse(_OWN_SQL["show_databases" if "databases" in parts else tables])
        if "format_ast" in parts:
            select["format_ast"] = parts["format_ast"]
        return select, {
            "like": parts.get("like", "%").replace("\\", "\\\\"),
            "is_like": str("not_like" not in parts).lower(),
            "is_temporary": str("temporary" in parts).lower(),
        }

    def _filters(self, filters: Sequence[tuple[str, str]]) -> dict[str, str]:
        """The setting with conditions on our tables, each under its full name, which an alias cannot have."""
        if not filters:
            return {}
        known = {str(row["name"]) for row in self._engine.query(_TABLES, {"database": self._database})}
        if len(filters) > len(known):
            raise StatementRefused(f"{settings.FILTERS} has more than one condition of a table", "join them with AND")
        checked = []
        for table, condition in filters:
            prefix, _, name = table.rpartition(".")
            if name not in known or not (prefix in ("", self._database) or _is_exporters(prefix, name)):
                raise StatementRefused(
                    f"{printable(table)[:80]!r} in {settings.FILTERS} is not one of Walltime's tables",
                    f"filter those of {self._database}; SHOW TABLES lists them",
                )
            checked.append(f"{_literal(f'{self._database}.{name}')}: {_literal(self._condition(condition))}")
        return {settings.FILTERS: "{" + ", ".join(checked) + "}"}

    def _filters_in_url(self, value: str) -> list[tuple[str, str]]:
        if not value:
            return []
        ending = take_ending(self._parse(f"SELECT 1 SETTINGS {settings.FILTERS} = {value}"))
        if set(ending.settings) != {settings.FILTERS} or ending.format_name:
            raise StatementRefused(f"{settings.FILTERS} in the URL is not a map", "write {'table': 'condition'}")
        return settings.filters(ending.settings)

    def _condition(self, text: str) -> str:
        """A filter of additional_table_filters: one expression, checked like a statement."""
        tree = self._parse(f"SELECT {text}")
        selects = tree.get("list_of_selects", {}).get("children", [])
        is_expression = len(selects) == 1 and set(selects[0]) == {"type", "select"}
        if not is_expression or len(selects[0]["select"]["children"]) != 1:
            raise StatementRefused("a filter of additional_table_filters must be one condition", "as in a WHERE")
        run = self._print(tree)
        check(self._parse(run), database=self._database, views=())
        return run.removeprefix("SELECT ")

    def _our_views(self) -> dict[str, Any]:
        if not self._views:
            values = {"database": self._database, "settings": settings.names().replace("\\", "\\\\")}
            views = {}
            for name in _OWN_SQL.keys() - _SHOWS:
                tree = self._parse(_OWN_SQL[name])
                put_parameters(tree, values)
                views[name] = [self._parse(self._print(tree))]  # printed and parsed, as in the checked statement
            self._views = views
        return self._views

    def _parse(self, sql: str) -> Node:
        answer = self._ask(_PARSE, sql=sql)
        tree = json.loads(answer)
        if "\ufffd" in answer and "\ufffd" not in sql:
            raise StatementRefused("bytes that are not UTF-8 are not allowed", "write them with unhex('…')")
        if not isinstance(tree, dict):
            raise StatementRefused("this statement is not allowed", "ask with a SELECT")
        return tree

    def _print(self, tree: Node) -> str:
        return self._ask(_PRINT, tree=json.dumps(tree))

    def _ask(self, sql: str, /, **parameters: str) -> str:
        try:
            return str(self._engine.query(sql, parameters)[0]["answer"])
        except QueryFailed as error:
            if error_code(error) == _NO_SUCH_FUNCTION:
                what = "this ClickHouse cannot say how it reads a statement"
                raise StatementRefused(what, "it takes ClickHouse 26.8 or newer") from error
            raise QueryFailed(str(error).partition(": In scope SELECT ")[0]) from error


def _is_exporters(database: str, table: str) -> bool:
    """Whether the OpenTelemetry Collector's exporter would call one of our views like this."""
    return database in EXPORTER_DATABASES and table in EXPORTER_TABLES


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
