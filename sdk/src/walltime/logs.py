"""
The request id in the application's own log records, so that a line of the log leads to `walltime show`.

    handler.addFilter(walltime.logs.RequestFilter())      # logging: %(request_id)s in the format
    structlog.configure(processors=[walltime.logs.add_request, …])
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from walltime.core.execution import current
from walltime.errors import contain

if TYPE_CHECKING:
    from collections.abc import MutableMapping

FIELDS: Final = ("request_id", "trace_id", "span_id")


class RequestFilter(logging.Filter):
    """
    Lets every record pass, with `request_id`, `trace_id` and `span_id` of the running transaction, or '' outside.

    For a handler: a logger's filter sees only what is logged to that very logger. With logging.config:

        "filters": {"walltime": {"()": "walltime.logs.RequestFilter"}},
        "handlers": {"default": {"filters": ["walltime"], …}}

    The request id is the trace id: what `walltime show` takes, and what the SQL comments carry. What a record says
    already stays, so one that is handled in another thread keeps the request it was made in.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = vars(record)
            for name, value in zip(FIELDS, _ids(), strict=True):
                said.setdefault(name, value)
        except Exception as ours:  # our failure is not the log's
            contain("logs", ours)
        return True


def add_request(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Do the same as a processor of structlog: adds the three within a transaction, and nothing outside."""
    try:
        for name, value in zip(FIELDS, _ids(), strict=True):
            if value:
                event.setdefault(name, value)
    except Exception as ours:
        contain("logs", ours)
    return event


def _ids() -> tuple[str, str, str]:
    execution = current()
    if execution is None:
        return "", "", ""
    ids = execution.transaction.ids
    trace_id = format(ids.trace_id, "032x")
    return trace_id, trace_id, format(ids.span_id, "016x")
