"""
Turns our statements, which are written for one machine, into those of a cluster. Here alone, and for every schema file.

    on one machine            on a cluster
    a table                   NAME_local, replicated, on every node, and NAME, which is all shards' NAME_local as one
    the way in: a Null table  the same, on every node; whoever inserts into it inserts into that node's
    a view out of a way in    writes into NAME of a table with a trace id: there the rows go to their trace's shard;
                              into NAME_local of any other: what has no trace id stays where it arrived
    any other view            reads NAME_local and writes NAME_local: it runs on the shard that the rows have come to
    ALTER                     of NAME_local, and of NAME where it is about columns

So questions, and everything that reads, use the names they know. docs/cluster.md shows some, and
docs/decisions/022 says why no row is stored twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

# 7 days, as ClickHouse's own default was: an INSERT that is tried again after a long outage still meets its token.
_WINDOW_S = 604_800
_PATH = "/clickhouse/tables/{shard}/{database}/{table}"

_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+)\s*(\(.*\))\s*ENGINE = (\w+)(\([^)]*\))?(.*)", re.DOTALL)
_MATERIALIZED = re.compile(r"CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+) AS\b(.*)", re.DOTALL)
_VIEW = re.compile(r"CREATE (?:OR REPLACE )?VIEW (?:IF NOT EXISTS )?(\w+)(?= AS\b)")
_ALTER = re.compile(r"ALTER TABLE (\w+)(\s.*)", re.DOTALL)
_INSERT = re.compile(r"INSERT INTO\b")
_COMMENTS = re.compile(r"\A(?:\s|--[^\n]*(?:\n|\Z))*")
_FROM = re.compile(r"\b(FROM|JOIN)(\s+)(\w+)\b(?!\s*[.(])(\s+AS\s+\w+)?")


class Cluster:
    """
    The statements of a cluster of that name, for the tables that the given statements make.

    Args:
        name: As in the servers' `remote_servers`.
        database: Whose tables they are.
        schema: All statements of all schema files: what a view reads may be made by another file.
    """

    def __init__(self, name: str, database: str, schema: Iterable[str]) -> None:
        self._name, self._database = name, database
        self._tables: dict[str, re.Match[str]] = {}
        self._views: dict[str, str] = {}
        for statement in map(_without_comments, schema):
            if table := _TABLE.match(statement):
                self._tables[table[1]] = table
            elif view := _MATERIALIZED.match(statement):
                self._views[view[1]] = view[2]

    @property
    def settings_of_queries(self) -> Mapping[str, str]:
        """
        What makes a question about NAME right: a subquery is answered by all shards, not by each for itself.

        All shards are asked, also for one trace: when shards are added, older traces stay where they are.
        """
        return {"distributed_product_mode": "global"}

    @property
    def settings_of_inserts(self) -> Mapping[str, str]:
        """Answer only when all shards have stored their rows: what is acknowledged is not in a queue of the server."""
        return {"distributed_foreground_insert": "1", "prefer_localhost_replica": "1", **self.settings_of_queries}

    def create_database(self) -> str:
        """The first statement of all."""
        return f"CREATE DATABASE IF NOT EXISTS {self._database} ON CLUSTER '{self._name}'"

    def statements(self, statement: str) -> list[str]:
        """
        The statements that do on the cluster what this one does on one machine, in order.

        Raises:
            ValueError: It is none of those that schema files and commands are made of.
        """
        said = _without_comments(statement)
        if _INSERT.match(said):
            return [statement]
        if table := _TABLE.match(said):
            return list(self._table(table))
        if view := _MATERIALIZED.match(said):
            return [self._materialized(*view.groups())]
        if plain := _VIEW.match(said):
            return [f"{plain[0]} ON CLUSTER '{self._name}'{said[plain.end() :]}"]
        if alter := _ALTER.match(said):
            return list(self._alter(alter[1], alter[2]))
        raise ValueError(f"no way to say this on a cluster: {said.splitlines()[0]}")

    def _table(self, table: re.Match[str]) -> Iterator[str]:
        name, columns, engine, arguments, rest = table.groups()
        on_cluster = f"ON CLUSTER '{self._name}'"
        if self._is_way_in(table):
            yield f"CREATE TABLE IF NOT EXISTS {name} {on_cluster}\n{columns}\nENGINE = {engine}{rest}"
            return
        if engine.endswith("MergeTree"):
            more = f", {arguments[1:-1]}" if arguments and arguments != "()" else ""
            engine, arguments = f"Replicated{engine}", f"('{_PATH}', '{{replica}}'{more})"
            rest = re.sub(
                r"\bnon_replicated_deduplication_window = (\d+)",
                rf"replicated_deduplication_window = \1, replicated_deduplication_window_seconds = {_WINDOW_S}",
                rest,
            )
        stored = f"{engine}{arguments or ''}{rest}"
        yield f"CREATE TABLE IF NOT EXISTS {name}_local {on_cluster}\n{columns}\nENGINE = {stored}"
        # without a trace id: whoever inserts, it goes to one and the same shard, so that its token is known there
        shard = "cityHash64(trace_id)" if _has_trace_id(table) else "0"
        yield (
            f"CREATE TABLE IF NOT EXISTS {name} {on_cluster} AS {name}_local\n"
            f"ENGINE = Distributed('{self._name}', '{self._database}', '{name}_local', {shard})"
        )

    def _materialized(self, name: str, target: str, select: str) -> str:
        sources = [found[3] for found in _FROM.finditer(select) if found[3] in self._tables]
        from_way_in = any(self._is_way_in(self._tables[source]) for source in sources)
        if not (from_way_in and _has_trace_id(self._tables[target])) and not self._is_way_in(self._tables[target]):
            target = f"{target}_local"
        return (
            f"CREATE MATERIALIZED VIEW IF NOT EXISTS {name} ON CLUSTER '{self._name}' TO {target} AS"
            f"{_FROM.sub(self._local, select)}"
        )

    def _local(self, found: re.Match[str]) -> str:
        word, space, source, alias = found.groups()
        if source not in self._tables or self._is_way_in(self._tables[source]):
            return found[0]
        return f"{word}{space}{source}_local{alias or f' AS {source}'}"

    def _alter(self, name: str, actions: str) -> Iterator[str]:
        table = self._tables.get(name)
        has_local = table is not None and not self._is_way_in(table)
        if has_local:
            yield f"ALTER TABLE {name}_local ON CLUSTER '{self._name}'{actions}"
        if not has_local or re.search(r"\bCOLUMN\b", actions):
            yield f"ALTER TABLE {name} ON CLUSTER '{self._name}'{actions}"

    def _is_way_in(self, table: re.Match[str]) -> bool:
        return table[3] == "Null" and table[1] not in self._views.values()


def _has_trace_id(table: re.Match[str]) -> bool:
    return re.search(r"^\s*trace_id FixedString\(16\)", table[2], re.MULTILINE) is not None


def _without_comments(statement: str) -> str:
    return _COMMENTS.sub("", statement).rstrip()
