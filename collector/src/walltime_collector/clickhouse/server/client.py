"""Connects to a ClickHouse server over HTTP or HTTPS, and builds the bodies of INSERTs."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import clickhouse_connect
import urllib3
from clickhouse_connect.driver.client import Client

from ...errors import SettingsRefused
from ...zstd import zstd
from ..engine import Piece

CONNECT_TIMEOUT_S = 5
Compression = Literal["none", "gzip", "zstd"]


@dataclass(frozen=True)
class ClientTls:
    """
    The CA to trust and the client certificate to show, for an https address; None: the machine's CAs, no certificate.

    Raises:
        SettingsRefused: A file cannot be used.
    """

    ca: Path | None = None
    verify: bool = True
    certificate: Path | None = None
    key: Path | None = None
    where: str = "WALLTIME_CLICKHOUSE_CA, …_CERTIFICATE, …_KEY"
    """The settings of the files, for a message."""

    def __post_init__(self) -> None:
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                # without the callback OpenSSL would ask the terminal for the password of an encrypted key, and wait
                context.load_cert_chain(self.certificate, self.key, password=lambda: b"")
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(str(each) for each in (self.ca, self.certificate, self.key) if each is not None)
            raise SettingsRefused(
                f"{self.where}: cannot be used: {error}: {files}; they are PEM files that the collector's user may read"
            ) from error


def connect(url: str, *, user: str, password: str, timeout_s: int, tls: ClientTls) -> Client:
    """A client of the server at `url`, which has answered once; raises whatever the network and the client raise."""
    parts = urlsplit(url)
    options: dict[str, Any] = {}
    if parts.scheme == "https":
        if not tls.verify:  # a setting demands it; one warning per request would be too many
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        options = {
            "verify": tls.verify,
            "ca_cert": tls.ca and str(tls.ca),
            "client_cert": tls.certificate and str(tls.certificate),
            "client_cert_key": tls.key and str(tls.key),
            # without a password the certificate is the authentication; with one it is needed besides
            "tls_mode": tls.certificate and ("strict" if password else "mutual"),
        }
    return clickhouse_connect.get_client(
        interface=parts.scheme,
        host=parts.hostname,
        port=parts.port or (8443 if parts.scheme == "https" else 8123),
        proxy_path=parts.path,
        username=user,
        password=password,
        client_name="walltime",
        compress=False,
        show_clickhouse_errors="scrub",  # without the server's version and the request's URL
        connect_timeout=CONNECT_TIMEOUT_S,
        send_receive_timeout=timeout_s,
        autogenerate_session_id=False,  # a session runs one statement at a time
        dedicated_pool=True,
        # the client's own defaults would read dates and casts otherwise than the embedded engine does
        settings={"date_time_input_format": "basic", "cast_string_to_dynamic_use_inference": "0"},
        **options,
    )


def address(url: str, where: str = "--clickhouse") -> str:
    """
    The URL without a slash at its end.

    Args:
        where: The setting of the URL, for a message.

    Raises:
        SettingsRefused: It is not the address of a ClickHouse server, or it contains a user, settings or a fragment.
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port beyond 65535, half an IPv6 address
        is_address = False
    if not is_address:
        raise SettingsRefused(
            f"{where} {url.rpartition('@')[2]}: not an address; write http://host:8123 or https://host:8443"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SettingsRefused(
            f"{where} {parts.scheme}://…{parts.hostname}: an address has neither user nor settings in it; "
            "give WALLTIME_CLICKHOUSE_USER and WALLTIME_CLICKHOUSE_PASSWORD or WALLTIME_CLICKHOUSE_PASSWORD_FILE"
        )
    return url.rstrip("/")


def body(statement: str, content: Iterable[Piece], compression: Compression) -> bytes:
    """
    The body of an INSERT: statement, newline, data; compressed as a whole.

    The statement is not in the URL: there, ClickHouse would take a newline as the first byte of the data for its end.
    """
    pieces = chain([f"{statement}\n".encode()], content)
    if compression == "none":
        return b"".join(pieces)
    packer: Any = zlib.compressobj(1, wbits=31) if compression == "gzip" else zstd.ZstdCompressor(1)
    return b"".join([*(packer.compress(piece) for piece in pieces), packer.flush()])
