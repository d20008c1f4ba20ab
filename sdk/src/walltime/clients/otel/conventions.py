"""Reads a call from the attributes of an OpenTelemetry span, by the current and the former semantic conventions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from walltime.core import bill
from walltime.core.call import OTHER, lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from walltime.core.call import Line, Lines, Target

MAX_COMPONENTS: Final = 256
"""Components a process takes from spans; the calls beyond share `OTHER`."""

_OUR_NAMES: Final = {"mariadb": "mysql", "memcached": "memcache"}
_SQL: Final = frozenset({
    "postgresql", "mysql", "sqlite", "oracle", "oracle_db", "mssql", "microsoft_sql_server", "db2", "ibm_db2", "trino",
    "cockroachdb", "clickhouse", "redshift", "aws_redshift", "snowflake", "hive", "derby", "h2database", "hsqldb",
    "sql", "other_sql", "firebirdsql", "sap_hana", "spanner", "gcp_spanner", "bigquery", "teradata", "vertica",
})  # fmt: skip
"""Systems whose calls are one component each, `<system>.query`, as MySQL's are; the statement tells them apart."""
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_HOST_AND_PORT: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]{0,252}):(\d{1,5})")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class SpanCall(NamedTuple):
    """A call as the attributes of a span describe it."""

    line: Line
    system: str
    subject: object
    """As in `walltime.core.call`: SQL text, (method, scheme, URL), or None."""
    status: int
    """HTTP's, or the rows a database returned; 0 when not known."""


def read(attributes: Mapping[str, Any], is_producer: bool) -> SpanCall:
    """Return what is known; a span that follows no convention is a call of the component `client.call`."""
    value_of = _Attributes(attributes)
    system, operation, subject, status = _what(value_of, is_producer)
    component = _component(system, operation)
    target = _target(value_of, component.component)
    return SpanCall(component[target], component.component.partition(".")[0], subject, status)


def _what(value_of: _Attributes, is_producer: bool) -> tuple[str, str, object, int]:
    if system := value_of("db.system.name", "db.system"):
        name = _word(system)
        if name in _SQL or _OUR_NAMES.get(name) in _SQL:
            text = value_of("db.query.text", "db.statement") or "(unknown)"
            return system, "query", text, value_of.number("db.response.returned_rows")
        return system, value_of("db.operation.name", "db.operation", "rpc.method") or "query", None, 0
    if system := value_of("rpc.system.name", "rpc.system"):
        if system == "aws-api":
            system = value_of("rpc.service").lower() or "aws"
        return system, value_of("rpc.method").rpartition("/")[2] or "call", None, 0
    if system := value_of("messaging.system"):
        operation = value_of("messaging.operation.name", "messaging.operation.type", "messaging.operation")
        return system, operation or ("publish" if is_producer else "call"), None, 0
    if system := value_of("gen_ai.provider.name", "gen_ai.system"):
        return system, value_of("gen_ai.operation.name") or "call", None, 0
    if method := value_of("http.request.method", "http.method"):
        url = value_of("url.full", "http.url")
        return "http", "request", (method, "", url), value_of.number("http.response.status_code", "http.status_code")
    return "producer" if is_producer else "client", "call", None, 0


class _Attributes:
    """Attributes by their first name that has a value; values of other types than the conventions' are ignored."""

    __slots__ = ("_get",)

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self._get = attributes.get

    def __call__(self, *names: str) -> str:
        for name in names:
            value = self._get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def number(self, *names: str) -> int:
        for name in names:
            value = self._get(name)
            if isinstance(value, int) or (isinstance(value, str) and value.isdecimal() and len(value) < 6):
                return max(0, int(value))
        return 0


@lru_cache(maxsize=1024)
def _word(text: str) -> str:
    return _NOT_IN_A_NAME.sub("_", text[:40])


_components: dict[tuple[str, str], Lines] = {}


def _component(system: str, operation: str) -> Lines:
    known = _components.get((system, operation))
    if known is not None:
        return known
    name = _word(system).lower()
    component = f"{_OUR_NAMES.get(name, name)}.{_word(operation)}"
    if len(_components) >= MAX_COMPONENTS:
        return lines(OTHER)
    if operation == "query":
        bill.has_sql(component)
    made = _components[system, operation] = lines(component)
    return made


def _target(value_of: _Attributes, component: str) -> Target | None:
    host = value_of("server.address", "net.peer.name", "net.sock.peer.name", "network.peer.address", "net.peer.ip")
    port = value_of.number("server.port", "net.peer.port", "net.sock.peer.port", "network.peer.port")
    if not host and component == "http.request":
        parts = urlsplit(value_of("url.full", "http.url"))
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    elif not host and (found := _HOST_AND_PORT.search(value_of("messaging.url"))):
        host, port = found[1], int(found[2])  # of a list of brokers, the first
    if not host:
        return None
    return (host[:255], port) if port else host[:255]
