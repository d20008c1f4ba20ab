"""Makes tables keep their rows for as long as the settings say; a schema file has only the default of a new table."""

from __future__ import annotations

import logging
import re

from ..config.settings import Settings
from ..errors import EngineUnavailable
from .engine import Engine
from .schema_files import statements

log = logging.getLogger(__name__)

KEPT = {
    "spans": "retention_spans_days",
    "transactions": "retention_transactions_days",
    "sampled_transactions": "retention_transactions_days",
    "slow_queries": "retention_transactions_days",
    "lock_waits": "retention_transactions_days",
    "mysql_status": "retention_transactions_days",
    "cache_status": "retention_transactions_days",
    "transactions_1m": "retention_minutes_days",
    "targets_1m": "retention_minutes_days",
    "statements_1m": "retention_minutes_days",
    "other_1m": "retention_minutes_days",
    "walltime_health": "retention_minutes_days",
    "incidents": "retention_minutes_days",
    "server_events": "retention_minutes_days",
    "plans": "retention_minutes_days",
}
"""The setting of each table. The other tables' days are fixed, because the collector depends on them."""

LAST_TABLE = "plans"
"""A table of one of the last schema files: when it exists, all tables of KEPT exist."""
_TABLES = (
    "SELECT name, extract(engine_full, ' TTL (.*?)(?: SETTINGS |$)') AS ttl FROM system.tables"
    " WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND ttl != ''"  # of others it writes long DDL
)
_TTL = re.compile(r"(?P<expression>.+) \+ toIntervalDay\((?P<days>\d+)\)")


def keep(engine: Engine, settings: Settings) -> dict[str, int]:
    """
    Set the tables' TTL to what the settings say; ClickHouse removes older rows in the background.

    Returns:
        The days of each table that was changed.

    Raises:
        EngineUnavailable: No answer now, or the tables do not exist yet.
        QueryFailed: The engine refuses; tables that were changed before stay changed.
    """
    current = ttls(engine)
    if LAST_TABLE not in current:
        raise EngineUnavailable("the tables are not there yet; retention is set when they are")
    changed = {}
    for table, setting in KEPT.items():
        wanted = getattr(settings, setting)
        if table not in current or current[table][1] == wanted:
            continue
        expression, days = current[table]
        # names and expressions cannot be bound; these are our own tables', as the engine shows them
        filled = {"{table}": table, "{expression}": expression, "{days}": str(wanted)}
        for statement in statements("retention.sql", {**engine.placeholders, **filled}):
            engine.command(statement)
        log.info("%s: rows are kept for %d days from now on; until now %d", table, wanted, days)
        changed[table] = wanted
    return changed


def ttls(engine: Engine) -> dict[str, tuple[str, int]]:
    """For each table with a TTL in days: the expression that the days are added to, and the days."""
    matches = {row["name"]: _TTL.fullmatch(row["ttl"]) for row in engine.query(_TABLES)}
    # on a cluster the rows, and so the TTL, are in NAME_local
    return {
        name.removesuffix("_local"): (match["expression"], int(match["days"]))
        for name, match in matches.items()
        if match is not None
    }
