"""
What the guard has allowed, remembered by shape: the text without the seconds of each `toDateTime(1764180000)`.

Grafana asks the same statements again and again, of other times. The guard judges no number of ten digits that is the
argument of `toDateTime`, and ClickHouse prints it as it is: so the verdict on one time is the verdict on all.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

_MOMENT = re.compile(r"\btoDateTime\((\d{10})\)")
_PLACE = re.compile(r"toDateTime\(\0(\d+)\)")
_MOST = 256
_MOST_CHARS = 32 * 1024
_KEPT_S = 300.0
"""A server may be replaced by one that reads the text in another way."""


@dataclass(frozen=True)
class Admitted:
    """
    A statement that may be run, with `readonly` = 1.

    Args:
        format_name: That of its FORMAT clause; empty without one.
        settings: Its allowed ClickHouse settings; those of settings.LIMITS can only lower a limit.
    """

    sql: str
    format_name: str
    settings: Mapping[str, str]


class Question(NamedTuple):
    """All that a verdict depends on, and the moments, on which it does not depend."""

    shape: str
    """No statement has a zero byte: it is the place of a moment."""
    given: tuple[tuple[tuple[str, str], ...], ...]
    moments: tuple[str, ...]


def question(sql: str, *given: Mapping[str, str]) -> Question:
    """Of a statement and its parameters and settings."""
    moments = tuple(dict.fromkeys(_MOMENT.findall(sql)))
    return Question(_without(sql, moments), tuple(tuple(each.items()) for each in given), moments)


class Verdicts:
    """Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._known: OrderedDict[Hashable, tuple[float, Admitted]] = OrderedDict()

    def find(self, asked: Question) -> Admitted | None:
        """What was allowed of this shape, with the moments of this question."""
        with self._lock:
            since_s, known = self._known.get(asked[:2], (0.0, None))
        if known is None or self._clock() - since_s > _KEPT_S:
            return None
        return replace(known, sql=_PLACE.sub(lambda place: f"toDateTime({asked.moments[int(place[1])]})", known.sql))

    def keep(self, asked: Question, admitted: Admitted) -> None:
        """Remember the verdict, if the moments are in what may run as often as in what was asked."""
        shape = _without(admitted.sql, asked.moments)
        if len(asked.shape) > _MOST_CHARS or sorted(_PLACE.findall(shape)) != sorted(_PLACE.findall(asked.shape)):
            return
        with self._lock:
            self._known[asked[:2]] = self._clock(), replace(admitted, sql=shape)
            self._known.move_to_end(asked[:2])
            if len(self._known) > _MOST:
                self._known.popitem(last=False)


def _without(sql: str, moments: tuple[str, ...]) -> str:
    """The text with a numbered place for each of these moments."""
    places = {moment: f"toDateTime(\0{at})" for at, moment in enumerate(moments)}
    return _MOMENT.sub(lambda found: places.get(found[1], found[0]), sql)
