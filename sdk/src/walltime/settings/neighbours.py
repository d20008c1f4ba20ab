"""
The WALLTIME_… variables that are no spelling mistakes although the SDK does not read them.

tests/collector/test_configuration.py compares the list with the collector's settings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NEIGHBOURS: Final = frozenset(
    {
        "WALLTIME_ADMIN_TOKEN",
        "WALLTIME_ADMIN_TOKEN_FILE",
        "WALLTIME_ALLOWED_HOSTS",
        "WALLTIME_CLICKHOUSE",
        "WALLTIME_CLICKHOUSE_CA",
        "WALLTIME_CLICKHOUSE_CERTIFICATE",
        "WALLTIME_CLICKHOUSE_COMPRESSION",
        "WALLTIME_CLICKHOUSE_DATABASE",
        "WALLTIME_CLICKHOUSE_HOST",
        "WALLTIME_CLICKHOUSE_HTTP",
        "WALLTIME_CLICKHOUSE_HTTP_TOKEN",
        "WALLTIME_CLICKHOUSE_HTTP_TOKEN_FILE",
        "WALLTIME_CLICKHOUSE_INSERT_QUORUM",
        "WALLTIME_CLICKHOUSE_KEY",
        "WALLTIME_CLICKHOUSE_PASSWORD",
        "WALLTIME_CLICKHOUSE_PASSWORD_FILE",
        "WALLTIME_CLICKHOUSE_PORT",
        "WALLTIME_CLICKHOUSE_TIMEOUT_S",
        "WALLTIME_CLICKHOUSE_USER",
        "WALLTIME_CLICKHOUSE_VERIFY",
        "WALLTIME_CLIENT_CERTIFICATE",
        "WALLTIME_CLUSTER",
        "WALLTIME_CONFIG",
        "WALLTIME_CORS_ALLOWED_ORIGINS",
        "WALLTIME_CRASHPOINT",
        "WALLTIME_DATA",
        "WALLTIME_DATABASE",
        "WALLTIME_DERIVED_SETTLE_S",
        "WALLTIME_DERIVED_WINDOW_S",
        "WALLTIME_DRAIN_S",
        "WALLTIME_GRPC",
        "WALLTIME_HEADER_DEADLINE_S",
        "WALLTIME_HTTP",
        "WALLTIME_INGEST_CLIENT_CA",
        "WALLTIME_INGEST_TOKEN",
        "WALLTIME_INGEST_TOKEN_FILE",
        "WALLTIME_INSECURE",
        "WALLTIME_LOG_FORMAT",
        "WALLTIME_MAX_CONNECTIONS",
        "WALLTIME_MAX_CONNECTIONS_PER_ADDRESS",
        "WALLTIME_MAX_IN_FLIGHT_BYTES",
        "WALLTIME_MAX_READ_CONNECTIONS",
        "WALLTIME_MAX_READ_CONNECTIONS_PER_ADDRESS",
        "WALLTIME_MAX_REQUEST_BYTES",
        "WALLTIME_MAX_SPOOL_BYTES",
        "WALLTIME_READ_CLIENT_CA",
        "WALLTIME_READ_TOKEN",
        "WALLTIME_READ_TOKEN_FILE",
        "WALLTIME_REQUEST_DEADLINE_S",
        "WALLTIME_RETENTION_MINUTES_DAYS",
        "WALLTIME_RETENTION_SPANS_DAYS",
        "WALLTIME_RETENTION_TRANSACTIONS_DAYS",
        "WALLTIME_SEGMENT_AGE_S",
        "WALLTIME_SEGMENT_BYTES",
        "WALLTIME_SLOW_LOG",
        "WALLTIME_TLS_CERTIFICATE",
        "WALLTIME_TLS_KEY",
        "WALLTIME_TOKEN",
        "WALLTIME_TOKEN_FILE",
        "WALLTIME_URL",
        "WALLTIME_WEB",
        "WALLTIME_WHEN_DISK_FULL",
    }
)
"""Of the collector, its command line, and Grafana's data source (dashboards/README.md)."""

_OF_A_SERVICE: Final = re.compile(
    r"(.+?)_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?)?)"
)


def is_known(variable: str, environ: Mapping[str, str]) -> bool:
    """Say whether somebody else has use for it: a neighbour, our tests, or Kubernetes for a service named walltime."""
    if variable in NEIGHBOURS or variable.startswith("WALLTIME_TEST"):
        return True
    service = _OF_A_SERVICE.fullmatch(variable)
    return service is not None and f"{service[1]}_SERVICE_HOST" in environ
