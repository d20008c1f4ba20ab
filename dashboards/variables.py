"""What one can choose at the top of every dashboard."""

from __future__ import annotations

from typing import Any

from .source import PLUGIN, SOURCE, sql

ALL = {"selected": True, "text": ["All"], "value": ["$__all"]}


def of_every_board() -> list[dict[str, Any]]:
    """Where the data is, which transactions, and where Walltime's own pages are."""
    return [
        box("datasource", "Data source")
        | {"type": "datasource", "query": PLUGIN},  # of none chosen Grafana takes the first
        several("service", "Service"),
        several("kind", "Kind"),
        several("host", "Host"),
        several("version", "Version"),
        several("environment", "Environment"),
        box("filter", "Annotation (key=value)"),
        box("walltime_url", "Walltime's pages", "http://127.0.0.1:8464"),
    ]


def several(name: str, label: str, query: str = "", sort: int = 1) -> dict[str, Any]:
    """
    `${name:singlequote}`, the answers of queries/variables/<query, or name>.sql: one, several, or all.

    The answer has one column: plugin 4 before 4.15 fails on a second one in a new Grafana. A variable has no id:
    Grafana 9 would store variables with equal ids as one.

    Args:
        sort: As Grafana numbers it: 1 is by name, 0 keeps the order of the answers.
    """
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": sql(f"variables/{query or name}"),
        "refresh": 2,  # whenever the time range changes
        "sort": sort,
        "multi": True,
        "includeAll": True,
        "current": ALL,
        "hide": 0,
    }


def choices(name: str, label: str, *several: str, **one: str) -> dict[str, Any]:
    """`${name:singlequote}`: one of these, several, or all; or exactly one, by the text that people see."""
    known = one or {"All": "$__all", **{value: value for value in several}}
    first = {"selected": True, "text": next(iter(known)), "value": next(iter(known.values()))}
    return {
        "name": name,
        "label": label,
        "type": "custom",
        "query": ", ".join(f"{text} : {value}" for text, value in one.items()) or ",".join(several),
        "options": [
            {"selected": value == first["value"], "text": text, "value": value} for text, value in known.items()
        ],
        "multi": not one,
        "includeAll": not one,
        "current": first if one else ALL,
        "hide": 0,
    }


def box(name: str, label: str, value: str = "") -> dict[str, Any]:
    """`${name:singlequote}`: a text that people type."""
    current = {"selected": True, "text": value, "value": value}
    return {"name": name, "label": label, "type": "textbox", "query": value, "current": current, "hide": 0}
