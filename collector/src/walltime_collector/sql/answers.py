"""
Answers that are given again: to a statement that rounds its time down, as long as it rounds to the same time.

The boards ask for `intDiv(toUnixTimestamp((toDateTime(1764180007))), 10) * 10`: so many people who look at a board at
different seconds ask the same within ten of them, and one answer serves all. It is at most as old as the statement
rounds. Any other statement is run each time.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

# in quotes and comments nothing is read; the second form is that of Grafana's plugin 3
_ROUNDED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|--[^\n]*|/\*.*?\*/"""
    r"|intDiv\(toUnixTimestamp\(\(toDateTime\((?:(?P<s>\d{10})|intDiv\((?P<also_s>\d{10})000,1000\))\)\)\)"
    r", (?P<step_s>[1-9]\d?)\)",
    re.DOTALL,
)
_CHANGES = re.compile(r"\b(?:now|now64|nowInBlock|today|yesterday|rand\w*|generate\w*|fuzz\w*)\b", re.IGNORECASE)
_MOST_BYTES = 16 * 1024 * 1024
_WEIGHS_BYTES = 16 * 1024
"""Of an answer beside its content: its statement above all."""


@dataclass(frozen=True)
class Result:
    """A whole result; `summary` has `result_rows`, `read_rows` and `read_bytes`, as far as the engine reports them."""

    content: bytes
    format_name: str
    summary: Mapping[str, int] = field(default_factory=dict, compare=False)


@dataclass(eq=False)
class _Place:
    """Of one answer; who holds the lock asks for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    until_s: float = 0.0
    result: Result | None = None


class Answers:
    """Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()

    def answer(self, sql: str, given: Hashable, ask: Callable[[], Result]) -> Result:
        """
        The answer to an equal statement if it is not too old; else what `ask` returns, or raises.

        Of equal statements at the same time one is run, and the others wait for it.

        Args:
            given: All that the answer depends on, besides the statement.
        """
        rounded, kept_s = _rounded(sql)
        if not kept_s:
            return ask()
        key = (rounded, given)
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
        with place.lock:
            if place.result is not None and self._clock() < place.until_s:
                return place.result
            place.until_s = self._clock() + kept_s  # what is stored while it runs may not be in it
            place.result = None
            try:
                place.result = ask()
                return place.result
            finally:
                self._forget()

    def _forget(self) -> None:
        """What is too old, and the least used until the others have room."""
        now_s = self._clock()
        with self._lock:
            for key, place in [*self._places.items()]:
                if now_s >= place.until_s and not place.lock.locked():
                    del self._places[key]
            while sum(map(_weight_bytes, self._places.values())) > _MOST_BYTES:
                self._places.popitem(last=False)


def _rounded(sql: str) -> tuple[str, float]:
    """The text with its moments as they are rounded, and how long its answer may be given; 0 for not at all."""
    steps_s: list[int] = []

    def rounded(part: re.Match[str]) -> str:
        if not part["step_s"]:
            return part[0]
        steps_s.append(int(part["step_s"]))
        return f"{int(part['s'] or part['also_s']) // steps_s[-1]}\0{steps_s[-1]}"

    text = _ROUNDED.sub(rounded, sql)
    return (text, min(steps_s)) if steps_s and not _CHANGES.search(sql) else (text, 0.0)


def _weight_bytes(place: _Place) -> int:
    return _WEIGHS_BYTES + (len(place.result.content) if place.result else 0)
