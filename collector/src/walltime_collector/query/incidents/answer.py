"""The typed answer about incidents: what the API sends as JSON and the command reads back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...format import unix_ns
from ..windows import Window

Measure = Literal["time", "errors", "calls", "hit_ratio"]
Severity = Literal["warning", "critical"]
Ending = Literal["", "over", "silent", "lasting"]
"""over: as usual again. silent: the kind has no transactions any more. lasting: after a day it is the new usual."""


@dataclass(frozen=True)
class Change:
    """What changed: nanoseconds per transaction, a share of 0 to 1 (errors, hit_ratio), or calls per transaction."""

    measure: Measure
    component: str
    """Of `calls` and `hit_ratio`; empty otherwise."""
    address: str
    """The server of `hit_ratio`; empty otherwise."""
    usual: float
    now: float
    """Of the whole incident, as the explanation has it."""
    worst: float
    """Of two looks running, or of an explanation."""


@dataclass(frozen=True)
class Incident:
    """A time in which a kind was not as usual."""

    id: str
    service: str
    name: str
    started_at: str
    opened_at: str
    """When the collector noticed it."""
    ended_at: str
    """While it is open: when it was last seen."""
    is_open: bool
    ended_because: Ending
    severity: Severity
    headline: str
    sentences: tuple[str, ...]
    """The explanation of `why`, the headline first, after what it cannot say; only what changed without an answer."""
    changes: tuple[Change, ...]
    usual_since: str
    usual_until: str
    """The explanation compares the incident with this time."""
    explained_at: str
    """When the sentences and the numbers of the changes were computed; empty before the first explanation."""

    @property
    def window(self) -> Window:
        """The time that the explanation is about."""
        return Window(unix_ns(self.started_at), unix_ns(self.ended_at))

    @property
    def usual(self) -> Window:
        """The time that it is compared with."""
        return Window(unix_ns(self.usual_since), unix_ns(self.usual_until))


@dataclass(frozen=True)
class Incidents:
    """Those that were open at any time of a window: first the open ones, then the newest."""

    since: str
    until: str
    open: int
    all: int
    """`open` and `all` count those that the limit leaves out too."""
    incidents: tuple[Incident, ...]
