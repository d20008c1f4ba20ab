"""The tasks test_celery.py runs on real workers; the broker is a Redis server, WALLTIME_TEST_REDIS says where."""

from __future__ import annotations

import os
from typing import Any

import walltime
from celery import Celery, Task
from celery.exceptions import Ignore, Reject

BROKER = os.environ.get("WALLTIME_TEST_REDIS", "memory://")

if os.environ.get("WALLTIME_TEST_WORKER"):
    walltime.instrument()

app = Celery("shop", broker=BROKER, backend=BROKER if BROKER.startswith("redis") else "cache+memory://")
app.conf.update(
    task_ignore_result=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=False,
    task_acks_late=False,
    redis_socket_timeout=10,
)


@app.task(name="shop.mail")  # type: ignore[untyped-decorator]
def mail(to: int) -> str:
    with walltime.component("smtp"):
        return f"{to} {walltime.current().request_id}"


@app.task(name="shop.fails")  # type: ignore[untyped-decorator]
def fails() -> None:
    raise LookupError("mine")


# Celery sends the next run before it stores RETRY for this one, and does not compare and store in one step: on a busy
# machine RETRY may replace the SUCCESS of the last run, in another process. So only the last run stores its outcome.
@app.task(name="shop.retries", bind=True, max_retries=2, ignore_result=True)  # type: ignore[untyped-decorator]
def retries(self: Task) -> None:
    if self.request.retries < 2:
        raise self.retry(countdown=0, exc=ConnectionError("once more"))
    self.update_state(state="SUCCESS", meta="done")


@app.task(name="shop.ignored")  # type: ignore[untyped-decorator]
def ignored() -> None:
    raise Ignore


@app.task(name="shop.rejected")  # type: ignore[untyped-decorator]
def rejected() -> None:
    raise Reject("not for us", requeue=False)


@app.task(name="shop.sends")  # type: ignore[untyped-decorator]
def sends() -> Any:
    return mail.delay(7).id


@app.task(name="shop.add")  # type: ignore[untyped-decorator]
def add(*numbers: Any) -> int:
    return sum(number if isinstance(number, int) else sum(number) for number in numbers)


@app.task(name="shop.later", bind=True, max_retries=1)  # type: ignore[untyped-decorator]
def later(self: Task) -> None:
    if not self.request.retries:
        raise self.retry(countdown=0.5)


@app.task(name="shop.replaced", bind=True)  # type: ignore[untyped-decorator]
def replaced(self: Task) -> Any:
    raise self.replace(add.s(1, 2))
