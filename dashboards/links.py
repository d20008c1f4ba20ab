"""Where a click leads: from a table to a kind, from a kind to one of its transactions."""

from __future__ import annotations

RESPONSE_TIME = "walltime-response-time"
TRANSACTION = "walltime-transaction"
SERVERS = "walltime-servers"
"""The dashboards' uids: addresses people keep, so they never change."""

_SERVICE = "var-service=${__data.fields.service:percentencode}"
_KIND = "var-kind=${__data.fields.kind:percentencode}"

Link = dict[str, object]


def to_kind() -> Link:
    """From a row with the columns service and kind."""
    return _link("The response time of this kind", f"/d/{RESPONSE_TIME}?${{__url_time_range}}&{_SERVICE}&{_KIND}")


def to_kind_of_series() -> Link:
    """From a series that is named by kind."""
    kind = "var-kind=${__field.labels.kind:percentencode}"
    return _link("The response time of this kind", f"/d/{RESPONSE_TIME}?${{__url_time_range}}&{kind}")


def to_transaction(*, with_kind: bool = True) -> Link:
    """From a cell that holds a trace id; with_kind: the row has the columns service and kind as well."""
    chosen = f"&{_SERVICE}&{_KIND}" if with_kind else ""
    return _link(
        "This transaction",
        f"/d/{TRANSACTION}?${{__url_time_range}}&var-trace_id=${{__value.raw:percentencode}}{chosen}",
    )


def _link(title: str, url: str) -> Link:
    return {"title": title, "url": url, "targetBlank": False}
