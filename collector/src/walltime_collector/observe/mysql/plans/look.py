"""Explains the statements that take the most time, one at a time, a few a minute."""

from __future__ import annotations

import logging
import math
import time
from collections import deque

from ...look import Look
from ...writer import Writer
from ..capabilities import capabilities
from ..connection import Connection
from .explain import NotExplained, Sample, Samples
from .known import KnownPlans

log = logging.getLogger(__name__)

MOST_A_MINUTE = 20
_CHOSEN_EVERY_S = 60.0
_MOST_READ = 200
_WITHIN_S = 600
"""Statements that did not run for so long are not explained."""
_REFUSED_FOR_S = 600.0
_MOST_REMEMBERED = 1_000


class PlansLook(Look[Connection]):
    """Explains MOST_A_MINUTE statements each minute: those on which the server has spent the most time since."""

    every_s = 60.0 / MOST_A_MINUTE

    def __init__(self, name: str, writer: Writer, known: KnownPlans, *, may_set_up: bool = False) -> None:
        super().__init__(name, writer)
        self._known, self._may_set_up = known, may_set_up
        self._waiting: deque[Sample] = deque()
        self._times_ns: dict[tuple[str, str], int] = {}
        self._chosen_s = -math.inf
        self._refused_s: dict[tuple[str, str], float] = {}
        self._said: set[str] = set()

    def opened(self, connection: Connection) -> str:
        """See Look."""
        self._samples = Samples(connection, capabilities(connection), may_set_up=self._may_set_up)
        self._waiting.clear()
        self._chosen_s = -math.inf
        return f"plans of more statements: {self._samples.off}" if self._samples.off else ""

    def look(self, connection: Connection) -> None:
        """Explain the next one."""
        now_s = time.monotonic()
        if not self._waiting or now_s - self._chosen_s >= _CHOSEN_EVERY_S:
            if now_s - self._chosen_s < _CHOSEN_EVERY_S:
                return
            self._choose(connection, now_s)
        while self._waiting:
            sample = self._waiting.popleft()
            if now_s >= self._refused_s.get(sample[:2], 0.0):
                self._explain(connection, sample, now_s)
                return

    def _choose(self, connection: Connection, now_s: float) -> None:
        samples = self._samples.read(connection, within_s=_WITHIN_S, limit=_MOST_READ)
        spent_ns = {each[:2]: each.time_ns - self._times_ns.get(each[:2], 0) for each in samples}
        if self._samples.has_digests:  # sums since the server's start; a history is of the last time anyway
            self._times_ns = {each[:2]: each.time_ns for each in samples}
        samples = sorted(samples, key=lambda each: -spent_ns[each[:2]])
        self._waiting = deque(each for each in samples[:MOST_A_MINUTE] if spent_ns[each[:2]])
        self._chosen_s = now_s

    def _explain(self, connection: Connection, sample: Sample, now_s: float) -> None:
        try:
            self._known.explain(connection, sample)
        except NotExplained as refused:
            if len(self._refused_s) > _MOST_REMEMBERED:
                self._refused_s.clear()
            self._refused_s[sample[:2]] = now_s + _REFUSED_FOR_S
            if str(refused) not in self._said:
                self._said.add(str(refused))
                log.warning("%s: a plan is not known: %s", self.name, refused)
