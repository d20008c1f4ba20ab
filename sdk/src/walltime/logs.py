"""
The request id in the application's log records, for `walltime show`.

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
    Adds `request_id`, `trace_id` and `span_id` of the running transaction ('' outside of one) to every record.

    Add it to a handler: a logger's filter sees only the records of that logger. With logging.config:

        "filters": {"walltime": {"()": "walltime.logs.RequestFilter"}},
        "handlers": {"default": {"filters": ["walltime"], …}}

    The request id is the trace id, as in the SQL comments and for `walltime show`. Existing fields of a record stay, so
    a record that another thread handles keeps its request.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            fields = vars(record)
            for name, value in zip(FIELDS, _ids(), strict=True):
                fields.setdefault(name, value)
        except Exception as ours:  # our failure is not the log's
            contain("logs", ours)
        return True


def add_request(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the three fields within a transaction; a processor for structlog."""
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
