"""Reads the values of a condition: numbers, times, sizes, statuses."""

from __future__ import annotations

import re
from decimal import Decimal

from .tree import Type, Value

_QUANTITY = re.compile(r"(?P<number>-?(?:\d+(?:\.\d*)?|\.\d+))\s*(?P<unit>[A-Za-zµμ]*)", re.ASCII)
_TIMES = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_TIMES |= {"min": 60 * 10**9, "h": 3_600 * 10**9}
_SIZES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_STATUS = re.compile(r"[1-5](xx|\d\d)", re.ASCII)
_LARGEST = 2**63 - 1
_YES_NO = {"true": True, "yes": True, "false": False, "no": False}


def quoted_value(text: str) -> str:
    """A text as it is written in a condition, whatever it contains."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def value(written: str, of: Type, *, is_compared: bool) -> Value:
    """
    The value that a text is for a field of this type.

    Args:
        is_compared: With `<` or its like.

    Raises:
        ValueError: It is none; the text of the error is what to write.
    """
    if of == "flag":
        if written.lower() not in _YES_NO:
            raise ValueError("write true or false")
        return _YES_NO[written.lower()]
    if of in ("time", "locks"):
        return _quantity(written, _TIMES, "write a time, as 200ms, 1.5s, 2m")
    if of == "size":
        return _quantity(written.lower(), _SIZES, "write a size, as 512KiB, 20MB")
    if of == "number" or (of == "attribute" and is_compared):
        return _quantity(written, {}, "write a number")
    if of == "status":
        return _status(written, is_compared=is_compared)
    return written


def _quantity(written: str, units: dict[str, int], what_now: str) -> int | float:
    match = _QUANTITY.fullmatch(written)
    number = Decimal(match["number"]) if match else Decimal(0)
    unit = match["unit"] if match else ""
    if match is None or (unit not in (units or {""}) and (unit or number)):  # 0 needs no unit
        raise ValueError(what_now)
    exact = number * units.get(unit, 1)
    if abs(exact) > _LARGEST:
        raise ValueError("it is too large")
    return int(exact) if exact == int(exact) else float(exact)


def _status(written: str, *, is_compared: bool) -> Value:
    if is_compared:
        return _quantity(written, {}, "write a number, as 500")
    if written == "failed" or _STATUS.fullmatch(written):
        return written
    if written == "0":
        return "0"
    raise ValueError("write 404, 5xx or failed; 0 is a transaction without HTTP")
