"""A Celery worker on Redis: a task that counts the mails it sends."""

import os

import redis
from celery import Celery

REDIS = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
app = Celery("tasks", broker=REDIS)
mails = redis.Redis.from_url(REDIS)


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def send_mail(order: int) -> None:
    mails.incr("mails")
    mails.setex(f"mail:{order}", 3600, "sent")
