"""What one can choose at the top of a dashboard."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import QueryVariable, TextBoxVariable
from grafana_foundation_sdk.models.dashboard import VariableOption, VariableRefresh, VariableSort

from .source import SOURCE, sql

ALL = VariableOption(selected=True, text=["All"], value=["$__all"])


def service() -> QueryVariable:
    """`${service:singlequote}`: one, several, or all."""
    return _several("service", "Service", "services")


def kind() -> QueryVariable:
    """`${kind:singlequote}`: the names of the chosen services' transactions; one, several, or all."""
    return _several("kind", "Kind of transaction", "kinds_of_services")


def trace_id() -> TextBoxVariable:
    """`${trace_id:singlequote}`: what somebody pasted; queries look for 32 hexadecimal digits in it."""
    box = TextBoxVariable("trace_id")
    box.label("Trace id or traceparent (empty: the slowest)")
    box.default_value("")
    box.current(VariableOption(selected=True, text="", value=""))
    return box


def _several(name: str, label: str, query: str) -> QueryVariable:
    # one column only: plugin 4 before 4.15 fails on a second one in a new Grafana
    variable = QueryVariable(name)
    variable.label(label)
    variable.datasource(SOURCE)
    variable.query(sql(query))
    variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    variable.sort(VariableSort.ALPHABETICAL_ASC)
    variable.multi(True)
    variable.include_all(True)
    variable.current(ALL)
    return variable
