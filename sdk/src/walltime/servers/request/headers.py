"""The few request headers Walltime reads, under the names WSGI gives them, whichever way a server has them."""

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
    """Which headers there are is OpenTelemetry's global propagator's to say (OTEL_PROPAGATORS)."""
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
    """Say whether any of them is one that is read: most requests of most services have none."""
    if get_global_textmap() is not _propagator:
        _update()
    return not headers.keys().isdisjoint(_all)  # looks for each of the few among the many, not the other way round


def caller(headers: Mapping[str, Any]) -> Context | None:
    """Return OpenTelemetry's context as the caller's headers say it, or None when they say nothing."""
    if get_global_textmap() is not _propagator:
        _update()
    for name in _carriers:
        if name in headers:
            return propagation.extract(headers)
    return None


def from_asgi(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Pick them from an ASGI scope's headers, of which several of one name are one with commas."""
    if get_global_textmap() is not _propagator:
        _update()
    wanted = _of_asgi
    found: dict[str, str] = {}
    for header, value in pairs:
        if header in wanted:
            name = wanted[header]
            text = value.decode("latin-1")
            found[name] = f"{found[name]},{text}" if name in found else text
    return found


def from_mapping(headers: Mapping[str, str]) -> dict[str, str]:
    """Pick them from a mapping that ignores case, or that has them in lower case."""
    if get_global_textmap() is not _propagator:
        _update()
    return {name: headers[header] for header, name in _of_mapping if header in headers}
