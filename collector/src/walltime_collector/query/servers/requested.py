"""What is requested of a server, estimated from kept calls: statements, prefixes of keys, URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..answers import Call
from ..kept.sample import Sample, kept_sample
from ..sampled import sampled
from ..scope import Scope
from .answer import Requested, Server, ratio

_MAX_TEXTS = 50
_ENOUGH_TRANSACTIONS = 100_000
_LEAST_MINUTES = 10
"""Of more than _ENOUGH_TRANSACTIONS only those in some minutes of the window are looked at."""
_MINUTE_NS = 60_000_000_000
_MORE_KEYS = re.compile(r" and \d+ more$")
_PIECE = re.compile(r"[^:/|.\-_]+[:/|.\-_]*|[:/|.\-_]+")
_VERSION = re.compile(r"v\d{1,2}", re.IGNORECASE)
_WORD_AND_NUMBER = re.compile(r"([A-Za-z]+)\d+")
_HEXADECIMAL = re.compile(r"[0-9a-f]{8,}", re.IGNORECASE)
_LONGEST_WORD = 32
NO_PREFIX = "(no prefix)"


def key_prefix(key: str) -> str:
    """
    The key up to its first value: `product:` of `product:123:de`, `user_` of `user_42`, `v2:cart:` of `v2:cart:#5f1c`.

    A value is a part with a digit, `#`, a letter outside of ASCII, or more than 32 characters; a version is none.
    """
    prefix = ""
    for piece in _PIECE.findall(_MORE_KEYS.sub("", key)):
        word = piece.rstrip(":/|.-_")
        if _VERSION.fullmatch(word) or (
            word.isascii() and "#" not in word and len(word) <= _LONGEST_WORD and not any(map(str.isdigit, word))
        ):
            prefix += piece
            continue
        if (number := _WORD_AND_NUMBER.fullmatch(word)) and not _HEXADECIMAL.fullmatch(word):
            prefix += number[1]
        break
    return prefix or NO_PREFIX


@dataclass
class _Estimate:
    calls: float = 0.0
    time_ns: float = 0.0
    errors: float = 0.0
    hits: float = 0.0
    misses: float = 0.0


def requested(
    engine: Engine, scope: Scope, server: Server, kinds: Sequence[str], of: int
) -> tuple[Sample, tuple[Requested, ...]]:
    """
    What these kinds of transaction request of a server, the most expensive first.

    Args:
        kinds: `service TAB name` each.
        of: How many transactions the Scope has.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    if of > _ENOUGH_TRANSACTIONS and not scope.sample_level:
        scope = sampled(engine, scope, is_for_calls=True)
    minutes = () if scope.sample_level else _some_minutes(scope, of)
    sample = kept_sample(
        engine, scope, component=server.component, address=server.address, kinds=kinds, minutes=minutes
    )
    estimates: dict[tuple[str, str], _Estimate] = {}
    for each in sample.calls:
        call, weight = each.call, each.weight
        if not call.text:
            continue
        estimate = estimates.setdefault(_text(call), _Estimate())
        hits, misses = _looked_up(call)
        estimate.calls += weight
        estimate.time_ns += weight * call.own_ns
        estimate.errors += weight * bool(call.error)
        estimate.hits += weight * hits
        estimate.misses += weight * misses
    whole_ns = sum(each.time_ns for each in estimates.values()) or 1
    whole = sum(each.calls for each in estimates.values()) or 1
    ranked = sorted(estimates.items(), key=lambda item: (-item[1].time_ns, item[0]))
    return sample.size, tuple(
        Requested(
            text=text,
            fingerprint_id=number,
            calls=server.calls * each.calls / whole,
            calls_share=each.calls / whole,
            share=each.time_ns / whole_ns,
            mean_ns=round(each.time_ns / each.calls),
            error_share=each.errors / each.calls,
            hit_ratio=ratio(each.hits, each.misses),
        )
        for (text, number), each in ranked[:_MAX_TEXTS]
    )


def _some_minutes(scope: Scope, of: int) -> Sequence[int]:
    """The beginnings of minutes of the window, evenly spaced; none means all."""
    first, last = scope.window.start_ns // _MINUTE_NS + 1, scope.window.end_ns // _MINUTE_NS
    wanted = max((last - first) * _ENOUGH_TRANSACTIONS // max(of, 1), _LEAST_MINUTES)
    if of <= _ENOUGH_TRANSACTIONS or wanted >= last - first:
        return ()
    return [(first + (last - first) * at // wanted) * 60 for at in range(wanted)]


def _text(call: Call) -> tuple[str, str]:
    """What is requested, and the id of its fingerprint if it is a statement."""
    system = call.component.partition(".")[0]
    if system in ("memcache", "redis"):
        return key_prefix(call.text), ""
    if system == "http":
        return call.text, ""
    text = of_template(call.text)
    return text, f"{fingerprint_id(text):016X}"


def _looked_up(call: Call) -> tuple[int, int]:
    """Hits and misses of a call: `hit`, `miss`, or `3/5` of a lookup of several keys."""
    found, slash, keys = call.result.partition("/")
    if slash and found.isdigit() and keys.isdigit() and call.component.rpartition(".")[2] not in ("set", "add"):
        return int(found), int(keys) - int(found)
    return int(call.result == "hit"), int(call.result == "miss")
