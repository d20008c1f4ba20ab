"""A job of a queue, for every queue's module: a transaction of kind consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from walltime import runtime
from walltime.core.call import line
from walltime.core.execution import ExecutionContext, current, running_task
from walltime.core.transaction import clock
from walltime.errors import guarded
from walltime.propagation import propagation
from walltime.servers.request.headers import caller

if TYPE_CHECKING:
    from collections.abc import Mapping


class Job:
    """
    The transaction around a job's function.

    Inside another transaction (a queue that runs its jobs immediately, as in tests) it is a component of that one.
    """

    __slots__ = ("_execution", "_opened", "_outer_ns", "_started_ns", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._opened: runtime.Open | None = None
        self._execution: ExecutionContext | None = None

    @guarded("job")
    def begin(self, sent: Mapping[str, Any], queued_ns: int | None) -> None:
        """
        Open the transaction. Never raises.

        Args:
            sent: the headers that the sender added to the job, see `headers_for_job`.
            queued_ns: Unix time at which the job was ready to run, if known.
        """
        if not runtime.is_enabled():
            return
        execution = current()
        self._started_ns = clock()
        if execution is not None and not execution.transaction.duration_ns:  # else it is left over
            self._execution = execution
            self._outer_ns = execution.nested_ns
            return
        opened = runtime.Open(self.name, "consumer", caller(_as_headers(sent)), self._started_ns)
        if queued_ns is not None:
            opened.transaction.queue_ns = max(0, opened.transaction.started_at_ns - queued_ns)
        opened.enter(running_task())
        self._opened = opened

    @guarded("job")
    def end(self, failure: str | None = None) -> None:
        """Close it; `failure` is one word, for example an exception's class. Never raises."""
        execution = self._execution
        if execution is not None:
            execution.record(line(self.name), None, self._started_ns, clock(), self._outer_ns, failure)
        elif self._opened is not None:
            if failure is not None:
                self._opened.transaction.fail(failure)
            self._opened.finish()

    @guarded("job")
    def note(self, key: str, value: str | int) -> None:
        """Annotate the transaction. Never raises."""
        if self._opened is not None:
            self._opened.transaction.annotate(key, value)


@guarded("job", dict)
def headers_for_job() -> dict[str, str]:
    """Return the trace headers for a job that the running transaction sends. Never raises."""
    execution = current()
    return {} if execution is None else dict(propagation.outgoing_headers(execution.transaction))


def _as_headers(sent: Mapping[str, Any]) -> dict[str, str]:
    return {
        "HTTP_" + name.upper().replace("-", "_"): value
        for name, value in sent.items()
        if type(name) is str and type(value) is str
    }
