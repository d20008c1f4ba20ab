"""
The table of wrapped clients.

Each module here has the same shape: `REQUIRES`, the versions it is tested with, and `patches()`, the methods it
replaces. A wrapper is one plain function with the host's signature: no transaction, straight through; otherwise clock,
call, clock, record. It never changes the call's result or exception.
"""

from __future__ import annotations

from typing import Final

CLIENTS: Final = {
    "aiohttp": "aiohttp.client",
    "http_client": "http.client",
    "httpcore": "httpcore",
    "httpx": "httpx",
    "pymemcache": "pymemcache",
    "aiomysql": "aiomysql",
    "asyncmy": "asyncmy",
    "mysql_connector": "mysql.connector",
    "mysqlclient": "MySQLdb",
    "pymysql": "pymysql",
    "redis": "redis",
    "sqlalchemy": "sqlalchemy",
    "opentelemetry": "opentelemetry.trace",
    "opentelemetry_sdk": "opentelemetry.sdk.trace",
    "urllib3": "urllib3",
}
"""Client, by the name of our module → the module after whose import it can be wrapped. requests and botocore are seen
through urllib3."""
