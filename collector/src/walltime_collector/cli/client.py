"""HTTP client of the commands; every failure becomes one sentence that says what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from ..errors import CommandFailed, UsageError
from ..format import printable

if TYPE_CHECKING:
    from http.client import HTTPConnection

TIMEOUT_S = 60.0
MAX_RESPONSE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Client:
    """
    Sends requests to the collector at `url`.

    Args:
        token: The read token, or the admin token for changes; empty: none is sent.
        certificate: PEM file of the client certificate and its key, for a collector that requires one.

    Raises:
        ValueError: `url` is not an http(s) address.
    """

    url: str
    token: str = field(default="", repr=False)
    certificate: Path | None = None

    def __post_init__(self) -> None:
        _parse(self.url)

    def page(self, path: str) -> str:
        """The address of a page of the collector for a browser; without user and password, if the URL has them."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}{path}"

    def get(self, path: str, **params: str | int) -> Any:
        """
        Return the JSON document at `path`.

        Raises:
            CommandFailed: No response, not a collector, or an error response; UsageError when the request is invalid.
        """
        query = urlencode({name: value for name, value in params.items() if value != ""}, errors="replace")
        return self._exchange("GET", f"{path}?{query}")

    def post(self, path: str, document: Mapping[str, Any]) -> Any:
        """Send a JSON document to `path`; otherwise like `get`."""
        return self._exchange("POST", path, json.dumps(document).encode())

    def send_otlp(self, url: str, body: bytes, token: str) -> tuple[int, bytes]:
        """
        Send an OTLP request in protobuf; return the status and body of the response.

        Raises:
            ValueError: `url` is not an http(s) address.
            CommandFailed: No response.
        """
        headers = {"Content-Type": "application/x-protobuf"} | _bearer(token)
        advice = "see the line `ready` of walltime serve, or use --otlp"
        return self._send(url, "POST", "", body, headers, f"no OTLP receiver answers at {url}", advice)

    def _exchange(self, method: str, path: str, body: bytes | None = None) -> Any:
        headers = {"Accept": "application/json"} | _bearer(self.token)
        if body is not None:
            headers["Content-Type"] = "application/json"
        what, advice = (
            f"no collector answers at {self.url}",
            "start `walltime serve`, or set another address with --url",
        )
        status, content = self._send(self.url, method, path, body, headers, what, advice)
        not_walltime = f"the server at {self.url} is not a Walltime collector (HTTP {status}); check --url"
        try:
            document = json.loads(content)
        except ValueError as error:
            raise CommandFailed(not_walltime) from error
        if status == 200:
            return document
        problem = document.get("error") if isinstance(document, dict) else None
        if not isinstance(problem, dict):
            raise CommandFailed(not_walltime)
        message = printable("; ".join(str(problem[part]) for part in ("what", "what_now") if problem.get(part)))
        raise UsageError(message) if _is_usage_error(status, problem.get("where")) else CommandFailed(message)

    def _send(
        self, url: str, method: str, path: str, body: bytes | None, headers: dict[str, str], what: str, advice: str
    ) -> tuple[int, bytes]:
        from http.client import HTTPException

        address = _parse(url)
        connection = self._connect(address)
        try:
            connection.request(method, address.path + path, body, headers)
            response = connection.getresponse()
            return response.status, response.read(MAX_RESPONSE_BYTES)
        except TimeoutError as error:
            raise CommandFailed(f"no response from {url} within {TIMEOUT_S:.0f} s; see /healthz there") from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise CommandFailed(f"{what} ({printable(reason)}); {advice}") from error
        finally:
            connection.close()

    def _connect(self, address: _Address) -> HTTPConnection:
        """Over TLS, trust the system's certificate authorities, or those in SSL_CERT_FILE."""
        import ssl
        from http.client import HTTPConnection, HTTPSConnection

        if address.scheme == "http":
            return HTTPConnection(address.host, address.port, timeout=TIMEOUT_S)
        context = ssl.create_default_context()
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, password=lambda: b"")
            except OSError as error:  # ssl.SSLError is one
                raise CommandFailed(f"{self.certificate}: not a certificate with its key: {error.strerror}") from error
        return HTTPSConnection(address.host, address.port, timeout=TIMEOUT_S, context=context)


class _Address(NamedTuple):
    scheme: str
    host: str
    port: int | None
    path: str


def _parse(url: str) -> _Address:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and url.isascii() and url.isprintable():
            return _Address(parts.scheme, parts.hostname, parts.port, parts.path.rstrip("/"))
    except ValueError:
        pass  # invalid brackets or port
    raise ValueError(f"{printable(url)!r} is not the address of a collector; write it like http://127.0.0.1:8464")


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _is_usage_error(status: int, where: object) -> bool:
    """Whether the request itself is wrong: a parameter or a statement, and not its size or a missing permission."""
    return (status == 400 and where != "limit") or (status == 403 and where == "sql")
