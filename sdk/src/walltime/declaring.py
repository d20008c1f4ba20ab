"""How a setting is declared, read from the environment, and checked; the declarations are in settings.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, field
from typing import TYPE_CHECKING, Any, TypeVar

from walltime import parsing
from walltime.errors import SettingsError, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


def setting(
    default: T,
    doc: str,
    /,
    *,
    is_secret: bool = False,
    choices: tuple[str, ...] = (),
    **variables: Callable[[str], T | None],
) -> T:
    """
    Declare a setting.

    Args:
        doc: its meaning, as the documentation says it.
        is_secret: its value is never in a message or a repr.
        choices: what it may be; empty for anything of the default's type, of which a number is finite and not negative.
        variables: variable → parser, the first that is set (and whose parser does not return None) decides. A parser
            raises ValueError with what to say instead, or `Unsupported` for a warning.
    """
    metadata = {"doc": doc, "variables": variables, "is_secret": is_secret, "choices": choices}
    if isinstance(default, dict):
        return field(default_factory=default.copy, repr=not is_secret, metadata=metadata)  # type: ignore[return-value]
    return field(default=default, repr=not is_secret, metadata=metadata)


def read(declared: Iterable[Field[Any]], environ: Mapping[str, str]) -> dict[str, Any]:
    """
    Return what the environment says, by setting.

    Raises:
        SettingsError: a variable has a value that cannot be used.
    """
    values: dict[str, Any] = {}
    for each in declared:
        for variable, parse in each.metadata["variables"].items():
            text = environ.get(variable, "").strip()
            if not text or each.name in values:
                continue
            try:
                value = parse(text)
            except parsing.Unsupported as error:
                warn(variable, "walltime: %s=%s is not supported: %s", variable, text, error)
                continue
            except ValueError as error:
                shown = "a value that is not shown here" if each.metadata["is_secret"] else repr(text)
                raise SettingsError(f"{variable}={shown}: {error}") from None
            if value is not None:
                values[each.name] = value
    return values


def check(declared: Field[Any], value: object) -> None:
    """
    Raises:
        SettingsError: the value is not of the type of the default, or none of the choices.
    """
    name, choices = declared.name, declared.metadata["choices"]
    default = {} if declared.default is MISSING else declared.default
    if choices and value not in choices:
        raise SettingsError(f"{name} {value!r} is not one of {', '.join(choices)}")
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        kinds: tuple[type, ...] = (int,) if isinstance(default, int) else (int, float)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise SettingsError(f"{name} {value!r} is not a {'whole number' if kinds == (int,) else 'number'}")
        if not 0 <= value < math.inf:  # type: ignore[operator]  # it is one of `kinds`
            raise SettingsError(f"{name} {value} is negative, or no number at all")
    elif not isinstance(value, Mapping if isinstance(default, dict) else type(default)):
        shown = "what was given" if declared.metadata["is_secret"] else repr(value)
        raise SettingsError(f"{name}: {shown} is not a {type(default).__name__}")
