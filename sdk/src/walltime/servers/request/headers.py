"""The request headers that Walltime reads, under their WSGI names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from walltime.propagation import propagation
from walltime.propagation.propagators import get_global_textmap
from walltime.servers.request import forced
from walltime.servers.request.queue_time import STAMPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from opentelemetry.context import Context

_propagator: object = None
_carriers: tuple[str, ...] = ()
_all: frozenset[str] = frozenset()
_of_asgi: dict[bytes, str] = {}
_of_mapping: list[tuple[str, str]] = []


def _update() -> None:
    """Read the names of the trace headers from OpenTelemetry's global propagator (OTEL_PROPAGATORS)."""
    global _propagator, _carriers, _all, _of_asgi, _of_mapping  # noqa: PLW0603
    propagator = get_global_textmap()
    headers = sorted(field.lower() for field in propagator.fields)
    _carriers = tuple(["HTTP_" + header.upper().replace("-", "_") for header in headers])
    headers += [name[5:].lower().replace("_", "-") for name in (*STAMPS, forced.HEADER) if name.startswith("HTTP_")]
    _of_mapping = [(header, "HTTP_" + header.upper().replace("-", "_")) for header in headers]
    _of_asgi = {header.encode(): name for header, name in _of_mapping}
    _all = frozenset((*_carriers, *STAMPS, forced.HEADER))
    _propagator = propagator


def has_any(headers: Mapping[str, Any]) -> bool:
    """Say whether any of these headers is present: most requests have none."""
    if get_global_textmap() is not _propagator:
        _update()
    return not headers.keys().isdisjoint(_all)  # looks up each of `_all` in the headers


def caller(headers: Mapping[str, Any]) -> Context | None:
    """Return OpenTelemetry's context from the caller's headers, or None without any."""
    if get_global_textmap() is not _propagator:
        _update()
    for name in _carriers:
        if name in headers:
            return propagation.extract(headers)
    return None


def from_asgi(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return these headers of an ASGI scope; several of one name are joined with commas."""
    if get_global_textmap() is not _propagator:
        _update()
    wanted = _of_asgi
    present: dict[str, str] = {}
    for header, value in pairs:
        if header in wanted:
            name = wanted[header]
            text = value.decode("latin-1")
            joined = present.get(name)
            if joined is None:
                present[name] = text
            elif len(joined) <= propagation.MAX_HEADER_CHARS:  # no more is read, and to join all would be quadratic
                present[name] = f"{joined},{text}"
    return present


def from_mapping(headers: Mapping[str, str]) -> dict[str, str]:
    """Return these headers of a mapping that ignores case or is in lower case."""
    if get_global_textmap() is not _propagator:
        _update()
    return {name: headers[header] for header, name in _of_mapping if header in headers}
