"""
The body of a response of http.client: of http.client itself, and of urllib3, whose responses read from one of its.

Measured where a request has left what it was (`_walltime`); any other response is read as ever.
"""

from __future__ import annotations

from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Final

from walltime.clients.http.requests import about_body, body, read_on
from walltime.core.execution import current, elsewhere, get_ident, inherited
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Python 3.10–3.14"

_failed: Final = body("http_client", about_body).end


def patches() -> list[Patch]:
    return [
        Patch(HTTPResponse, "read", _read),
        *[Patch(HTTPResponse, name, _read_otherwise) for name in ("read1", "readinto", "readline")],
    ]


def _read(original: Callable[..., Any]) -> Callable[..., Any]:
    # Like the next one, without arguments to pack and another function to call: it is in each request of urllib3.
    def read(self: Any, amt: int | None = None) -> Any:
        step = getattr(self, "_walltime", None)
        if step is None or self.fp is None:
            return original(self, amt)
        execution = inherited()
        if execution is not None and execution.thread != get_ident():
            execution = elsewhere(execution)
        if execution is None:
            return original(self, amt)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            data = original(self, amt)
        except BaseException as error:
            _failed(execution, started_ns, clock(), outer_ns, step, (), None, error)
            raise
        ended_ns = clock()
        try:
            # With a size, it returns a body that has ended before its length as if it were whole.
            cut = "IncompleteRead" if self.fp is None and self.length else None
            read_on(execution, step, cut, started_ns, ended_ns, outer_ns)
        except Exception as ours:
            contain("http_client", ours)
        return data

    return read


def _read_otherwise(original: Callable[..., Any]) -> Callable[..., Any]:
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        step = getattr(self, "_walltime", None)
        if step is None or self.fp is None or (execution := current()) is None:
            return original(self, *args, **kwargs)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            data = original(self, *args, **kwargs) if kwargs else original(self, *args)
        except BaseException as error:
            _failed(execution, started_ns, clock(), outer_ns, step, (), None, error)
            raise
        ended_ns = clock()
        try:
            cut = "IncompleteRead" if self.fp is None and self.length else None
            read_on(execution, step, cut, started_ns, ended_ns, outer_ns)
        except Exception as ours:
            contain("http_client", ours)
        return data

    return read
