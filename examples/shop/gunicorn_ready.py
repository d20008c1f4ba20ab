"""Gunicorn's configuration: say when a worker has loaded the application, which gunicorn itself does not."""

from __future__ import annotations

from typing import Any


def post_worker_init(worker: Any) -> None:
    worker.log.info("Worker ready with pid: %s", worker.pid)
