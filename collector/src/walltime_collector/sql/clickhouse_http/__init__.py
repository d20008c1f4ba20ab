"""
ClickHouse's HTTP interface, read-only: Grafana, JDBC tools and ClickHouse's own clients connect to it.

    request ─question─► statement, parameters, format ─QueryRunner─► answer ─response─► status, headers, body
                blocks, encodings: compression of both bodies, in ClickHouse's own framing or in that of HTTP
"""

from __future__ import annotations

from .endpoint import ClickHouseHttp

__all__ = ["ClickHouseHttp"]
