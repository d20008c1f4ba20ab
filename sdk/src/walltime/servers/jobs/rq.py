"""
RQ: every run of a job is a transaction of kind consumer, named after its function; the job's `meta` tells it who sent
it, under the key `walltime`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rq import Queue
from rq.job import Job as RQJob
from rq.worker import BaseWorker

from walltime import runtime
from walltime.errors import guarded
from walltime.instrumentation.expected import failure_of
from walltime.instrumentation.patching import Patch
from walltime.servers.jobs.job import Job, headers_for_job

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "rq >= 2.0, < 4"

_META: Final = "walltime"


def patches() -> list[Patch]:
    return [
        Patch(RQJob, "perform", _performed),
        Patch(BaseWorker, "perform_job", _sent_before_exit),
        Patch(Queue, "create_job", _created),
        *[Patch(Queue, method, _signed) for method in ("enqueue_job", "schedule_job")],
    ]


def _performed(original: Callable[..., Any]) -> Callable[..., Any]:
    def perform(self: RQJob) -> Any:
        job = _begin(self)
        try:
            result = original(self)
        except BaseException as error:
            job.end(failure_of(error))
            raise
        job.end()
        return result

    return perform


@guarded("rq", lambda: Job(""))
def _begin(rq_job: RQJob) -> Job:
    job = Job(str(rq_job.func_name))
    queued_at = rq_job.enqueued_at
    sent = rq_job.meta.get(_META) if isinstance(rq_job.meta, dict) else None
    job.begin(sent or {}, None if queued_at is None else round(queued_at.timestamp() * 1e9))
    job.note("messaging.message.id", str(rq_job.id))
    return job


@guarded("rq")
def _sign(job: RQJob) -> None:
    headers = headers_for_job()
    if headers and isinstance(job.meta, dict):
        job.meta = {**job.meta, _META: headers}  # a copy: the application may give one dict to many jobs


def _created(original: Callable[..., Any]) -> Callable[..., Any]:
    """Whatever a queue does with jobs that it makes itself: `enqueue_many` has no other method in common."""

    def create_job(self: Queue, *args: Any, **kwargs: Any) -> RQJob:
        job: RQJob = original(self, *args, **kwargs)
        _sign(job)
        return job

    return create_job


def _signed(original: Callable[..., Any]) -> Callable[..., Any]:
    """A job that the application has made."""

    def method(self: Queue, job: RQJob, *args: Any, **kwargs: Any) -> Any:
        _sign(job)
        return original(self, job, *args, **kwargs)

    return method


def _sent_before_exit(original: Callable[..., Any]) -> Callable[..., Any]:
    def perform_job(self: BaseWorker, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        finally:
            if getattr(self, "_is_horse", False):  # this process was made for the job and ends by `os._exit`
                runtime.shutdown()

    return perform_job
