"""
WALLTIME_… variables that others read: the SDK, the commands, Grafana's data source, Kubernetes.

tests/collector/config/test_configuration.py compares the list with the SDK's settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

NEIGHBOURS: Final = frozenset(
    f"WALLTIME_{name}"
    for name in """
    CLICKHOUSE_DATABASE CLICKHOUSE_HOST CLICKHOUSE_PORT CLIENT_CERTIFICATE CONFIG CONTEXT_THREADS CPU_WAIT
    DENIED_ANNOTATIONS DISABLED_COMPONENTS ERRORS_PER_MINUTE EXIT_TIMEOUT FORCED_PER_MINUTE FORCE_SECRET HASH_USER_IDS
    JSON_LINES KEY_SALT LOOP_TIMES MAX_PENDING_BYTES METRICS PROPAGATE_TO PYTHON_GC RANDOM_PER_MINUTE RAW_KEYS
    RAW_SESSION_IDS SAMPLE_HZ SERVER_TIMING
    SLOW_PER_MINUTE SQL_COMMENT SQL_COMMENT_KEYS SQL_COMMENT_POSITION SQL_TEXT_BYTES SUMMARY TOKEN TOKEN_FILE
    UPSTREAM_PER_MINUTE URL
    """.split()  # noqa: SIM905  a list would have a line for each
)
"""Of the SDK, the commands and Grafana's data source (dashboards/README.md)."""

_SERVICE_VARIABLE: Final = re.compile(
    r"(.+?)_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?)?)"
)


def is_of_others(variable: str, environ: Mapping[str, str]) -> bool:
    """Whether our tests set it, or Kubernetes sets it for a service whose name begins with `walltime`."""
    if variable.startswith("WALLTIME_TEST"):
        return True
    service = _SERVICE_VARIABLE.fullmatch(variable)
    return service is not None and f"{service[1]}_SERVICE_HOST" in environ
