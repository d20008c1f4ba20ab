"""What a question is about: a window of time and filters; every query of the pages takes it as bound parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from ..errors import BadParameter
from ..format import quoted
from .condition.parse import parse
from .windows import Window

_S = 1_000_000_000
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 604_800)
MOST_STEPS = 121
"""A window, widened to whole steps, has at most so many: an hour has 120 or 121 of 30 s."""
MINUTE_S = 60
_MANY_TRANSACTIONS = 50_000
_STATUS = re.compile(r"[1-5](xx|\d\d)|failed")


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
    where: str = ""
    """A condition (condition/)."""

    def parameters(self) -> Mapping[str, str]:
        """The parameters of queries/_filters.sql, `service` and `kind`, and `where` for queries.run."""
        key, _, value = self.annotation.partition("=")
        texts = {name: getattr(self, name) for name in FILTERS if name != "annotation"}
        return {**texts, "annotation_key": key.strip(), "annotation_value": value.strip()}

    def check(self) -> None:
        """
        Refuse what nothing can match.

        Raises:
            BadParameter: A status, an annotation or a condition is not valid.
        """
        if self.status and not _STATUS.fullmatch(self.status):
            raise BadParameter("status", f"{quoted(self.status)} is not a status", "write 404, 5xx or failed")
        key, equals, _ = self.annotation.partition("=")
        if self.annotation and not (key.strip() and equals):
            what = "has no value" if key.strip() else "is not a pair"
            raise BadParameter("annotation", f"{quoted(self.annotation)} {what}", "write key=value")
        if self.where:
            parse(self.where)

    def matching(self, condition: str) -> Filters:
        """The same with one more condition."""
        return replace(self, where=f"({self.where}) and ({condition})" if self.where else condition)

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
    sample_level: int = 0
    """One in 2^sample_level transactions is read (sampled.py); 0 for all."""

    @property
    def one_in(self) -> int:
        """One in so many transactions is read."""
        return 1 << self.sample_level

    @property
    def whole(self) -> Scope:
        """The same without sampling."""
        return replace(self, sample_level=0)

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
        return self.widened(self.step_s)

    def in_whole_minutes(self) -> Scope:
        """The same with a window that begins and ends with a minute: the sums per minute answer it alone, fast."""
        return self.widened(MINUTE_S)

    def widened(self, step_s: int) -> Scope:
        """The same with a window of whole steps of this length."""
        step_ns = step_s * _S
        first, last = self.window.start_ns // step_ns, -(-self.window.end_ns // step_ns)
        return replace(self, window=Window(first * step_ns, last * step_ns))

    def parameters(self) -> Mapping[str, str | int]:
        """The parameters of queries/_scope.sql (`source`) and queries/_scope_minutes.sql (sums per minute)."""
        return {
            "start_ns": self.window.start_ns,
            "end_ns": self.window.end_ns,
            **self.filters.parameters(),
            "source": "sampled_transactions" if self.sample_level else "transactions",
            "sample_level": self.sample_level,
        }

    def divided(self, step_s: int = MINUTE_S) -> Mapping[str, str | int]:
        """
        The parameters of queries that read whole minutes from their sums and the rest one by one, so they are exact.

        Those are _whole_minutes.sql and _beside_minutes.sql.

        Args:
            step_s: Of an answer with a row for each step: there are no sums for one shorter than a minute.
        """
        minute_ns, end_s = MINUTE_S * _S, -(-self.window.end_ns // _S)
        first, last = -(-self.window.start_ns // minute_ns) * MINUTE_S, self.window.end_ns // minute_ns * MINUTE_S
        if not self.filters.are_in_minutes or step_s % MINUTE_S or first >= last:
            first = last = end_s
        return {**self.parameters(), "step_s": step_s, "minutes_start_s": first, "minutes_end_s": last}


@dataclass(frozen=True)
class Steps:
    """The time axis of a Scope: `count` steps of `step_s` seconds, the first one begins at `start_ns`."""

    start_ns: int
    step_s: int
    count: int

    @classmethod
    def of(cls, scope: Scope, transactions: int = 0) -> Steps:
        """
        Those that contain the window.

        Args:
            transactions: In the window. Of very many, steps shorter than a minute would take too long.
        """
        is_large = transactions > _MANY_TRANSACTIONS and scope.filters.are_in_minutes
        step_s = max(scope.step_s, MINUTE_S) if is_large else scope.step_s
        window = scope.widened(step_s).window
        return cls(window.start_ns, step_s, (window.end_ns - window.start_ns) // (step_s * _S))

    @property
    def numbers(self) -> range:
        """Unix time by `step_s`, of each."""
        first = self.start_ns // (self.step_s * _S)
        return range(first, first + self.count)

    def at_ns(self, step: int) -> int:
        """When a step begins, the first one is 0; `count` is the end of the last one."""
        return self.start_ns + step * self.step_s * _S

    def seconds(self, window: Window, now_ns: int) -> tuple[float, ...]:
        """How much of each step is in the window and has passed: the divisor of rates."""
        first_ns, last_ns = window.start_ns, min(window.end_ns, now_ns)
        return tuple(
            max(min(self.at_ns(at + 1), last_ns) - max(self.at_ns(at), first_ns), 0) / _S for at in range(self.count)
        )
