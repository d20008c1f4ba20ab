"""The addresses of the views, from names: for the templates, the commands and the demo. The API's are in web/."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

Params = Mapping[str, str]
"""Query parameters as they are written; empty ones are left out."""
NONE: Params = {}


def overview(params: Params = NONE) -> str:
    """Response time, rate, errors, and the kinds that take the time."""
    return address("/", params)


def kind(service: str, name: str, params: Params = NONE) -> str:
    """One kind of transaction."""
    return address(f"/kinds/{_segment(service)}/{_segment(name)}", params)


def transaction(trace_id: str, params: Params = NONE) -> str:
    """All transactions of one trace."""
    return address(f"/transactions/{_segment(trace_id)}", params)


def transactions(params: Params = NONE) -> str:
    """Single transactions, by any condition."""
    return address("/transactions", params)


def diff(params: Params = NONE) -> str:
    """What is slower or faster in one time, version or condition than in another."""
    return address("/diff", params)


def servers(params: Params = NONE) -> str:
    """All servers that transactions called."""
    return address("/servers", params)


def server(component: str, server_address: str, params: Params = NONE) -> str:
    """One component on one server."""
    return address(f"/servers/{_segment(component)}/{_segment(server_address)}", params)


def statements(params: Params = NONE) -> str:
    """The statements that take the time."""
    return address("/statements", params)


def statement(fingerprint_id: str, params: Params = NONE) -> str:
    """One statement."""
    return address(f"/statements/{_segment(fingerprint_id)}", params)


def advice(params: Params = NONE) -> str:
    """What to change."""
    return address("/advice", params)


def incidents(params: Params = NONE) -> str:
    """Open and recent incidents."""
    return address("/incidents", params)


def incident(incident_id: str) -> str:
    """One incident."""
    return address(f"/incidents/{_segment(incident_id)}")


def collector() -> str:
    """Whether the collector works, and what it holds."""
    return address("/collector")


def address(path: str, params: Params = NONE) -> str:
    """A path of this server, already quoted, with query parameters."""
    query = urlencode({name: value for name, value in params.items() if value}, safe=":,.{}/")
    return f"{path}?{query}" if query else path


def _segment(text: str) -> str:
    """
    One segment of a path, whatever the text is.

    A browser resolves `.` and `..` also when they are percent-encoded, and `.json` at the end means another format: the
    dot is written twice encoded in the first case, and encoded in the second.
    """
    if text in (".", ".."):
        return text.replace(".", "%252E")
    quoted = quote(text, safe=":@,=~+")
    return quoted.removesuffix(".json") + "%2Ejson" if quoted.endswith(".json") else quoted
