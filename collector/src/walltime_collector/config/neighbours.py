"""
The WALLTIME_… variables that are no spelling mistakes although they are no settings of the collector.

tests/collector/test_configuration.py compares the list with the SDK's settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

NEIGHBOURS: Final = frozenset(
    {
        "WALLTIME_CLICKHOUSE_DATABASE",
        "WALLTIME_CLICKHOUSE_HOST",
        "WALLTIME_CLICKHOUSE_PORT",
        "WALLTIME_CLIENT_CERTIFICATE",
        "WALLTIME_CONFIG",
        "WALLTIME_CONTEXT_THREADS",
        "WALLTIME_DENIED_ANNOTATIONS",
        "WALLTIME_ERRORS_PER_MINUTE",
        "WALLTIME_EXIT_TIMEOUT",
        "WALLTIME_FORCED_PER_MINUTE",
        "WALLTIME_FORCE_SECRET",
        "WALLTIME_HASH_USER_IDS",
        "WALLTIME_JSON_LINES",
        "WALLTIME_KEY_SALT",
        "WALLTIME_MAX_PENDING_BYTES",
        "WALLTIME_PROPAGATE_TO",
        "WALLTIME_PYTHON_GC",
        "WALLTIME_RANDOM_PER_MINUTE",
        "WALLTIME_RAW_KEYS",
        "WALLTIME_RAW_SESSION_IDS",
        "WALLTIME_SERVER_TIMING",
        "WALLTIME_SLOW_PER_MINUTE",
        "WALLTIME_SQL_COMMENT",
        "WALLTIME_SQL_COMMENT_KEYS",
        "WALLTIME_SQL_COMMENT_POSITION",
        "WALLTIME_SQL_TEXT_BYTES",
        "WALLTIME_SUMMARY",
        "WALLTIME_TOKEN",
        "WALLTIME_TOKEN_FILE",
        "WALLTIME_UPSTREAM_PER_MINUTE",
        "WALLTIME_URL",
    }
)
"""Of the SDK, of our own command line, and of Grafana's data source (dashboards/README.md)."""

_OF_A_SERVICE: Final = re.compile(
    r"(.+?)_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?)?)"
)


def is_of_others(variable: str, environ: Mapping[str, str]) -> bool:
    """Whether our tests set it, or Kubernetes for a service named walltime."""
    if variable.startswith("WALLTIME_TEST"):
        return True
    service = _OF_A_SERVICE.fullmatch(variable)
    return service is not None and f"{service[1]}_SERVICE_HOST" in environ
