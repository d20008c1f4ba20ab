"""Connections to MySQL and MariaDB, and what their errors mean."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pymysql
from pymysql.constants import CR, ER
from pymysql.cursors import Cursor

from ...errors import SettingsRefused
from ..address import Address

if TYPE_CHECKING:
    _Base = pymysql.connections.Connection[Cursor]
else:
    _Base = pymysql.connections.Connection

Connection: TypeAlias = "pymysql.connections.Connection[Cursor]"

OPTIONS: Final = ("tls", "ca", "cert", "key", "socket")
_TLS: Final = ("off", "preferred", "required", "verify_ca", "verify")
CONNECT_S: Final = 5
ANSWER_S: Final = 10
_STATEMENT_S: Final = 5
_OFF: Final = 31_536_000
"""A long_query_time of a year: what the collector asks is not in the slow log."""
_MEANINGS: Final = {
    ER.ACCESS_DENIED_ERROR: "the server refuses the account: check its user, password, and that it may come from here",
    ER.DBACCESS_DENIED_ERROR: "the account may not use that database; docs/observing.md has the GRANT statements",
    ER.TABLEACCESS_DENIED_ERROR: "the account may not read that table; docs/observing.md has the GRANT statements",
    ER.SPECIFIC_ACCESS_DENIED_ERROR: "the account lacks a privilege; docs/observing.md has the GRANT statements",
    ER.CON_COUNT_ERROR: "the server has no connection free: raise its max_connections",
    ER.USER_LIMIT_REACHED: "the account has no connection free: raise its MAX_USER_CONNECTIONS",
    ER.HOST_IS_BLOCKED: "the server blocks this host after failed connections: run FLUSH HOSTS there",
    ER.HOST_NOT_PRIVILEGED: "the server accepts no connection from this host: create the account for it",
    1820: "the account's password has expired: set a new one",
    1862: "the account's password has expired: set a new one",
    3118: "the account is locked: ALTER USER … ACCOUNT UNLOCK",
    3159: "the server requires TLS: write ?tls=required, or ?ca=PATH",
    ER.SERVER_SHUTDOWN: "the server shuts down",
    CR.CR_SERVER_GONE_ERROR: "the server closed the connection",
    CR.CR_SERVER_LOST: "the server closed the connection",
    CR.CR_SSL_CONNECTION_ERROR: "the server has no TLS: switch it on there, or write ?tls=off",
}


class Counting(_Base):
    """A connection of the collector, which counts what it sends."""

    statements = 1  # SET NAMES, when it connects

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        """See pymysql."""
        self.statements += 1
        return super().query(sql, unbuffered)


def connect(address: Address) -> Counting:
    """
    Connect with limits of time, for reading only; nothing that is asked waits for a lock.

    Raises:
        Exception: Whatever the driver has; see `explain`.
    """
    options = address.options
    context = _context(address)
    connection = Counting(
        host=address.host or "localhost",
        port=address.port,
        user=address.user or "walltime",
        password=address.password,
        unix_socket=options.get("socket") or None,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=CONNECT_S,
        read_timeout=ANSWER_S,
        write_timeout=ANSWER_S,
        program_name="walltime-collector",
        ssl=context,
        ssl_disabled=options.get("tls") == "off" or "socket" in options,
    )
    try:
        is_mariadb = "MariaDB" in connection.get_server_info()  # type: ignore[no-untyped-call]
        longest = f"max_statement_time = {_STATEMENT_S}" if is_mariadb else f"max_execution_time = {_STATEMENT_S}000"
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET SESSION {longest}, lock_wait_timeout = 1, innodb_lock_wait_timeout = 1,"
                f" long_query_time = {_OFF}, time_zone = '+00:00', sql_mode = ''"
            )
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
    except BaseException:
        connection.close()
        raise
    return connection


def check(address: Address, setting: str) -> None:
    """
    Look at the options of an address before a thread uses it.

    Raises:
        SettingsRefused: `tls` is none of its values, or a file cannot be used.
    """
    tls = address.options.get("tls", "preferred")
    if tls not in _TLS:
        raise SettingsRefused(f"{setting} {address.name}: tls is one of {', '.join(_TLS)}, not {tls!r}")
    try:
        _context(address)
    except (OSError, ValueError) as error:
        raise SettingsRefused(f"{setting} {address.name}: ca, cert or key cannot be used: {error}") from error


def _context(address: Address) -> ssl.SSLContext | None:
    """None: TLS where the server has it, its certificate not verified, as clients of MySQL do by default."""
    options = address.options
    tls = options.get("tls") or ("verify" if "ca" in options else "required" if "cert" in options else "preferred")
    if tls in ("off", "preferred"):
        return None
    context = ssl.create_default_context(cafile=options.get("ca"))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the authority that MySQL makes by itself has no key usage
    context.check_hostname = tls == "verify"
    if tls == "required":
        context.verify_mode = ssl.CERT_NONE
    if cert := options.get("cert"):
        context.load_cert_chain(cert, options.get("key"))
    return context


def explain(error: Exception) -> str:
    """What an error of a connection means and what to do, without values of a statement; empty: another error."""
    cause: object = getattr(error, "original_exception", error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is refused ({cause.verify_message}): check ca, or write tls=verify_ca for another name"
    if isinstance(cause, ssl.SSLError):
        return f"TLS with the server failed: {cause.reason or 'it does not understand'}; check tls, cert and key"
    if isinstance(cause, socket.gaierror):
        return "the name of its host is unknown here: check the address"
    if isinstance(cause, ConnectionRefusedError | FileNotFoundError):
        return "connection refused: check that the server runs, and the port or the socket of its address"
    if isinstance(cause, TimeoutError):
        return f"it did not answer within {CONNECT_S} s: check the address and the firewall"
    if isinstance(cause, OSError):
        return cause.strerror or str(cause)
    if not isinstance(error, pymysql.MySQLError):
        return ""
    code: Any = error.args[0] if error.args else 0
    if not isinstance(code, int):
        return "what answers there speaks another protocol, and is no MySQL server: check the address"
    if code == CR.CR_SERVER_LOST and "timed out" in str(error):
        return f"it did not answer within {ANSWER_S} s"
    if code in _MEANINGS:
        return f"{_MEANINGS[code]} (error {code})"
    return f"{type(error).__name__} {code or ''}".rstrip()
