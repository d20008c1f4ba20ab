"""What happened to a cache between two looks, as events; those that last are written again while they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone

from ...format import count, duration, plural, size
from ..events import TABLE, Event, event_row
from ..writer import Writer
from .counters import Counters

_SAME_START_S = 5.0
"""Clocks have whole seconds, and those of two machines differ."""
_AGAIN_S = 20.0
"""An event that goes on is written again after so long."""
_USUAL_S = 600.0
"""What is usual is the mean of about the last so many seconds."""
_SHORT_S = 5.0
"""And what is now, of so many."""
_STORM, _LEAST_RATE = 3.0, 1.0
"""A storm evicts so many times as much as usual, and at least so many items a second."""
_KEPT, _NEARLY_ALL, _FULL = 0.5, 0.9, 0.7


def clock(at_s: float) -> str:
    """`11:06:32 UTC`."""
    return f"{datetime.fromtimestamp(at_s, timezone.utc):%H:%M:%S} UTC"


class Lasting:
    """An event that lasts: from the first look that has it until `quiet_s` after the last one."""

    def __init__(self, event: Event, quiet_s: float, words: Callable[[Lasting, Counters], str]) -> None:
        self.event, self.words, self._quiet_s = event, words, quiet_s
        self.forget()

    def forget(self) -> None:
        """It is over."""
        self.began_s, self.last_s, self._written_s, self.number = 0.0, 0.0, 0.0, 0.0
        self.details: dict[str, str] = {}

    def look(self, at_s: float, over_s: float, number: float, details: Mapping[str, str]) -> bool:
        """Count what was between two looks; whether a row is due: it began, goes on for long, or is over."""
        if number:
            self.began_s = self.began_s or at_s - over_s
            self.last_s, self.number = at_s, self.number + number
            self.details.update(details)
        is_due = self.is_over(at_s) or at_s - self._written_s >= _AGAIN_S
        self._written_s = at_s if is_due and self.began_s else self._written_s
        return bool(self.began_s) and is_due

    def is_over(self, at_s: float) -> bool:
        """Whether it has not been for a while."""
        return at_s - self.last_s > self._quiet_s

    @property
    def when(self) -> str:
        """`from 11:06:32 UTC for 14 s`."""
        return f"at {clock(self.began_s)} for {duration((self.last_s - self.began_s) * 1e9)}"


class Happened:
    """Of one server."""

    def __init__(self, name: str, writer: Writer) -> None:
        self._name, self._writer = name, writer
        self._evicts = Lasting("evicting", 10.0, _of_evictions)
        self._refuses = Lasting("connection_limit", 10.0, _of_limit)
        self._saves = Lasting("saving", 0.5, _of_saving)
        self._usual_rate: float | None = None
        self._rate = 0.0

    def first(self, at_s: float, now: Counters, last_start_s: float | None) -> None:
        """The first look of this collector: has it started since the last look of another one?"""
        start_s = at_s - now.uptime_s
        if last_start_s is None:
            self._event(now, "started", f"was started at {clock(start_s)}{_with(now)}", start_s)
        elif start_s > last_start_s + _SAME_START_S:
            self._event(now, "restarted", f"was restarted at {clock(start_s)}{_with(now)}", start_s)

    def started(self, at_s: float, now: Counters, last_look_s: float, items: int) -> None:
        """Another process than in the last look answers: it is a new one, or was running elsewhere already."""
        start_s, details = at_s - now.uptime_s, {"items_before": str(items)}
        if start_s < last_look_s - _SAME_START_S:
            words = f"is another server since {clock(last_look_s)}, running since {clock(start_s)}"
            words += f", with {plural(now.items, 'item')} instead of {count(items)}"
            self._event(now, "replaced", words, last_look_s, number=items, details=details)
        else:
            words = f"was restarted at {clock(start_s)}{_with(now, items)}"
            self._event(now, "restarted", words, start_s, number=items, details=details)
        for each in (self._evicts, self._refuses, self._saves):
            each.forget()

    def between(self, at_s: float, over_s: float, before: Counters, now: Counters) -> None:
        """Two looks at one process."""
        if now.flushes > before.flushes:
            words = f"was emptied by a command at {clock(at_s)}: it had {plural(before.items, 'item')}"
            self._event(now, "flushed", words, at_s, number=before.items)
        if before.role != now.role:
            words = f"changed from {before.role} to {now.role} at {clock(at_s)}"
            self._event(now, "failover", words, at_s, details={"role": now.role})
        refused = now.refused_connections - before.refused_connections
        self._lasts(self._refuses, at_s, over_s, refused, now)
        # one that is shorter than the time between two looks has left its end
        saved = now.is_saving or now.saved_s != before.saved_s
        fork_ns = now.fork_ns if now.forks > before.forks else 0
        self._lasts(self._saves, at_s, over_s, over_s * saved, now, {"fork_ns": str(fork_ns)} if fork_ns else {})
        evicted = now.evictions - before.evictions
        is_storm = self._is_storm(evicted / over_s, over_s)
        self._lasts(self._evicts, at_s, over_s, evicted * is_storm, now, _slab(before, now) if evicted else {})

    def _is_storm(self, rate: float, over_s: float) -> bool:
        """Whether it evicts much more than usual."""
        self._rate += (rate - self._rate) * min(over_s / _SHORT_S, 1)
        usual = self._rate if self._usual_rate is None else self._usual_rate
        is_storm = rate >= _LEAST_RATE and self._rate >= max(_STORM * usual, _LEAST_RATE)
        self._usual_rate = usual if is_storm else usual + (rate - usual) * min(over_s / _USUAL_S, 1)
        return is_storm

    def _lasts(
        self, what: Lasting, at_s: float, over_s: float, number: float, now: Counters, details: Mapping[str, str] = {}
    ) -> None:
        if not what.look(at_s, over_s, number, details):
            return
        text, number = what.words(what, now), what.number
        self._event(now, what.event, text, what.began_s, what.last_s, number=number, details=what.details)
        if what.is_over(at_s):
            what.forget()

    def _event(
        self,
        now: Counters,
        event: Event,
        words: str,
        at_s: float,
        until_s: float = 0.0,
        *,
        number: float = 0.0,
        details: Mapping[str, str] | None = None,
    ) -> None:
        what = f"{self._name} {words}"
        row = event_row(self._name, now.system, event, what, at_s=at_s, until_s=until_s, number=number, details=details)
        self._writer.add(TABLE, [row])


def _with(now: Counters, before: int = 0) -> str:
    """What it had when it had started."""
    if now.loaded or (before and now.items >= _KEPT * before):
        return f" with {plural(now.loaded or now.items, 'item')} from its disk"
    return "" if now.loaded is None else " and was empty"


def _of_limit(what: Lasting, now: Counters) -> str:
    words = f"refused {plural(what.number, 'connection')} {what.when}: its limit is {count(now.max_connections)}"
    return words + ("" if now.system == "redis" else " (-c)")


def _of_saving(what: Lasting, now: Counters) -> str:
    fork = f"; the fork stopped it for {duration(int(what.details['fork_ns']))}" if "fork_ns" in what.details else ""
    return f"was saving to disk ({now.saving}) between {clock(what.began_s)[:8]} and {clock(what.last_s)}{fork}"


def _of_evictions(what: Lasting, now: Counters) -> str:
    words = f"evicted {plural(what.number, 'item')} {what.when}, with {size(now.bytes)} of {size(now.max_bytes)} used"
    return words + (f", nearly all of up to {what.details['slab']}" if "slab" in what.details else "")


def _slab(before: Counters, now: Counters) -> Mapping[str, str]:
    """The slab class that nearly all evictions are of, while others hold the memory."""
    added = {name: number - before.slabs.get(name, 0) for name, number in now.slabs.items()}
    most = max(added, key=lambda name: added[name], default="")
    is_one = most and added[most] >= _NEARLY_ALL * sum(added.values()) and now.bytes < _FULL * now.max_bytes
    return {"slab": most} if is_one else {}
