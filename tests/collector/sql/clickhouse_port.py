"""The read-only ClickHouse port of a collector, as a plain HTTP client sees it."""

from __future__ import annotations

import base64
import http.client
from dataclasses import dataclass

from tests.servers import Collector


@dataclass
class Port:
    """The ClickHouse port of a collector."""

    address: str
    password: str = ""

    def post(self, sql: str | bytes, query: str = "", **headers: str) -> tuple[int, bytes, dict[str, str]]:
        return self.request("POST", f"/?{query}", sql, **headers)

    def get(self, query: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        return self.request("GET", f"/?{query}", None, **headers)

    def request(
        self, method: str, path: str, body: str | bytes | None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection(self.address, timeout=60)
        if self.password:
            basic = base64.b64encode(f"grafana:{self.password}".encode()).decode()
            headers = {"Authorization": f"Basic {basic}", **headers}
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
            return response.status, content, {name.lower(): value for name, value in response.getheaders()}
        finally:
            connection.close()


def port_of(collector: Collector) -> str:
    return dict(part.split("=", 1) for part in collector.ready.split()[1:])["clickhouse"]
