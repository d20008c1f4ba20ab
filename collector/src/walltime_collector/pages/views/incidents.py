"""Incidents: open and recent ones, and one with its explanation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...errors import BadParameter
from ...format import since_s
from ...query import other_side
from ...query.incidents.answer import Incident, Incidents
from ...query.incidents.stored import incident as stored_incident
from ...query.incidents.stored import incidents as stored_incidents
from ...query.other_side import ServerEvent
from ...query.other_side import events as happened
from ...query.windows import Window
from ..request import PageRequest

PARAMS = {"since": "7d"}
_MOST = 200
_MOST_MARKS = 20
_MARKED = ("restarted", "replaced", "flushed", "failover", "evicting", "connection_limit", "plan_changed")
"""What is rare, and changes what all feel."""
_FREQUENT = ("saving", "slow_command", "deadlock")
_MOST_OF_EACH = 3
_AROUND_NS = 3600 * 1_000_000_000


@dataclass(frozen=True)
class IncidentsPage:
    """The view model of the list."""

    answer: Incidents


@dataclass(frozen=True)
class IncidentPage:
    """The view model of one incident, with the windows of the kind's page that shows it."""

    incident: Incident
    time: Window
    """Around the incident and what it is compared with, where they are near each other."""
    now_ns: int
    """When the page asks `why` again."""


def marks(request: PageRequest) -> tuple[Incident, ...]:
    """What the charts mark: the incidents of their time, the open ones first, then the newest."""
    filters, window, most = request.scope.filters, request.scope.window, _MOST_MARKS
    return stored_incidents(request.engine, window, service=filters.service, kind=filters.kind, limit=most).incidents


def events(request: PageRequest, addresses: Collection[str] | None = None) -> tuple[ServerEvent, ...]:
    """
    What the charts mark as well: what happened on databases and caches in their time, the newest first.

    Args:
        addresses: Of these servers alone, as the bills name them; None: of all.
    """
    engine, window = request.engine, request.scope.window
    found = happened(engine, window, events=_MARKED)[::-1]
    if addresses is not None and found:
        known = other_side.servers(engine, window)
        servers = {other_side.meant(each, known) for each in addresses}
        found = tuple(each for each in found if each.server in servers)
    return found[:_MOST_MARKS]


def events_of_one(request: PageRequest, address: str) -> tuple[ServerEvent, ...]:
    """The same of one server, and of those events that may be very many the longest."""
    engine, window = request.engine, request.scope.window
    server = other_side.observed(engine, address, window)
    if server is None:
        return ()
    rare = happened(engine, window, [server], _MARKED)[-_MOST_MARKS:]
    frequent = sorted(happened(engine, window, [server], _FREQUENT), key=lambda each: each.start_ns - each.end_ns)
    longest = [each for name in _FREQUENT for each in [one for one in frequent if one.event == name][:_MOST_OF_EACH]]
    return tuple(sorted((*rare, *longest), key=lambda each: -each.start_ns))


def all_incidents(request: PageRequest) -> IncidentsPage:
    """Answer the view."""
    try:
        length_ns = since_s(request.params["since"]) * 1_000_000_000
    except ValueError as error:
        raise BadParameter("since", *str(error).split("; ", 1)) from error
    filters = request.scope.filters
    window = Window(request.now_ns - length_ns, request.now_ns)
    answer = stored_incidents(request.engine, window, service=filters.service, kind=filters.kind, limit=_MOST)
    return IncidentsPage(answer)


def one_incident(request: PageRequest) -> IncidentPage:
    """
    Answer the view.

    Raises:
        NotStored: There is no such incident.
    """
    incident = stored_incident(request.engine, request.path["id"])
    start_ns, end_ns = incident.window.start_ns - _AROUND_NS, incident.window.end_ns + _AROUND_NS // 4
    return IncidentPage(incident, Window(start_ns, min(end_ns, request.now_ns)), request.now_ns)
