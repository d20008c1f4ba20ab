"""Reads the address of a view: the names in its path, the window and the filters in its query parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import unquote

from starlette.requests import Request

from ..clickhouse.engine import Engine
from ..errors import BadParameter
from ..format import quoted
from ..health.counters import Health
from ..health.status import Status
from ..http.authentication import Access
from ..query.sampled import sampled
from ..query.scope import FILTERS, Filters, Scope
from ..query.windows import Window, window
from ..spool.dead_letters import Letter
from ..sql.tables import Tables
from .shared_answers import Explanations, SharedAnswers

DEFAULT_TIME = "last 1h"
SCOPE_PARAMS: Mapping[str, str] = {"time": DEFAULT_TIME, "during": "", "against": "", **dict.fromkeys(FILTERS, "")}
"""What every view accepts, with the defaults."""
_MAX_VALUE_CHARS = 2_000

MayChange = Literal["everybody", "admin", "nobody"]
"""admin: with the admin token only. nobody: there is a read token and no admin token."""


@dataclass(frozen=True)
class Sources:
    """Where views get their answers from."""

    engine: Engine
    health: Health
    status: Callable[[], Status]
    dead_letters: Callable[[], list[Letter]]
    tables: Tables
    """That people can query."""
    explanations: Explanations
    """Shared with the API."""
    minutely: SharedAnswers[Any] = field(default_factory=lambda: SharedAnswers(4))
    """Answers that are computed at most once a minute."""
    access: Access = field(kw_only=True)
    """Who may change something, and see paths, addresses and messages of the database."""


@dataclass(frozen=True)
class PageRequest:
    """What a view is asked for."""

    sources: Sources
    now_ns: int
    path: Mapping[str, str]
    """The names in the path, decoded."""
    params: Mapping[str, str]
    """All parameters of the view as they are written, with the defaults of those that are missing."""
    scope: Scope
    """`time` and the filters: what the charts show."""
    selected: Scope
    """What everything below the charts is about: the selected part, or else the whole scope."""
    during: Window | None
    """The part of it that was selected in a chart."""
    is_admin: bool = False
    """Whether paths, addresses and messages of the database may be shown."""

    @property
    def engine(self) -> Engine:
        """Shorthand."""
        return self.sources.engine

    def sampled(self, **filters: str) -> PageRequest:
        """The same with more filters; with whole minutes, or samples, where very many transactions would be read."""
        several = replace(self.scope.filters, **filters)
        whole = replace(self.scope, filters=several)
        scope = whole.in_whole_minutes() if whole.is_in_minutes else sampled(self.engine, whole)
        selected = scope if self.during is None else sampled(self.engine, replace(self.selected, filters=several))
        return replace(self, scope=scope, selected=selected)

    @property
    def against(self) -> Window | None:
        """What the selected part is compared with: `against`, or the longer part of `time` before or after it."""
        if self.during is None:
            return None
        if self.params["against"]:
            return window("against", self.params["against"], self.now_ns)
        whole = self.scope.window
        before = Window(min(whole.start_ns, self.during.start_ns), self.during.start_ns)
        after = Window(self.during.end_ns, max(whole.end_ns, self.during.end_ns))
        longest = max(before, after, key=lambda each: each.end_ns - each.start_ns)
        return longest if longest.start_ns < longest.end_ns else None


def read(
    request: Request,
    sources: Sources,
    *,
    path: Mapping[str, str],
    own_params: Mapping[str, str],
    now_ns: int,
    is_admin: bool,
) -> PageRequest:
    """
    Read the parameters of a view.

    Args:
        own_params: Those that only this view has, with their defaults.

    Raises:
        BadParameter: One of them cannot be understood.
    """
    defaults = {**SCOPE_PARAMS, **own_params}
    given = {name: value for name, value in request.query_params.items() if value.strip()}
    if unknown := [name for name in request.query_params if name not in defaults]:
        raise BadParameter(quoted(unknown[0]), "there is no such parameter", f"use {', '.join(defaults)}")
    if too_long := [name for name in SCOPE_PARAMS if len(given.get(name, "")) > _MAX_VALUE_CHARS]:
        raise BadParameter(too_long[0], "it is too long", f"use at most {_MAX_VALUE_CHARS:,} characters")
    params = {**defaults, **given}
    if params["time"].strip()[0].isdigit() and ".." not in params["time"]:  # `2h`, as on the buttons beside the field
        params["time"] = f"last {params['time']}"
    filters = Filters(**{name: params[name] for name in FILTERS})
    filters.check()
    during = window("during", params["during"], now_ns) if params["during"] else None
    scope = Scope(window("time", params["time"], now_ns), filters)
    selected = scope if during is None else replace(scope, window=during)
    return PageRequest(sources, now_ns, path, params, scope, selected, during, is_admin)


def path_names(pattern: str, raw_path: bytes) -> dict[str, str] | None:
    """
    The names in a path, or None when it does not have this pattern (`/kinds/{service}/{name}`).

    Each is decoded by itself, so that a name may contain `/`: as `%2F`.
    """
    expected, segments = pattern.split("/"), raw_path.decode("latin-1").split("/")
    if len(expected) != len(segments):
        return None
    names = {}
    for name, segment in zip(expected, segments, strict=True):
        if name.startswith("{"):
            text = unquote(segment)
            names[name[1:-1]] = text.replace("%2E", ".") if text in ("%2E", "%2E%2E") else text
        elif name != segment:
            return None
    return names


def may_change(access: Access) -> MayChange:
    """Who may send what changes something, or asks a server."""
    if access.is_admin_possible:
        return "everybody" if access.admin.is_unset else "admin"
    return "nobody"
