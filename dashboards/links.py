"""Where a click leads: to a kind, to a transaction, to another board, to Walltime's pages."""

from __future__ import annotations

from typing import Any

UIDS = {
    "start": "walltime-start",
    "response_time": "walltime-response-time",
    "kind": "walltime-kind",
    "transaction": "walltime-transaction",
    "mysql": "walltime-mysql",
    "statements": "walltime-statements",
    "caches": "walltime-caches",
    "http": "walltime-http",
    "incidents": "walltime-incidents",
    "before_after": "walltime-before-and-after",
    "collector": "walltime-collector",
    "slo": "walltime-slo",
}
"""The boards' uids: addresses people keep, so they never change."""
TAG = "walltime"
_FILTERS = ("host", "version", "environment", "filter")
_KEPT = "&".join(f"${{{name}:queryparam}}" for name in ("datasource", *_FILTERS, "walltime_url"))
_SERVICE = "var-service=${__data.fields.service:percentencode}"
_KIND = "var-kind=${__data.fields.kind:percentencode}"

Link = dict[str, Any]


def to_board(name: str, title: str, *given: str) -> Link:
    """To another board, the time kept, with these variables (`var-name=value`)."""
    return _link(title, f"/d/{UIDS[name]}?${{__url_time_range}}&{'&'.join((_KEPT, *given))}")


def to_service() -> Link:
    """From a row with the column service."""
    return to_board("response_time", "The response time of this service", _SERVICE)


def to_kind() -> Link:
    """From a row with the columns service and kind."""
    return to_board("kind", "This kind", _SERVICE, _KIND)


def to_kind_of_series() -> Link:
    """From a series with the label kind."""
    return to_board("kind", "This kind", "var-kind=${__field.labels.kind:percentencode}")


def to_transaction() -> Link:
    """From a cell that holds a trace id."""
    return to_board("transaction", "This transaction", "var-trace_id=${__value.raw:percentencode}")


def to_statement() -> Link:
    """From a row with the column statement."""
    return to_board("statements", "This statement over time", "var-statement=${__data.fields.statement:percentencode}")


def to_server(component: str) -> Link:
    """From a cell with a server to its page, which is about one component on it."""
    return to_page(f"/servers/{component}/${{__value.raw:percentencode}}", "This server in Walltime")


def to_statement_page() -> Link:
    """From a row with the columns statement and id, to the statement's page."""
    return to_page("/statements/${__data.fields.id}", "This statement in Walltime")


def to_page(path: str, title: str) -> Link:
    """To one of Walltime's pages; the path is a template as Grafana's."""
    return _link(title, "${walltime_url}" + path)


def to_comparison() -> Link:
    """From a board that compares two times or versions, to the page that tests each difference of the same."""
    given = (*_FILTERS, "service", "kind", "against", "old_version", "new_version")
    params = "&".join(("${__url_time_range}", *(f"${{{name}:queryparam}}" for name in given)))
    return to_page(f"/grafana?{params}", "Is it chance? The comparison in Walltime")


def of_board() -> list[Link]:
    """At the top of each board: to the others, and to the same time and kinds in Walltime's pages."""
    always = {"asDropdown": True, "icon": "external link", "keepTime": True, "includeVars": True, "targetBlank": False}
    boards = {**always, "title": "Walltime", "type": "dashboards", "tags": [TAG], "url": "", "tooltip": ""}
    pages = {**always, "title": "In Walltime", "type": "link", "tags": [], "url": "${walltime_url}/grafana"}
    return [boards, {**pages, "asDropdown": False, "tooltip": "The same time and kinds in Walltime's own pages"}]


def _link(title: str, url: str) -> Link:
    return {"title": title, "url": url, "targetBlank": False}
