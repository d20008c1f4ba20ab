"""
The WALLTIME_… variables that other programs read: the SDK does not warn about them.

tests/collector/test_configuration.py compares the list with the collector's settings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# ruff: noqa: SIM905  # a list of 60 strings is no clearer
NEIGHBOURS: Final = frozenset(
    f"WALLTIME_{name}"
    for name in """
    ADMIN_TOKEN ADMIN_TOKEN_FILE ALLOWED_HOSTS CLICKHOUSE CLICKHOUSE_CA CLICKHOUSE_CERTIFICATE
    CLICKHOUSE_COMPRESSION CLICKHOUSE_DATABASE CLICKHOUSE_HOST CLICKHOUSE_HTTP CLICKHOUSE_HTTP_TOKEN
    CLICKHOUSE_HTTP_TOKEN_FILE CLICKHOUSE_INSERT_QUORUM CLICKHOUSE_KEY CLICKHOUSE_PASSWORD CLICKHOUSE_PASSWORD_FILE
    CLICKHOUSE_PORT CLICKHOUSE_TIMEOUT_S CLICKHOUSE_USER CLICKHOUSE_VERIFY CLIENT_CERTIFICATE CLUSTER CONFIG
    CORS_ALLOWED_ORIGINS CRASHPOINT DATA DATABASE DERIVED_SETTLE_S DERIVED_WINDOW_S DRAIN_S GRPC HEADER_DEADLINE_S
    HTTP INCIDENTS INCIDENT_ERRORS INCIDENT_LOOK_S INCIDENT_SLOWER INCIDENT_WEBHOOK INCIDENT_WEBHOOK_FILE
    INCIDENT_WEBHOOK_FORMAT INGEST_CLIENT_CA INGEST_TOKEN INGEST_TOKEN_FILE INSECURE LOG_FORMAT MAX_CONNECTIONS
    MAX_CONNECTIONS_PER_ADDRESS MAX_IN_FLIGHT_BYTES MAX_READ_CONNECTIONS MAX_READ_CONNECTIONS_PER_ADDRESS
    MAX_REQUEST_BYTES MAX_SPOOL_BYTES READ_CLIENT_CA READ_TOKEN READ_TOKEN_FILE REQUEST_DEADLINE_S
    RETENTION_MINUTES_DAYS RETENTION_SPANS_DAYS RETENTION_TRANSACTIONS_DAYS SEGMENT_AGE_S SEGMENT_BYTES SLOW_LOG
    SLOW_LOG_ALWAYS_WRITE_S
    TLS_CERTIFICATE TLS_KEY TOKEN TOKEN_FILE URL WEB WEB_URL WHEN_DISK_FULL
    """.split()
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
