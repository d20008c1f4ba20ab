"""Query parameters as ClickHouse reads them, so that a value stays a value whatever it contains."""

from __future__ import annotations

from .engine import Parameter

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0", "\b": "\\b", "\f": "\\f"})


def as_text(value: Parameter) -> str:
    """The text of a bound parameter: escaped like a field of TSV, a list like an Array literal."""
    if value is None:
        return r"\N"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    if isinstance(value, (int, float)):
        return repr(value)
    return "[" + ",".join(_element(each) for each in value) + "]"


def _element(value: str | float) -> str:
    if isinstance(value, str):
        return "'" + value.translate(_ESCAPES).replace("'", "\\'") + "'"
    return repr(value)
