"""Reads what stands behind each cache lookup in kept transactions: only single calls have keys and an order."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ...answers import Call
from ...components import LOOKUPS
from ...kept.sample import kept_calls
from ...queries import Row
from ..reading import Reading

_STORES = re.compile(r"(memcache|redis)\.(set|add|replace|cas|mset|setex|psetex|setnx|hset|hmset)")
_NO_VALUE = re.compile(r"[#0-9].*| and \d+ more$", re.DOTALL)
_SEVERAL, _OF = re.compile(r" and \d+ more$"), re.compile(r"(\d+)/(\d+)")
_MOST = 400
"""Transactions."""


@dataclass
class Behind:
    """A lookup in a kept transaction, or several at once, and the calls between it and the next one."""

    transaction: int
    prefix: str
    keys: int = 0
    lost: int = 0
    stored_at: int = -1
    """The place of the call that stores a lost value; the calls until then stand behind this lookup as well."""
    calls: list[tuple[str, str, bool]] = field(default_factory=list)
    """Component, text, and whether a lost value is stored later."""


def kept(reading: Reading, rows: Sequence[Row]) -> Iterator[Behind]:
    """
    The lookups of kept transactions, chosen by their trace ids alone, and what stands behind them.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    windows = reading.compared.usual, reading.compared.slow
    start_ns, end_ns = min(each.start_ns for each in windows), max(each.end_ns for each in windows)
    owners = sorted((row for row in rows if row["is_kept"]), key=lambda row: zlib.crc32(row["trace"][:4].encode()))
    at = {(row["trace"], row["span"]): at for at, row in enumerate(rows)}
    _, called = kept_calls(reading.engine, owners[:_MOST], start_ns, end_ns)
    for (trace, span), calls in groupby(sorted(called, key=_owner), key=_owner):
        yield from behind(at[trace, span], [call for _, call in calls])


def _owner(called: tuple[Row, Call]) -> tuple[str, str]:
    return called[0]["trace"], called[0]["span"]


def behind(transaction: int, calls: Sequence[Call]) -> Iterator[Behind]:
    """
    The lookups of one transaction; its calls are in the order of their starts.

    A call stands behind the lost lookup whose value is stored later, or else behind the last lookup. Lookups at one
    time are one, because nobody can know whose calls follow them.
    """
    stores = [(at, each.text) for at, each in enumerate(calls) if _STORES.fullmatch(each.component)]
    found: list[Behind] = []
    until_ns = 0
    for at, call in enumerate(calls):
        if call.component in LOOKUPS:
            if not found or call.offset_ns >= until_ns:
                found.append(Behind(transaction, _NO_VALUE.sub("", call.text)))
            keys, lost = _keys(call)
            found[-1].keys += keys
            found[-1].lost += lost
            if lost:
                is_mine = _SEVERAL.search(call.text) and _NO_VALUE.sub("", call.text)
                stored = (
                    j for j, text in stores if j > at and (text == call.text or (is_mine and text.startswith(is_mine)))
                )
                found[-1].stored_at = max(found[-1].stored_at, next(stored, -1))
            until_ns = max(until_ns, call.offset_ns + call.duration_ns)
        elif found:
            open_one = next((each for each in reversed(found) if at <= each.stored_at), None)
            (open_one or found[-1]).calls.append((call.component, call.text, open_one is not None))
    yield from found


def _keys(call: Call) -> tuple[int, int]:
    """How many keys were looked up, and how many of them were lost."""
    if several := _OF.fullmatch(call.result):
        return int(several[2]), int(several[2]) - int(several[1])
    return 1, int(call.result != "hit" or bool(call.error))
