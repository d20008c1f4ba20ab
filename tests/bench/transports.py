"""
Sockets that answer by themselves: below everything an instrumentation wraps, so drivers and wrappers are the real ones.

Each is handed to its client through the client's own door (`connect(sock)`, `socket_module`, a connection class), so
nothing of the libraries is replaced, and exporters still reach their sink through real sockets.
"""

from __future__ import annotations

import io
import socket
from types import SimpleNamespace
from typing import Any, Final

import pymysql
from pymemcache.client.base import Client
from pymysql.constants import CLIENT, COMMAND, FIELD_TYPE, SERVER_STATUS
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection

CACHED: Final = b"v" * 32
HTTP_ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello world"

last_sent: dict[str, bytes] = {}
"""What each transport was last asked to send: shows SQL comments and propagated headers."""


class _Canned:
    """What all three drivers want of a socket, besides sending and reading."""

    def settimeout(self, timeout_s: float | None) -> None: ...
    def setsockopt(self, *option: object) -> None: ...
    def connect(self, address: object) -> None: ...
    def shutdown(self, how: int) -> None: ...
    def close(self) -> None: ...


# ---- MySQL ----


def _packet(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


def _column(name: bytes, kind: int, length: int) -> bytes:
    """A column definition of protocol 4.1; catalog, schema, table, original table, name, original name, facts."""
    texts = (b"def", b"shop", b"products", b"products", name, name)
    facts = (45).to_bytes(2, "little") + length.to_bytes(4, "little") + bytes([kind, 0, 0, 0, 0, 0])
    return b"".join(bytes([len(text)]) + text for text in texts) + b"\x0c" + facts


_STATUS: Final = SERVER_STATUS.SERVER_STATUS_AUTOCOMMIT.to_bytes(2, "little")
_END: Final = b"\xfe\x00\x00" + _STATUS
_OK: Final = b"\x00\x00\x00" + _STATUS + b"\x00\x00"
_CAPABILITIES: Final = (
    CLIENT.PROTOCOL_41 | CLIENT.SECURE_CONNECTION | CLIENT.PLUGIN_AUTH | CLIENT.TRANSACTIONS | CLIENT.CONNECT_WITH_DB
).to_bytes(4, "little")
_GREETING: Final = _packet(
    0,
    b"\x0a8.0.0-canned\x00" + bytes(4) + b"saltsalt\x00" + _CAPABILITIES[:2] + b"\x2d" + _STATUS + _CAPABILITIES[2:]
    + b"\x15" + bytes(10) + b"saltsaltsalt\x00mysql_native_password\x00",
)  # fmt: skip
_ONE_ROW: Final = b"".join(
    _packet(number, payload)
    for number, payload in enumerate(
        [
            b"\x02",
            _column(b"id", FIELD_TYPE.LONG, 11),
            _column(b"name", FIELD_TYPE.VAR_STRING, 80),
            _END,
            b"\x0242\x05chair",
            _END,
        ],
        start=1,
    )
)


class _MySQLSocket(_Canned):
    """Greets, accepts any password, answers a SELECT with one row and everything else with OK."""

    def __init__(self) -> None:
        self.read = io.BytesIO(_GREETING).read

    def makefile(self, mode: str) -> _MySQLSocket:
        return self

    def sendall(self, packet: bytes) -> None:
        last_sent["mysql"] = packet
        number, command = packet[3], packet[4]
        is_select = number == 0 and command == COMMAND.COM_QUERY and packet.startswith(b"SELECT", 5)
        self.read = io.BytesIO(_ONE_ROW if is_select else _packet(number + 1, _OK)).read


def mysql() -> pymysql.connections.Connection[Any]:
    """Return an open connection, one row in whatever is selected."""
    connection = pymysql.connect(
        host="mysql.canned", user="bench", password="bench", database="shop", defer_connect=True
    )
    connection.connect(_MySQLSocket())  # type: ignore[arg-type]  # as much of a socket as PyMySQL uses
    return connection


# ---- memcached ----


class _MemcacheSocket(_Canned):
    """Has every key."""

    def sendall(self, command: bytes) -> None:
        last_sent["memcache"] = command
        self._answer = b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (command[4:-2], len(CACHED), CACHED)

    def recv(self, size: int) -> bytes:
        return self._answer


def memcache() -> Any:
    """Return a pymemcache `Client` whose every get is a hit."""
    module = SimpleNamespace(**{name: getattr(socket, name) for name in dir(socket) if name.isupper()})
    module.getaddrinfo = lambda host, port, *rest: [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port))]
    module.socket = lambda *family: _MemcacheSocket()
    return Client(("memcache.canned", 11211), socket_module=module)


# ---- HTTP ----


class _HTTPSocket(_Canned):
    """Answers every request with the same eleven bytes."""

    def __init__(self) -> None:
        # urllib3 polls a kept connection for having been closed: it needs a real and silent descriptor.
        self._silent, self._peer = socket.socketpair()
        self.fileno = self._silent.fileno

    def sendall(self, data: bytes) -> None:
        last_sent["http"] = bytes(data)

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(HTTP_ANSWER)

    def close(self) -> None:
        self._silent.close()
        self._peer.close()


class _Connection(HTTPConnection):
    def _new_conn(self) -> Any:
        return _HTTPSocket()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class CannedAdapter(HTTPAdapter):
    """Mounted on a `requests.Session`: requests and urllib3 as they are, without a network under them."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool}
