"""A job that a queue hands to a worker, as every queue's module sees it: a transaction of kind consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from walltime import runtime
from walltime.core.call import line
from walltime.core.execution import ExecutionContext, current
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.propagation import propagation
from walltime.servers.request.headers import caller

if TYPE_CHECKING:
    from collections.abc import Mapping


class Job:
    """
    What runs the job's function with its transaction around it.

    Inside another transaction (a queue that runs its jobs at once, as tests have it) it is a component of that one.
    """

    __slots__ = ("_execution", "_opened", "_outer_ns", "_started_ns", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._opened: runtime.Open | None = None
        self._execution: ExecutionContext | None = None

    def begin(self, sent: Mapping[str, Any], queued_ns: int | None) -> None:
        """
        Open the transaction. Never raises.

        Args:
            sent: what the sender put beside the job, `headers_for_job`.
            queued_ns: Unix time from when the job could have run, if that is known.
        """
        try:
            if not runtime.is_enabled():
                return
            execution = current()
            self._started_ns = clock()
            if execution is not None and not execution.transaction.duration_ns:  # else it is left over, as in a thread
                self._execution = execution
                self._outer_ns = execution.nested_ns
                return
            opened = runtime.Open(self.name, "consumer", caller(_as_headers(sent)), self._started_ns)
            if queued_ns is not None:
                opened.transaction.queue_ns = max(0, opened.transaction.started_at_ns - queued_ns)
            opened.enter(runtime.running_task())
            self._opened = opened
        except Exception as ours:
            contain("job", ours)

    def end(self, failure: str | None = None) -> None:
        """Close it; `failure` says in a word what went wrong. Never raises."""
        try:
            execution = self._execution
            if execution is not None:
                execution.record(line(self.name), None, self._started_ns, clock(), self._outer_ns, failure)
            elif self._opened is not None:
                if failure is not None:
                    self._opened.transaction.fail(failure)
                self._opened.finish()
        except Exception as ours:
            contain("job", ours)

    def note(self, key: str, value: str | int) -> None:
        """Attach a fact to the transaction. Never raises."""
        try:
            if self._opened is not None:
                self._opened.transaction.annotate(key, value)
        except Exception as ours:
            contain("job", ours)


def headers_for_job() -> dict[str, str]:
    """Return what goes with a job that the running transaction sends: where it is in the trace. Never raises."""
    try:
        execution = current()
        if execution is not None:
            return dict(propagation.outgoing_headers(execution.transaction))
    except Exception as ours:
        contain("job", ours)
    return {}


def _as_headers(sent: Mapping[str, Any]) -> dict[str, str]:
    return {
        "HTTP_" + name.upper().replace("-", "_"): value
        for name, value in sent.items()
        if type(name) is str and type(value) is str
    }
