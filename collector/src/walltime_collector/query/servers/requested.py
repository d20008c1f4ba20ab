"""What is requested of a server, estimated from kept calls: statements, prefixes of keys, URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...clickhouse.engine import Engine
from ...statements.fingerprint import fingerprint_id, of_template
from ..answers import Call
from ..kept.sample import Sample, estimates, kept_sample
from ..sampled import sampled
from ..scope import Scope
from .answer import Requested, Server, ratio

_MAX_TEXTS = 50
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


def requested(
    engine: Engine, scope: Scope, server: Server, kinds: Sequence[str]
) -> tuple[Sample, tuple[Requested, ...]]:
    """
    What these kinds of transaction request of a server, the most expensive first.

    Args:
        kinds: `service TAB name` each.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    scope = sampled(engine, scope, is_for_calls=True)
    sample, calls = kept_sample(engine, scope, component=server.component, address=server.address, kinds=kinds)
    found = estimates(calls, lambda each: _text(each.call) if each.call.text else None)
    return sample, tuple(
        Requested(
            text=text,
            fingerprint_id=number,
            calls=server.calls * each.calls_share,
            calls_share=each.calls_share,
            share=each.share,
            mean_ns=each.mean_ns,
            error_share=each.errors / each.calls,
            hit_ratio=ratio(each.hits, each.misses),
        )
        for (text, number), each in found[:_MAX_TEXTS]
    )


def _text(call: Call) -> tuple[str, str]:
    """What is requested, and the id of its fingerprint if it is a statement."""
    system = call.component.partition(".")[0]
    if system in ("memcache", "redis"):
        return key_prefix(call.text), ""
    if system == "http":
        return call.text, ""
    text = of_template(call.text)
    return text, f"{fingerprint_id(text):016X}"
