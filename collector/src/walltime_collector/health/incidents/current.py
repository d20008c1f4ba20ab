"""An incident while it is open: what changed, since when, and when it is over."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...format import unix_ns
from ...query.incidents.answer import Change, Ending, Incident, Severity
from ...query.incidents.chance import Usual
from ...query.incidents.history import FEWEST, Piece, Series
from ...query.incidents.looks import KindName, Looks
from ...query.incidents.wording import of_changes
from ...query.windows import Window

CALM_LOOKS = 4
"""After so many looks in which nothing of it is changed it is over."""
SILENT_S = 900
"""After so many seconds without transactions too."""
LASTING_S = 86_400
_CRITICAL_SLOWER = 3.0
_CRITICAL_ERRORS = 0.25
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
    headline: str = ""
    sentences: tuple[str, ...] = ()
    usual: Window = field(default_factory=lambda: Window(0, 0))
    """What the explanation compares it with."""
    explained_s: int = 0
    """When it was explained last; 0: not yet."""
    calm_looks: int = 0
    seen_s: int = 0
    """When it last had transactions."""

    @property
    def id(self) -> str:
        """The same for every collector that sees it begin."""
        text = "\0".join((*self.kind, str(self.started_s)))
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()

    @property
    def is_open(self) -> bool:
        return not self.ended_because

    def look(self, now_s: int, window: Piece | None, changed: Mapping[Series, Usual], looks: Looks) -> None:
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
        for series, usual in changed.items():
            self.changes.setdefault(series, _change(series, usual.level))
        values = {series: window.judged(series) for series in self.changes}
        is_calm = not any(
            looks.is_still_changed(series, window, _level(change)) for series, change in self.changes.items()
        )
        if not is_calm:
            for series, (tries, total) in values.items():
                if tries:
                    self.changes[series] = _updated(self.changes[series], total / tries)
        if is_calm:
            self.calm_looks += 1
        else:
            self.calm_looks, self.ended_s = 0, now_s
        self._judge_severity()
        if self.calm_looks >= CALM_LOOKS:
            self.ended_because = "over"
        if not self.sentences:
            self.headline = of_changes(self.kind.name, self.sorted_changes())

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
            "collector": collector,
        }

    def _judge_severity(self) -> None:
        for each in self.changes.values():
            is_slow = each.measure == "time" and each.worst >= _CRITICAL_SLOWER * each.usual
            if is_slow or (each.measure == "errors" and each.worst - each.usual >= _CRITICAL_ERRORS):
                self.severity = "critical"


def adopted(incident: Incident, now_s: int) -> Current:
    """
    An incident that is stored as open, by this collector before it was restarted or by another one.

    Whether the kind had transactions meanwhile is not known, so its silence begins now.
    """
    started_s, opened_s, ended_s = (
        unix_ns(at) // _S for at in (incident.started_at, incident.opened_at, incident.ended_at)
    )
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
        explained_s=ended_s,
        seen_s=now_s,
    )


def _change(series: Series, level: float) -> Change:
    shown = 1 - level if series.measure == "hit_ratio" else level
    return Change(*series, usual=shown, now=shown, worst=shown)


def _level(change: Change) -> float:
    """What is usual as looks measure it: of a hit ratio, the share of misses."""
    return 1 - change.usual if change.measure == "hit_ratio" else change.usual


def _updated(change: Change, value: float) -> Change:
    is_ratio = change.measure == "hit_ratio"
    now = 1 - value if is_ratio else value
    return replace(change, now=now, worst=(min if is_ratio else max)(change.worst, now))
