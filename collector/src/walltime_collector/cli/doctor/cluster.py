"""Checks of a ClickHouse cluster: what its nodes must have in common, and what not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Rows
from ...format import plural
from ...health.checks import Check


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
