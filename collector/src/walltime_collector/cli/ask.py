"""Asks the running collector over HTTP; every way this can fail becomes one sentence that says what to do."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from ..errors import AskedWrongly, NotAnswered
from ..format import printable

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Credentials:
    """
    What the collector may want to see.

    Args:
        token: The read token, or the admin token for what changes something.
        certificate: File (PEM) of our certificate and its key, for a collector that asks for one.
    """

    token: str = field(default="", repr=False)
    certificate: Path | None = None


credentials = Credentials()
"""Set once by the command line; without it the collector is asked as anybody."""
LONGEST_ANSWER_BYTES = 256 * 1024 * 1024


def ask(url: str, path: str, **parameters: str | int) -> Any:
    """
    GET `path` of the collector at `url` and return the JSON document.

    Raises:
        ValueError: `url` is not an http(s) address.
        NotAnswered: Nobody listens there, it is not a collector, or it says why it cannot answer; AskedWrongly when
            the question itself is the reason.
    """
    said = urlencode({key: value for key, value in parameters.items() if value != ""}, errors="replace")
    return _exchange(url, "GET", f"{path}?{said}", None)


def post(url: str, path: str, document: Mapping[str, Any]) -> Any:
    """POST a JSON document to `path`; otherwise like `ask`."""
    return _exchange(url, "POST", path, json.dumps(document).encode())


def send_otlp(url: str, body: bytes, token: str) -> tuple[int, bytes]:
    """
    POST an OTLP request in protobuf; the status and body of the answer, whatever it is.

    Raises:
        ValueError: `url` is not an http(s) address.
        NotAnswered: Nobody answers there.
    """
    scheme, host, port, path = _address(url)
    connection = _connection(scheme, host, port)
    headers = {"Content-Type": "application/x-protobuf"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        return response.status, response.read(LONGEST_ANSWER_BYTES)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotAnswered(
            f"nobody takes OTLP at {url} ({printable(reason)}); see the line `ready` of walltime serve, or use --otlp"
        ) from error
    finally:
        connection.close()


def _exchange(url: str, method: str, path: str, document: bytes | None) -> Any:
    scheme, host, port, base = _address(url)
    connection = _connection(scheme, host, port)
    try:
        headers = {"Accept": "application/json"}
        if document is not None:
            headers["Content-Type"] = "application/json"
        if credentials.token:
            headers["Authorization"] = f"Bearer {credentials.token}"
        connection.request(method, f"{base}{path}", document, headers)
        response = connection.getresponse()
        body = response.read(LONGEST_ANSWER_BYTES)
    except TimeoutError as error:
        raise NotAnswered(f"the collector at {url} did not answer in {TIMEOUT_S:.0f} s; see its /healthz") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotAnswered(
            f"no collector answers at {url} ({printable(reason)}); start `walltime serve`, or name another with --url"
        ) from error
    finally:
        connection.close()
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise NotAnswered(
            f"what answers at {url} is not a Walltime collector (HTTP {response.status}); give --url its web address"
        ) from error
    if response.status != http.client.OK:
        refusal = AskedWrongly if _is_asked_wrongly(answer, response.status) else NotAnswered
        raise refusal(_explained(answer, url, response.status))
    return answer


def _is_asked_wrongly(document: Any, status: int) -> bool:
    """Whether the fault is in the question: a parameter or a statement, not its size today nor who asks."""
    error = document.get("error") if isinstance(document, dict) else None
    where = error.get("where") if isinstance(error, dict) else ""
    return (status == http.client.BAD_REQUEST and where != "limit") or (
        status == http.client.FORBIDDEN and where == "sql"
    )


def _connection(scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    """Over TLS the collector must show a certificate of the system's authorities, or of those in SSL_CERT_FILE."""
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    context = ssl.create_default_context()
    if credentials.certificate is not None:
        try:
            context.load_cert_chain(credentials.certificate, password=lambda: b"")
        except OSError as error:  # ssl.SSLError is one
            raise NotAnswered(f"{credentials.certificate}: not a certificate with its key: {error.strerror}") from error
    return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)


def _address(url: str) -> tuple[str, str, int | None, str]:
    """Scheme, host, port and path of a collector's address."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and url.isascii() and url.isprintable():
            return parts.scheme, parts.hostname, parts.port, parts.path.rstrip("/")
    except ValueError:
        pass  # brackets or a port that are none
    raise ValueError(f"{printable(url)!r} is not the address of a collector; write it like http://127.0.0.1:8464")


def _explained(document: Any, url: str, status: int) -> str:
    said = document.get("error") if isinstance(document, dict) else None
    if not isinstance(said, dict):
        return f"what answers at {url} is not a Walltime collector (HTTP {status}); give --url its web address"
    return printable("; ".join(str(said[part]) for part in ("what", "what_now") if said.get(part)))
