"""
Celery: every run of a task is a transaction of kind consumer, named after the task; the message's headers tell it who
sent it, and when, so that the time in the queue is known. Sending is the component `celery.publish`.

A run that asks for a retry has failed, as `Retry`; the next run is a transaction of its own in the same trace.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from celery import signals
from celery.app import trace
from celery.app.base import Celery
from celery.exceptions import TaskPredicate

from walltime import runtime
from walltime.errors import contain, guarded
from walltime.instrumentation.expected import expect, failure_of
from walltime.instrumentation.patching import Hook, Patch
from walltime.instrumentation.timed import timed
from walltime.servers.jobs.job import Job, headers_for_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Target

REQUIRES: Final = "celery >= 5.2, < 6"

_SENT_AT: Final = "walltime-sent-at-ns"
"""Header of the message: the Unix time of its sending, in ns."""
_FAILURES: Final = frozenset({"FAILURE", "RETRY"})

_brokers: WeakKeyDictionary[Celery, Target] = WeakKeyDictionary()


expect(TaskPredicate)


def patches() -> list[Patch | Hook]:
    return [
        Patch(trace, "build_tracer", _traced),
        Patch(Celery, "send_task", timed("celery", "celery.publish", _broker).call),
        Hook(
            lambda: signals.before_task_publish.connect(_publish, weak=False),
            lambda: signals.before_task_publish.disconnect(_publish),
        ),
        Hook(
            lambda: signals.worker_process_shutdown.connect(_exit, weak=False),
            lambda: signals.worker_process_shutdown.disconnect(_exit),
        ),
    ]


def _traced(original: Callable[..., Any]) -> Callable[..., Any]:
    def build_tracer(name: str, task: Any, *args: Any, **kwargs: Any) -> Any:
        tracer = original(name, task, *args, **kwargs)
        try:
            return _run(tracer, name)
        except Exception as ours:
            contain("celery", ours)
            return tracer

    return build_tracer


def _run(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def trace_task(uuid: Any, args: Any, kwargs: Any, request: Any = None) -> Any:
        job = Job(name)
        sent = _sent(request)
        job.begin(sent, _ready_at_ns(sent))
        try:
            result = original(uuid, args, kwargs, request)
        except BaseException as error:
            job.end(failure_of(error))
            raise
        _note(job, uuid, request)
        job.end(_failure(result))
        return result

    return trace_task


@guarded("celery", dict)
def _sent(request: Any) -> dict[str, Any]:
    """The headers of the message, which Celery has among its own."""
    return {**request, **(request.get("headers") or {})} if isinstance(request, dict) else {}


@guarded("celery")
def _ready_at_ns(sent: dict[str, Any]) -> int | None:
    """From when it could have run: when it was sent, or its `eta`, if that is later."""
    sent_at_ns = sent.get(_SENT_AT)
    moments_ns = [sent_at_ns] if type(sent_at_ns) is int else []
    with suppress(ValueError):
        if eta := sent.get("eta"):
            moments_ns.append(round(datetime.fromisoformat(str(eta).replace("Z", "+00:00")).timestamp() * 1e9))
    return max(moments_ns, default=None)


@guarded("celery")
def _note(job: Job, uuid: Any, request: Any) -> None:
    job.note("messaging.message.id", str(uuid))
    if isinstance(request, dict) and request.get("retries"):
        job.note("celery.retries", int(request["retries"]))


@guarded("celery")
def _failure(result: Any) -> str | None:
    """None, or the class of what it failed by; ignored and rejected messages did not fail."""
    info = result[1]
    return None if info is None or info.state not in _FAILURES else type(info.retval).__name__


@guarded("celery")
def _publish(headers: Any = None, **_: Any) -> None:
    if isinstance(headers, dict) and runtime.is_enabled():
        headers.update(headers_for_job())
        headers[_SENT_AT] = time.time_ns()


def _exit(**_: Any) -> None:
    """A process of the prefork pool ends by `os._exit`, past atexit."""
    runtime.shutdown()


def _broker(app: Any) -> Target:
    target = _brokers.get(app)
    if target is None:
        connection = app.connection_for_write()
        target = _brokers[app] = (str(connection.hostname or connection.transport_cls), int(connection.port or 0))
    return target
