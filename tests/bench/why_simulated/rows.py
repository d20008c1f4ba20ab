"""Bills as rows of the table of transactions."""

from __future__ import annotations

from collections.abc import Sequence
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine

from .requests import API, CACHES, DATABASE, MOST_USERS, SECOND_NS, START_S, STATEMENTS, TENANTS, Bills

SERVICE = "simulated"
_SERVERS = [
    *(("memcache.get", cache) for cache in CACHES),
    *(("memcache.set", cache) for cache in CACHES),
    ("mysql.query", DATABASE),
    ("http.request", API),
]
_COMPONENTS, _ADDRESSES = zip(*_SERVERS, strict=True)
_HOSTS = [f"web-{at}" for at in range(1, 6)]
_INSTANCES = [f"{host}:7" for host in _HOSTS]
_VERSIONS = ["2.0", "2.1"]
_USERS = [f"user-{at}" for at in range(MOST_USERS)]
_VIEWS = ("count_targets", "count_statements", "count_statuses")
"""Sums per minute that `why` does not read."""


def prepare(engine: EmbeddedEngine) -> None:
    """Once for an engine: rows stay, and cost as little as possible."""
    for view in _VIEWS:
        engine.command(f"DROP VIEW {view}")
    engine.command("ALTER TABLE transactions REMOVE TTL")
    engine.command("SYSTEM STOP MERGES")


def replace(engine: EmbeddedEngine, named: Sequence[tuple[str, Bills]]) -> None:
    """The transactions of the engine are those bills, each with the name of its kind."""
    for table in ("transactions", "transactions_1m"):
        engine.command(f"TRUNCATE TABLE {table}")
    names = [name for name, _ in named]
    table = pa.concat_tables([_table(names, at, each) for at, (_, each) in enumerate(named)])
    columns = ", ".join(f"`{name}`" for name in table.column_names)
    read = columns.replace("`started_at`", "fromUnixTimestamp64Nano(started_at, 'UTC')")
    read = read.replace("`attributes`", "if(attributes = '', map(), map('tenant', attributes))")
    with NamedTemporaryFile(suffix=".arrow") as file:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        file.flush()
        engine.command(f"INSERT INTO transactions ({columns}) SELECT {read} FROM file('{file.name}', 'Arrow')")


def _table(names: Sequence[str], at: int, bills: Bills) -> pa.Table:
    of, count = bills.requests, bills.requests.count
    rng = np.random.default_rng([count, at])
    target_calls = np.column_stack([bills.gets, bills.misses, bills.statement_calls.sum(1), bills.http_calls])
    no_errors = np.zeros_like(target_calls)
    target_ns = np.column_stack([bills.get_ns, bills.set_ns, bills.statement_ns.sum(1), bills.http_ns])
    hits = np.zeros_like(target_calls)
    misses = np.zeros_like(target_calls)
    hits[:, :2], misses[:, :2] = bills.gets - bills.misses, bills.misses
    none = np.zeros(count, np.int64)
    other_cpu = (bills.other_ns * of.page.cpu_share).astype(np.int64)
    columns: dict[str, Any] = {
        "trace_id": _ids(rng, count, 16),
        "span_id": _ids(rng, count, 8),
        "started_at": pa.array(START_S * SECOND_NS + (of.at_s * SECOND_NS).astype(np.int64)),
        "duration_ns": _whole(bills.duration_ns),
        "covered_ns": _whole(bills.covered_ns),
        "service": _chosen([SERVICE], none),
        "name": _chosen(names, none + at),
        "kind": _chosen(["server"], none),
        "host": _chosen(_HOSTS, of.host),
        "instance": _chosen(_INSTANCES, of.host),
        "version": _chosen(_VERSIONS, of.version),
        "user": _chosen(_USERS, of.user),
        "attributes": _chosen(TENANTS, of.tenant),
        "method": _chosen(["GET"], none),
        "http_status": pa.array(of.status.astype(np.uint16)),
        "is_error": pa.array(of.status >= 500),
        "kept": _chosen(["", "random"], (rng.uniform(0, 1, count) < 0.05).astype(np.int64)),
        "sample_probability": pa.array(np.full(count, 0.05)),
        "cpu_user_ns": _whole(other_cpu + bills.statement_calls.sum(1) * 20_000),
        "cpu_system_ns": _whole(other_cpu // 10),
        "queue_ns": _whole(rng.exponential(8e4, count)),
        "mysql_query_calls": _whole(target_calls[:, 4]),
        "mysql_query_time_ns": _whole(target_ns[:, 4]),
        "mysql_query_rows": _whole(target_calls[:, 4]),
        "memcache_get_calls": _whole(bills.gets.sum(1)),
        "memcache_get_time_ns": _whole(bills.get_ns.sum(1)),
        "memcache_get_keys": _whole(bills.gets.sum(1)),
        "memcache_get_hits": _whole(hits.sum(1)),
        "memcache_get_misses": _whole(bills.misses.sum(1)),
        "memcache_set_calls": _whole(bills.misses.sum(1)),
        "memcache_set_time_ns": _whole(bills.set_ns.sum(1)),
        "http_request_calls": _whole(bills.http_calls),
        "http_request_time_ns": _whole(bills.http_ns),
        **_ragged(
            "target", target_calls > 0, {"component": _COMPONENTS, "address": _ADDRESSES},
            {"calls": target_calls, "time_ns": target_ns, "errors": no_errors, "hits": hits, "misses": misses},
        ),
        **_ragged(
            "statement", bills.statement_calls > 0, {"text": STATEMENTS},
            {
                "calls": bills.statement_calls,
                "time_ns": bills.statement_ns,
                "errors": np.zeros_like(bills.statement_calls),
            },
        ),
    }  # fmt: skip
    return pa.table(columns)


def _whole(numbers: NDArray[Any]) -> pa.Array:
    return pa.array(numbers.astype(np.uint64))


def _ids(rng: np.random.Generator, count: int, length: int) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(length), count, [None, pa.py_buffer(rng.bytes(count * length))]
    )


def _chosen(values: Sequence[str], index: NDArray[np.int64]) -> pa.Array:
    distinct = list(dict.fromkeys(values))
    at = np.array([distinct.index(each) for each in values], np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(at[index]), pa.array(distinct))


def _ragged(
    prefix: str,
    used: NDArray[np.bool_],
    texts: dict[str, Sequence[str]],
    numbers: dict[str, NDArray[np.int64]],
) -> dict[str, pa.Array]:
    """Array columns without the elements that are not used."""
    offsets = pa.array(np.concatenate([[0], used.sum(1).cumsum()]).astype(np.int32))
    which = np.broadcast_to(np.arange(used.shape[1]), used.shape)[used]
    values = {name: _chosen(each, which) for name, each in texts.items()}
    values |= {name: _whole(each[used]) for name, each in numbers.items()}
    return {f"{prefix}.{name}": pa.ListArray.from_arrays(offsets, each) for name, each in values.items()}
