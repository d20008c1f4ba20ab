"""Asks every module of this folder what the database or the cache of a cause says itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...finding import Finding
from ...reading import Reading
from ..cause import Cause
from . import caches, holders, keys, load, plans

_MODULES: Sequence[Callable[[Reading, Sequence[Cause]], list[Finding]]] = (
    caches.findings,
    holders.findings,
    plans.findings,
    load.findings,
)
"""Each explains these causes by what a server says: tested as any other claim, or an event, with evidence."""


def findings(reading: Reading, causes: Sequence[Cause]) -> list[Finding]:
    """
    What the servers behind these causes say, the most telling first, and which keys lost their hits.

    Only the latter when no server was ever observed.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    modules = _MODULES if causes and reading.is_observed else ()
    return [finding for module in (*modules, keys.findings) for finding in module(reading, causes)]
