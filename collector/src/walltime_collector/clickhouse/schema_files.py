"""
The schema: numbered SQL files, applied in their order. Placeholders stand for what a cluster writes differently.

    placeholder                                on one machine        on a cluster
    NAME{local}                                the table             NAME_local: the rows of one shard
    {spans} {transactions} {otlp_spans}        the table             NAME_local AS NAME, in a view
    {on_cluster}                               nothing               ON CLUSTER 'name'
    {replicated}MergeTree{keeper_path}         MergeTree             ReplicatedMergeTree('path', 'replica')
    {deduplication}                            10,000 tokens         10,000 tokens and 7 days, in Keeper
    {cluster_only}                             no such statement     nothing
    {cluster} {database}                       not used              the names, quoted
    {query:VIEW}                               the query of a view of an earlier file
    {family}                                   family.sql: the family of the column `component`

A view is changed in the file that creates it, for new stores, and in a new file by `MODIFY QUERY {query:VIEW}` for
existing ones. A file that changes it once more takes this statement over from the one before.

docs/cluster.md says which tables and views need which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

_READ_BY_VIEWS = ("otlp_spans", "spans", "transactions")
_CLUSTER_ONLY = "{cluster_only}"
_VIEW = re.compile(r"^CREATE (?:MATERIALIZED )?VIEW IF NOT EXISTS (\w+).*? AS\n(.*)", re.MULTILINE | re.DOTALL)

_EVERYWHERE = {"{family}": (files(__package__) / "schema/family.sql").read_text("utf-8").strip()}
ONE_MACHINE: Mapping[str, str] = {
    **_EVERYWHERE,
    **{f"{{{table}}}": table for table in _READ_BY_VIEWS},
    **dict.fromkeys(("{local}", "{on_cluster}", "{replicated}", "{keeper_path}"), ""),
    "{deduplication}": "non_replicated_deduplication_window = 10000",
}
"""The placeholders of the embedded engine and of a single server."""


def on_cluster(cluster: str, database: str) -> Mapping[str, str]:
    """The placeholders of a cluster, named as in the servers' `remote_servers`."""
    return {
        **_EVERYWHERE,
        **{f"{{{table}}}": f"{table}_local AS {table}" for table in _READ_BY_VIEWS},
        "{local}": "_local",
        "{on_cluster}": f" ON CLUSTER '{cluster}'",
        "{replicated}": "Replicated",
        "{keeper_path}": "('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')",
        # 7 days: an INSERT that is repeated after a long outage still meets its token
        "{deduplication}": "replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800",
        _CLUSTER_ONLY: "",
        "{cluster}": f"'{cluster}'",
        "{database}": f"'{database}'",
    }


def schema_files(placeholders: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Name and statements of each schema file, in the order to apply them."""
    directory = files(__package__) / "schema"
    names = sorted(entry.name for entry in directory.iterdir() if re.fullmatch(r"\d{3}_\w+\.sql", entry.name))
    made: list[tuple[str, list[str]]] = []
    known = dict(placeholders)
    for name in names:
        made.append((name, list(statements(f"schema/{name}", known))))
        known |= {f"{{query:{view}}}": query for text in made[-1][1] for view, query in _VIEW.findall(text)}
    return made


def statements(file: str, placeholders: Mapping[str, str]) -> Iterator[str]:
    """The statements of one SQL file of this folder, with its placeholders filled in."""
    for statement in re.split(r";[ \t]*(?:\n|$)", (files(__package__) / file).read_text("utf-8")):
        if statement.strip() and (_CLUSTER_ONLY in placeholders or _CLUSTER_ONLY not in statement):
            yield re.sub(r"\{[\w:]+\}", lambda match: placeholders.get(match[0], match[0]), statement)
