"""An incident while it is open: what changed, since when, and when it is over."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ...format import unix_ns
from ...query.incidents.answer import Change, Ending, Incident, Severity
from ...query.incidents.history import FEWEST, Piece, Series
from ...query.incidents.looks import KindName, Looks, Suspect
from ...query.incidents.wording import of_changes
from ...query.windows import Window

CALM_LOOKS = 4
"""After so many looks in which nothing of it is changed it is over."""
SILENT_S = 900
"""After so many seconds without transactions too."""
LASTING_S = 86_400
_CRITICAL_SLOWER = 3.0
_CRITICAL_ERRORS = 0.25
_MUCH_WORSE = 1.25
"""Than the worst so far: a multiple of its distance from the usual."""
_S = 1_000_000_000


@dataclass
class Current:
    """One open incident; see answer.Incident."""

    kind: KindName
    started_s: int
    opened_s: int
    ended_s: int
    """When it was last seen."""
    severity: Severity = "warning"
    ended_because: Ending = ""
    changes: dict[Series, Change] = field(default_factory=dict)
    levels: dict[Series, float] = field(default_factory=dict)
    """What is usual as looks measure it; `changes` have the numbers of the explanation."""
    headline: str = ""
    sentences: tuple[str, ...] = ()
    usual: Window = field(default_factory=lambda: Window(0, 0))
    """What the explanation compares it with."""
    explained_s: int = 0
    """When it was explained last; 0: not yet."""
    due_s: int = 0
    """When it is explained next."""
    calm_looks: int = 0
    seen_s: int = 0
    """When it last had transactions."""
    stored_s: int = 0
    told: Severity | Literal[""] = ""
    """The severity in messages; empty before the first one."""

    @property
    def id(self) -> str:
        """The same for every collector that sees it begin."""
        text = "\0".join((*self.kind, str(self.started_s)))
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()

    @property
    def is_open(self) -> bool:
        return not self.ended_because

    def look(self, now_s: int, window: Piece | None, looks: Looks) -> None:
        """Take what a look saw of the kind; without a window it had no transactions."""
        if now_s - self.started_s >= LASTING_S:
            self.ended_because = "lasting"
        if window is None:
            if now_s - self.seen_s >= SILENT_S:
                self.ended_because = "silent"
            return
        self.seen_s = now_s
        if window.transactions < FEWEST:
            return
        levels = {series: _shown(series, change.usual) for series, change in self.changes.items()} | self.levels
        if any(looks.is_over(series, window, level, 0.5) for series, level in levels.items()):
            self.calm_looks, self.ended_s = 0, now_s
        else:
            self.calm_looks += 1
        if self.calm_looks >= CALM_LOOKS:
            self.ended_because = "over"

    def is_news(self, suspect: Suspect) -> bool:
        """Whether more seems to have changed, or something seems much worse than it was."""
        for series in suspect.changed:
            tries, total = suspect.window.sample(series)
            change = self.changes.get(series)
            if change is None or (tries and _is_much_worse(change, _shown(series, total / tries))):
                return True
        return False

    def take(self, suspect: Suspect, confirmed: Mapping[Series, float]) -> None:
        """Take what the transactions confirm of a look; it is explained again."""
        for series, value in confirmed.items():
            level, now = suspect.changed[series].level, _shown(series, value)
            self.levels.setdefault(series, level)
            usual = _shown(series, level)
            self.changes.setdefault(series, Change(*series, usual=usual, now=now, worst=now))
            self._worsen(series, now)
            self.due_s = 0
        if not self.sentences:
            self.headline = of_changes(self.kind.name, self.sorted_changes())

    def explained(self, series: Series, usual: float, now: float) -> None:
        """Take the usual and the present number of a change from an explanation."""
        self.changes[series] = replace(self.changes[series], usual=usual, now=now)
        self._worsen(series, now)

    def _worsen(self, series: Series, now: float) -> None:
        change = self.changes[series]
        worst = (min if series.measure == "hit_ratio" else max)(change.worst, now)
        self.changes[series] = replace(change, worst=worst)
        is_slow = series.measure == "time" and worst >= _CRITICAL_SLOWER * change.usual
        if is_slow or (series.measure == "errors" and worst - change.usual >= _CRITICAL_ERRORS):
            self.severity = "critical"

    def sorted_changes(self) -> tuple[Change, ...]:
        """Time and errors first."""
        order = {"time": 0, "errors": 1, "hit_ratio": 2, "calls": 3}
        return tuple(sorted(self.changes.values(), key=lambda each: (order[each.measure], each.component)))

    def row(self, collector: str, now_s: float) -> dict[str, Any]:
        """The row of the table."""
        changes = self.sorted_changes()
        names = ("measure", "component", "address", "usual", "now", "worst")
        return {
            "id": self.id,
            "started_at": self.started_s,
            "opened_at": self.opened_s,
            "ended_at": self.ended_s,
            "updated_at": round(now_s * 1000) / 1000,
            "is_open": self.is_open,
            "ended_because": self.ended_because,
            "service": self.kind.service,
            "name": self.kind.name,
            "severity": self.severity,
            "headline": self.headline,
            "sentences": self.sentences or (self.headline,),
            **{f"change.{name}": [getattr(each, name) for each in changes] for name in names},
            "usual_since": self.usual.start_ns // _S,
            "usual_until": self.usual.end_ns // _S,
            "explained_at": self.explained_s,
            "collector": collector,
        }


def adopted(incident: Incident, now_s: int) -> Current:
    """
    An incident that is stored as open, by this collector before it was restarted or by another one.

    Whether the kind had transactions meanwhile is not known, so its silence begins now.
    """
    times = (incident.started_at, incident.opened_at, incident.ended_at, incident.explained_at)
    started_s, opened_s, ended_s, explained_s = (unix_ns(at) // _S if at else 0 for at in times)
    return Current(
        KindName(incident.service, incident.name),
        started_s,
        opened_s,
        ended_s,
        severity=incident.severity,
        changes={Series(each.measure, each.component, each.address): each for each in incident.changes},
        headline=incident.headline,
        sentences=incident.sentences,
        usual=incident.usual,
        explained_s=explained_s,
        due_s=now_s,
        seen_s=now_s,
        told=incident.severity,
    )


def _shown(series: Series, value: float) -> float:
    """Looks measure misses; people read hits. The same the other way."""
    return 1 - value if series.measure == "hit_ratio" else value


def _is_much_worse(change: Change, value: float) -> bool:
    return abs(value - change.usual) > _MUCH_WORSE * abs(change.worst - change.usual)
