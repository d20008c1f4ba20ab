"""Makes tables keep their rows as long as the settings say; a schema file says only what a new table begins with."""

from __future__ import annotations

import logging
import re
from importlib.resources import files

from ..config.settings import Settings
from ..errors import EngineUnavailable
from .engine import Engine

log = logging.getLogger(__name__)

KEPT = {
    "spans": "retention_spans_days",
    "transactions": "retention_transactions_days",
    "slow_queries": "retention_transactions_days",
    "transactions_1m": "retention_minutes_days",
    "targets_1m": "retention_minutes_days",
    "statements_1m": "retention_minutes_days",
    "walltime_health": "retention_minutes_days",
}
"""Which setting says it of which table; the days of what is not here belong to how it works."""

LAST_TABLE = "walltime_health"
"""Of the last schema file: with it all are there."""
_TABLES = (
    "SELECT name, extract(engine_full, ' TTL (.*?)(?: SETTINGS |$)') AS ttl FROM system.tables"
    " WHERE database = currentDatabase() AND ttl != ''"
)
_TTL = re.compile(r"(?P<expression>.+) \+ toIntervalDay\((?P<days>\d+)\)")


def keep(engine: Engine, settings: Settings) -> dict[str, int]:
    """
    Bring the tables' TTL to what the settings say; the rows beyond it go in the background.

    Returns:
        The days of each table that was changed.

    Raises:
        EngineUnavailable: Not now, or the tables are not there yet.
        QueryFailed: The engine refuses; the tables that were changed stay so.
    """
    found = ttls(engine)
    if LAST_TABLE not in found:
        raise EngineUnavailable("the tables are not there yet; retention is looked at again when they are")
    changed = {}
    for table, (expression, days) in found.items():
        setting = KEPT.get(table)
        wanted = days if setting is None else getattr(settings, setting)
        if wanted == days:
            continue
        for statement in statements(table, expression, wanted):
            engine.command(statement)
        log.info("%s: rows are kept for %d days from now on; until now %d", table, wanted, days)
        changed[table] = wanted
    return changed


def ttls(engine: Engine) -> dict[str, tuple[str, int]]:
    """Of each table whose rows go after some days: what these days count from, and how many there are."""
    found = {row["name"]: _TTL.fullmatch(row["ttl"]) for row in engine.query(_TABLES)}
    # on a cluster rows are in NAME_local, and the engine turns what is said of NAME into that
    named = {name.removesuffix("_local"): ttl for name, ttl in found.items() if ttl is not None}
    return {name: (ttl["expression"], int(ttl["days"])) for name, ttl in named.items()}


def statements(table: str, expression: str, days: int) -> list[str]:
    """What makes the table keep its rows for so many days."""
    # names and expressions are those of our own tables, as the engine shows them: they cannot be bound
    text = (files(__package__) / "retention.sql").read_text("utf-8")
    text = re.sub(r"^--.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("ALTER TABLE TABLE", f"ALTER TABLE {table}")
    text = text.replace("EXPRESSION", expression).replace("DAYS", str(days))
    return [statement.strip() for statement in text.split(";\n")]
