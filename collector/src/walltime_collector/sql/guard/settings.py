"""The ClickHouse settings that a statement may have, in its text or in the URL: an allow-list with a rule for each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import StatementRefused
from ...format import printable

FILTERS = "additional_table_filters"

# Limits: a statement may lower them, never raise them.
_LIMITS = """
max_execution_time max_result_rows max_result_bytes max_rows_to_read max_bytes_to_read max_memory_usage max_threads
max_block_size
"""
LIMITS = frozenset(_LIMITS.split())

# How a result is computed and written; none of them is an expression, a name of a table or of a file, or changes
# which rows there are.
_FLAGS = """
join_use_nulls group_by_use_nulls transform_null_in prefer_column_name_to_alias aggregate_functions_null_for_empty
any_join_distinct_right_table_keys low_cardinality_allow_in_native_format cast_string_to_dynamic_use_inference
"""
_CHOICES: Mapping[str, str] = {
    "result_overflow_mode": "throw|break",
    "session_timezone": r"[A-Za-z0-9_+/-]{0,64}",
    "date_time_output_format": "simple|iso|unix_timestamp",
    "date_time_input_format": "basic|best_effort|best_effort_us",
    "union_default_mode": "|ALL|DISTINCT",
    "intersect_default_mode": "ALL|DISTINCT",
    "except_default_mode": "ALL|DISTINCT",
    "totals_mode": "[a-z_]{1,40}",
    **dict.fromkeys(_FLAGS.split(), "0|1|true|false"),
}
# Not `output_format_schema`, which is the name of a file to write.
_OUTPUT = re.compile(
    r"output_format_(json|pretty|csv|tsv|values|native|decimal|markdown|parquet|arrow|write_statistics)\w*"
)
_OUTPUT_VALUE = re.compile(r"[\w.+-]{0,40}")
# A file of very small parts takes minutes to write, and nothing looks at the clock meanwhile.
_SIZE_OF_A_PART = re.compile(r"output_format_(parquet|arrow)\w*_(size|bytes|rows|threshold)")
_SIZES = re.compile(r"\d{4,18}")

# They change which rows a result has: in a URL, where other unknown settings are ignored, they are refused.
_NEVER_IGNORED = re.compile(r"additional_\w+|final")


def names() -> str:
    """Return a regular expression of the settings that a statement may have, and of `readonly`."""
    return f"^({'|'.join(sorted(LIMITS | set(_CHOICES) | {'readonly'}))}|{_OUTPUT.pattern})$"


def effective(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return those of a URL's parameters on which the verdict or the result depends."""
    return {
        name: value
        for name, value in parameters.items()
        if name in LIMITS or _is_choice(name) or _NEVER_IGNORED.fullmatch(name)
    }


def from_url(parameters: Mapping[str, str]) -> dict[str, str]:
    """
    Return the settings among a URL's parameters that a statement may have; filters are left out.

    Clients send many others with every request (`readonly`, `session_id`, …), which are ignored.

    Raises:
        StatementRefused: A value is not allowed, or a setting that must not be ignored is there.
    """
    chosen = {}
    for name, value in parameters.items():
        if name in LIMITS or _is_choice(name):
            chosen[name] = _checked(name, value)
        elif _NEVER_IGNORED.fullmatch(name) and name != FILTERS and value not in ("", "0", "false"):
            raise _refused(name)
    return chosen


def from_statement(clause: Mapping[str, Any]) -> dict[str, str]:
    """
    Return the settings of a SETTINGS clause, as parseQueryToJSON gives them; filters are left out.

    Raises:
        StatementRefused: A setting or its value is not allowed.
    """
    chosen = {}
    for name, field in clause.items():
        if name == FILTERS:
            continue
        if name not in LIMITS and not _is_choice(name):
            raise _refused(name)
        value = field.get("value")
        if not isinstance(value, str | int | float):
            raise StatementRefused(f"the value of the setting {name} is not allowed", "give a number or a word")
        chosen[name] = _checked(name, str(int(value)) if isinstance(value, bool) else str(value))
    return chosen


def within(limits: Mapping[str, str], *requested: Mapping[str, str]) -> dict[str, str]:
    """Return the limits with the settings of a statement; of each limit the smallest value counts, 0 counts as none."""
    merged = dict(limits)
    for settings in requested:
        for name, value in settings.items():
            if name not in LIMITS or _is_less(value, merged.get(name, "0")):
                merged[name] = value
    return merged


def filters(clause: Mapping[str, Any]) -> list[tuple[str, str]]:
    """
    Return table and condition of each filter of a SETTINGS clause, unchecked.

    Raises:
        StatementRefused: It is not a map of texts.
    """
    field = clause.get(FILTERS, {"field_type": "Map", "value": []})
    pairs = field.get("value") if field.get("field_type") == "Map" else None
    parts = [[part.get("value") for part in each.get("value", ())] for each in pairs or ()]
    if pairs is None or not all(len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in parts):
        raise StatementRefused(f"{FILTERS} must be a map of texts", "write {'table': 'condition'}")
    return [(table, condition) for table, condition in parts]


def _is_less(value: str, limit: str) -> bool:
    return float(value) > 0 and (float(limit) == 0 or float(value) < float(limit))


def _is_choice(name: str) -> bool:
    return name in _CHOICES or bool(_OUTPUT.fullmatch(name))


def _checked(name: str, value: str) -> str:
    if name in LIMITS:
        pattern = r"\d{1,18}(\.\d{0,9})?" if name == "max_execution_time" else r"\d{1,18}"
    elif _SIZE_OF_A_PART.match(name):
        if not _SIZES.fullmatch(value):
            what = f"{printable(value)[:40]!r} is not allowed for the setting {name}"
            raise StatementRefused(what, "use 1000 or more: a file of smaller parts takes minutes to write")
        return value
    else:
        pattern = _CHOICES.get(name, _OUTPUT_VALUE.pattern)
    if not re.fullmatch(pattern, value):
        raise StatementRefused(f"{printable(value)[:40]!r} is not allowed for the setting {name}", "see ClickHouse's")
    return value


def _refused(name: str) -> StatementRefused:
    return StatementRefused(
        f"the setting {printable(name)[:80]} is not allowed",
        "leave it out; limits (max_execution_time, max_result_rows …), session_timezone, join_use_nulls and"
        " output_format_… can be set",
    )
