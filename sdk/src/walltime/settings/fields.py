"""How a setting is declared, read from the environment, and checked; the declarations are in settings.py."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from walltime.errors import SettingsError
from walltime.settings import parsing

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance

T = TypeVar("T")

MAX_SECONDS: Final = 1_000_000.0
"""Eleven days; what waits longer, the operating system's clocks may not take."""
MAX_COUNT: Final = 2**63 - 1
MAX_SHOWN_CHARS: Final = 100
"""Of a value in a message."""
_AS_UNSET: Final = object()
_LOGIN: Final = re.compile(r"//[^/@\s]*@")


def setting(
    default: T,
    /,
    *,
    is_secret: bool = False,
    choices: tuple[str, ...] = (),
    fault: Callable[[Any], str] | None = None,
    safe: object = _AS_UNSET,
    **variables: Callable[[str], T | None],
) -> T:
    """
    Declare a setting.

    Args:
        is_secret: its value is never in a message or a repr.
        choices: what it may be; empty for anything of the default's type, of which a number is finite and not negative.
        fault: says what is wrong with a value of the right type, such as "is negative"; "" for nothing.
        safe: the value when a variable is set and cannot be used, where the default would switch something on, send
            data elsewhere or show more of it; otherwise such a variable is ignored.
        variables: variable → parser, the first that is set (and whose parser does not return None) decides. A parser
            raises ValueError with what to say instead, or `Unsupported` for a value that only OpenTelemetry has.
    """
    metadata = {"variables": variables, "is_secret": is_secret, "choices": choices, "fault": fault}
    if safe is not _AS_UNSET:
        metadata["safe"] = safe
    if isinstance(default, dict):
        return field(default_factory=default.copy, repr=not is_secret, metadata=metadata)  # type: ignore[return-value]
    return field(default=default, repr=not is_secret, metadata=metadata)


@dataclass(frozen=True)
class Unusable:
    """A variable that is set to something that cannot be used."""

    setting: str
    variable: str
    shown: str
    """The value, or that it is not shown."""
    reason: str
    is_only_unsupported: bool = False
    """Whether OpenTelemetry has this value and Walltime does not."""
    instead: str = ""
    """What happens instead; without it, the setting's value says it."""

    def __str__(self) -> str:
        if self.is_only_unsupported:
            return f"{self.variable}={self.shown} is not supported: {self.reason}"
        return f"{self.variable}={self.shown}: {self.reason}" if self.shown else f"{self.variable} {self.reason}"


def read(
    kind: type[DataclassInstance], environ: Mapping[str, str], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Unusable]]:
    """
    Return what is given, then what the environment has, and the variables that cannot be used.

    Such a variable costs no other: its setting gets its safe value, or is read as if the variable were not set.

    Raises:
        SettingsError: there is no such setting as one that is given.
    """
    declared = fields(kind)
    if unknown := sorted(set(given) - {each.name for each in declared}):
        known = ", ".join(sorted(each.name for each in declared))
        raise SettingsError(f"unknown setting {unknown[0]!r}; there are {known}")
    values = dict(given)
    unusable: list[Unusable] = []
    for each in declared:
        for variable, parse in each.metadata["variables"].items():
            text = environ.get(variable, "").strip()
            if not text or each.name in values:
                continue
            try:
                value = parse(text)
                fault = "" if value is None else _fault(each, value)
            except parsing.Unsupported as error:
                value = error.instead
                unusable.append(Unusable(each.name, variable, _shown(each, text)[1:-1], str(error), True))
                fault = ""
            except ValueError as error:
                fault = str(error)
            if fault:
                value = each.metadata.get("safe")
                unusable.append(Unusable(each.name, variable, _shown(each, text), fault))
            if value is not None:
                values[each.name] = value
    return values, unusable


def _shown(declared: Field[Any], value: object) -> str:
    """A value for a message: neither secrets, nor the login or an API's key in an address, nor pages of text."""
    if declared.metadata["is_secret"]:
        return "a value that is not shown here"
    if not isinstance(value, str):
        text = repr(value)
        return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"
    text = _LOGIN.sub("//", value)
    if declared.name == "endpoint":
        text = text.rpartition("@")[2].partition("?")[0]
    return repr(text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…")


def settle(settings: DataclassInstance) -> None:
    """
    Convert each value to its setting's type and check it.

    Raises:
        SettingsError: a value cannot be used.
    """
    for each in fields(settings):
        value = getattr(settings, each.name)
        try:
            value = _converted(each, value)
        except ValueError as error:
            raise SettingsError(f"{each.name}: {error}") from None
        object.__setattr__(settings, each.name, value)  # they are frozen
        check(each, value)


def _converted(declared: Field[Any], value: object) -> object:
    """Return a tuple for a list or a comma-separated text, a mapping for `name=value,…`, a text for a path."""
    if isinstance(declared.default, tuple):
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, Mapping)):
            value = tuple(value)
            if not all(isinstance(word, str) for word in value):
                return value
            value = ",".join(value)
        if isinstance(value, str):
            return next(iter(declared.metadata["variables"].values()))(value)
    elif declared.default is MISSING and isinstance(value, str):
        return parsing.pairs(value)
    elif isinstance(declared.default, str) and isinstance(value, os.PathLike):
        return os.fspath(value)
    return value


def check(declared: Field[Any], value: object) -> None:
    """
    Raises:
        SettingsError: the value is not of the type of the default, none of the choices, or has a fault.
    """
    if fault := _fault(declared, value):
        shown = "what was given" if declared.metadata["is_secret"] else _shown(declared, value)
        raise SettingsError(f"{declared.name}: {shown} {fault}")


def _fault(declared: Field[Any], value: Any) -> str:
    choices, default = declared.metadata["choices"], {} if declared.default is MISSING else declared.default
    if choices and value not in choices:
        return f"is not one of {', '.join(choices)}"
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        if isinstance(value, bool) or not isinstance(value, (int, type(default))):
            return f"is not a {'whole number' if isinstance(default, int) else 'number'}"
        if fault := _number_fault(value, MAX_COUNT if isinstance(default, int) else MAX_SECONDS):
            return fault
    elif not isinstance(value, Mapping if isinstance(default, dict) else type(default)):
        return f"is not a {type(default).__name__}"
    elif isinstance(value, tuple) and not all(isinstance(word, str) for word in value):
        return "has something else than texts in it"
    fault = declared.metadata["fault"]
    return "" if fault is None else str(fault(value))


def _number_fault(value: float, most: float) -> str:
    if not 0 <= value < math.inf:
        return "is negative, or no number at all"
    return f"is more than {most:g}" if value > most else ""
