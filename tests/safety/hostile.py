"""Values that no telemetry should choke on, and objects that know when their methods are called."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

MEGABYTES: Final = "x" * (10 * 1024 * 1024)
called: Counter[str] = Counter()
"""The methods of hostile objects that were called; each of them might block, fail, or come back into Walltime."""


class CameHere(Exception):
    """Raised by the methods of hostile objects."""


def _method(name: str) -> Any:
    def method(self: object, *_args: object, **_more: object) -> Any:
        called[f"{type(self).__name__}.{name}"] += 1
        raise CameHere(name)

    return method


_METHODS = {
    name: _method(name)
    for name in (
        "__str__", "__repr__", "__format__", "__bytes__", "__eq__", "__ne__", "__lt__", "__hash__", "__bool__",
        "__len__", "__iter__", "__contains__", "__getitem__", "__int__", "__float__", "__index__", "__getattr__",
        "__add__", "__radd__", "__mod__", "__reduce_ex__", "encode", "decode", "startswith", "rstrip", "partition",
        "split", "strip", "removeprefix", "items", "keys", "copy", "lower",
    )
}  # fmt: skip

HostileObject = type("HostileObject", (), dict(_METHODS))
HostileText = type("HostileText", (str,), dict(_METHODS))
HostileBytes = type("HostileBytes", (bytes,), dict(_METHODS))
HostileInt = type("HostileInt", (int,), dict(_METHODS))
HostileFloat = type("HostileFloat", (float,), dict(_METHODS))
HostileDict = type("HostileDict", (dict,), dict(_METHODS))

recursive: dict[str, object] = {}
recursive["self"] = recursive

VALUES: Final[dict[str, Any]] = {
    "a lone surrogate": "a\udcffb",
    "NUL and control characters": "\x00\x1b[31m\r\n\u202e",
    "10 MB": MEGABYTES,
    "10 MB of bytes": MEGABYTES.encode(),
    "bytes that are no UTF-8": b"\xff\xfe'; --",
    "empty": "",
    "NaN": float("nan"),
    "infinity": float("inf"),
    "2^64": 1 << 64,
    "-2^64": -(1 << 64),
    "2^100000": 1 << 100_000,
    "None": None,
    "a recursive dict": recursive,
    "a list": [1, [2]],
    "an object": HostileObject(),
    "a kind of str": HostileText("text"),
    "a kind of bytes": HostileBytes(b"bytes"),
    "a kind of int": HostileInt(7),
    "a kind of float": HostileFloat(7.5),
    "a kind of dict": HostileDict(),
    "a class": HostileObject,
}
