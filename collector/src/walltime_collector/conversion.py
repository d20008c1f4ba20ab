"""Makes typed answers of the rows of the database, and of their own JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Answer = TypeVar("Answer")


def from_row(answer: type[Answer], row: Mapping[str, Any], **computed: Any) -> Answer:
    """An answer whose fields are columns of `row`, integers rounded; `computed` are its other fields."""
    hints = _hints_of(answer)  # type: ignore[arg-type]  # a class is hashable
    stored = {name: _stored(hint, row[name]) for name, hint in hints.items() if name in row}
    return answer(**{**stored, **computed})


def _stored(hint: Any, value: Any) -> Any:
    if value is not None and hint in (int, int | None):
        return round(value)
    return bool(value) if hint is bool else value


def from_json(answer: type[Answer], document: Any) -> Answer:
    """
    Read an answer back from its JSON. Unknown fields are ignored.

    Raises:
        ValueError: The document is not this answer, or lacks a field.
    """
    if not isinstance(document, dict):
        raise ValueError(f"{answer.__name__} is not an object")  # noqa: TRY004  one error for one meaning
    hints = _hints_of(answer)  # type: ignore[arg-type]  # a class is hashable
    try:
        return answer(**{name: _value(hint, document[name]) for name, hint in hints.items() if name in document})
    except TypeError as error:
        raise ValueError(str(error)) from error


@cache
def _hints_of(answer: type[Any]) -> dict[str, Any]:
    return get_type_hints(answer)


def _value(hint: Any, value: Any) -> Any:
    inner: Any = next((each for each in (hint, *get_args(hint)[:1]) if is_dataclass(each)), None)
    if isinstance(value, list | tuple) and (inner or get_origin(hint) is tuple):
        return tuple(from_json(inner, each) for each in value) if inner else tuple(value)
    return from_json(inner, value) if inner and value is not None else value
