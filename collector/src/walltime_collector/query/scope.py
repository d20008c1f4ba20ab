"""What a question is about: a window of time and filters; every query of the pages takes it as bound parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from .windows import Window

_S = 1_000_000_000
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 604_800)
MOST_STEPS = 121
"""A window, widened to whole steps, has at most so many: an hour has 120 or 121 of 30 s."""
MINUTE_S = 60


@dataclass(frozen=True)
class Filters:
    """Which transactions; an empty text is any. All others must match exactly."""

    service: str = ""
    kind: str = ""
    host: str = ""
    version: str = ""
    environment: str = ""
    status: str = ""
    """`404`, `5xx`, or `failed`: those that failed, whatever their status."""
    user: str = ""
    annotation: str = ""
    """`key=value`, an attribute of the transaction."""

    def parameters(self) -> Mapping[str, str]:
        """The parameters of queries/_filters.sql, and `service` and `kind`."""
        key, _, value = self.annotation.partition("=")
        texts = {name: getattr(self, name) for name in FILTERS if name != "annotation"}
        return {**texts, "annotation_key": key.strip(), "annotation_value": value.strip()}

    @property
    def are_in_minutes(self) -> bool:
        """Whether the tables of sums per minute have them: service and kind only."""
        return replace(self, service="", kind="") == Filters()


FILTERS = tuple(each.name for each in fields(Filters))


@dataclass(frozen=True)
class Scope:
    """A window and filters."""

    window: Window
    filters: Filters = Filters()

    @property
    def step_s(self) -> int:
        """The length of a step of a chart: the shortest that MOST_STEPS allows. An aligned scope has the same."""
        window = self.window
        steps = ((step, -(-window.end_ns // (step * _S)) - window.start_ns // (step * _S)) for step in _STEPS_S)
        return next((step for step, number in steps if number <= MOST_STEPS), _STEPS_S[-1])

    @property
    def is_in_minutes(self) -> bool:
        """Whether the tables of sums per minute can answer: a step of a minute or longer, service and kind only."""
        return self.filters.are_in_minutes and self.step_s >= MINUTE_S

    def aligned(self) -> Scope:
        """The same with a window that begins and ends between two steps, at most one step longer at each end."""
        step_ns = self.step_s * _S
        start_ns = self.window.start_ns // step_ns * step_ns
        end_ns = -(-self.window.end_ns // step_ns) * step_ns
        return replace(self, window=Window(start_ns, end_ns))

    def parameters(self) -> Mapping[str, str | int]:
        """The parameters of queries/_scope.sql (transactions) and queries/_scope_minutes.sql (sums per minute)."""
        return {"start_ns": self.window.start_ns, "end_ns": self.window.end_ns, **self.filters.parameters()}
