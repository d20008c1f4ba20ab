"""
ClickHouse's HTTP interface, read-only: Grafana, JDBC tools and ClickHouse's own clients connect to it.

    HTTP request ─request─► statement, parameters, format ─QueryRunner─► result ─response─► status, headers, body
                 blocks, encodings: compression of both bodies, in ClickHouse's own blocks or as in HTTP
"""

from __future__ import annotations

from .endpoint import ClickHouseHttp

__all__ = ["ClickHouseHttp"]
