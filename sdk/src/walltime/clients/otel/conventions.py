"""What the attributes of an OpenTelemetry span say about a call, by the semantic conventions of today and of before."""

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

_OUR_WORDS: Final = {"mariadb": "mysql", "memcached": "memcache"}
_SQL: Final = frozenset({
    "postgresql", "mysql", "sqlite", "oracle", "oracle_db", "mssql", "microsoft_sql_server", "db2", "ibm_db2", "trino",
    "cockroachdb", "clickhouse", "redshift", "aws_redshift", "snowflake", "hive", "derby", "h2database", "hsqldb",
    "sql", "other_sql", "firebirdsql", "sap_hana", "spanner", "gcp_spanner", "bigquery", "teradata", "vertica",
})  # fmt: skip
"""Systems whose calls are one component each, `<system>.query`, as MySQL's are; the statement says what they do."""
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_HOST_AND_PORT: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*):(\d{1,5})")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Said(NamedTuple):
    """A call as a span described it."""

    line: Line
    system: str
    subject: object
    """As in `walltime.core.call`: SQL text, (method, scheme, URL), or None."""
    status: int
    """HTTP's, or the rows a database returned; 0 when not known."""


def read(attributes: Mapping[str, Any], is_producer: bool) -> Said:
    """Return what is known; a span that follows no convention is a call of the component `client.call`."""
    say = _Saying(attributes)
    system, operation, subject, status = _what(say, is_producer)
    component = _component(system, operation)
    target = _target(say, component.component)
    return Said(component[target], component.component.partition(".")[0], subject, status)


def _what(say: _Saying, is_producer: bool) -> tuple[str, str, object, int]:
    if system := say("db.system.name", "db.system"):
        name = _word(system)
        if name in _SQL or _OUR_WORDS.get(name) in _SQL:
            text = say("db.query.text", "db.statement") or "(not told)"
            return system, "query", text, say.number("db.response.returned_rows")
        return system, say("db.operation.name", "db.operation", "rpc.method") or "query", None, 0
    if system := say("rpc.system.name", "rpc.system"):
        if system == "aws-api":
            system = say("rpc.service").lower() or "aws"
        return system, say("rpc.method").rpartition("/")[2] or "call", None, 0
    if system := say("messaging.system"):
        operation = say("messaging.operation.name", "messaging.operation.type", "messaging.operation")
        return system, operation or ("publish" if is_producer else "call"), None, 0
    if system := say("gen_ai.provider.name", "gen_ai.system"):
        return system, say("gen_ai.operation.name") or "call", None, 0
    if method := say("http.request.method", "http.method"):
        url = say("url.full", "http.url")
        return "http", "request", (method, "", url), say.number("http.response.status_code", "http.status_code")
    return "producer" if is_producer else "client", "call", None, 0


class _Saying:
    """Attributes by their first name that has a value; other types than the conventions' say nothing."""

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
    component = f"{_OUR_WORDS.get(name, name)}.{_word(operation)}"
    if len(_components) >= MAX_COMPONENTS:
        return lines(OTHER)
    if operation == "query":
        bill.has_sql(component)
    made = _components[system, operation] = lines(component)
    return made


def _target(say: _Saying, component: str) -> Target | None:
    host = say("server.address", "net.peer.name", "net.sock.peer.name", "network.peer.address", "net.peer.ip")
    port = say.number("server.port", "net.peer.port", "net.sock.peer.port", "network.peer.port")
    if not host and component == "http.request":
        parts = urlsplit(say("url.full", "http.url"))
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    elif not host and (found := _HOST_AND_PORT.search(say("messaging.url"))):
        host, port = found[1], int(found[2])  # of a list of brokers, the first
    if not host:
        return None
    return (host[:255], port) if port else host[:255]
