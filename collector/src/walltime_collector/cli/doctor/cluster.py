"""Checks of a ClickHouse cluster: what its nodes must have in common, and what not; how long tokens are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Rows
from ...format import plural
from ...health.checks import Check

_LEAST_MINUTES = 30


@dataclass(frozen=True)
class Node:
    """What a node says about itself."""

    url: str
    version: str
    timezone: str
    macros: Mapping[str, str]


def check_cluster(name: str, clusters: Rows) -> Check:
    """Whether the rows of `system.clusters` have the cluster, with replicas that replicate by themselves."""
    nodes = [row for row in clusters if row["cluster"] == name]
    if not nodes:
        return Check("cluster", "FAIL", f"no cluster {name}", "WALLTIME_CLUSTER is a name in its <remote_servers>")
    replicas = Counter(node["shard_num"] for node in nodes)
    if any(replicas[node["shard_num"]] > 1 and not node["internal_replication"] for node in nodes):
        advice = "<internal_replication>true</internal_replication> in each shard: otherwise rows are stored twice"
        return Check("cluster", "FAIL", f"{name} has shards without internal_replication", advice)
    if away := sorted(f"{node['host_name']}:{node['port']}" for node in nodes if node["errors_count"]):
        advice = "tables are created on all nodes at once: each must answer then"
        return Check("cluster", "WARN", f"recent errors of {', '.join(away)}", advice)
    return Check("cluster", "OK", f"{name}: {plural(len(replicas), 'shard')}, {plural(len(nodes), 'node')}")


def check_node(here: Node, others: Sequence[Node]) -> Check:
    """Whether it has macros of its own, and the version and time zone of the others."""
    if missing := [name for name in ("shard", "replica") if not here.macros.get(name)]:
        advice = "<macros><shard>…</shard><replica>…</replica></macros>: replicated tables need both, on each node"
        return Check("nodes", "FAIL", f"no macro {' and no macro '.join(missing)}", advice)
    if same := [other.url for other in others if other.macros == here.macros]:
        advice = "give each node a replica name of its own: two with one name share one place in Keeper"
        return Check("nodes", "FAIL", f"the same macros as {', '.join(same)}", advice)
    if differ := [each.url for each in others if (each.version, each.timezone) != (here.version, here.timezone)]:
        what = f"another version or time zone than {', '.join(differ)}"
        return Check("nodes", "WARN", what, "make them equal, except during an upgrade")
    return Check("nodes", "OK", f"shard {here.macros['shard']}, replica {here.macros['replica']}")


def check_tokens(versions: Sequence[str], tables: Rows, collectors: int) -> Check | None:
    """
    A warning if an INSERT that is repeated after half an hour may be stored twice.

    Args:
        versions: Of `insert_deduplication_version`; none where the server has no such setting.
        tables: Names, and how many tokens each keeps.
        collectors: How many insert into them, each once a second at most while its segments are not full.
    """
    if any(version != "new_unified_hash" for version in versions):
        what = f"insert_deduplication_version is {versions[0]}: ClickHouse 26.7 does not know its tokens"
        advice = "before that upgrade run compatible_double_hashes for 10,000 INSERTs a table, or stop the collectors"
        return Check("settings", "WARN", what, f"{advice} with an empty spool")
    if not tables:
        return None
    least = min(tables, key=lambda row: int(row["tokens"]))
    minutes = int(least["tokens"]) // (60 * collectors)
    if minutes >= _LEAST_MINUTES:
        return None
    enough = f"{plural(minutes, 'minute')} of {plural(collectors, 'collector')}"
    what = f"{least['name']} keeps {least['tokens']} tokens, {enough}"
    advice = "raise its …_deduplication_window, or segment_age_s: an INSERT repeated later is stored twice"
    return Check("settings", "WARN", what, advice)
