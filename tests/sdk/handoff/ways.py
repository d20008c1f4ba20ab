"""The ways in which a program hands work over to threads, tasks and greenlets, each with so many workers at once."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio.to_thread
import gevent
import gevent.pool
from asgiref.sync import sync_to_async
from gevent.threadpool import ThreadPool
from starlette.concurrency import run_in_threadpool

Job = Callable[[], Any]
WORKERS = 3


def by_thread(job: Job) -> None:
    threads = [threading.Thread(target=job) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def by_thread_of_its_own_class(job: Job) -> None:
    class Worker(threading.Thread):
        def run(self) -> None:  # without super().run()
            job()

    threads = [Worker() for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def by_timer(job: Job) -> None:
    timers = [threading.Timer(0, job) for _ in range(WORKERS)]
    for timer in timers:
        timer.start()
    for timer in timers:
        timer.join()


def by_submit(job: Job) -> None:
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(job) for _ in range(WORKERS)]:
            future.result()


def by_map(job: Job) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: job(), range(WORKERS)))


def by_to_thread(job: Job) -> None:
    async def main() -> None:
        await asyncio.gather(*(asyncio.to_thread(job) for _ in range(WORKERS)))

    asyncio.run(main())


def by_run_in_executor(job: Job) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, job) for _ in range(WORKERS)))

    asyncio.run(main())


def by_context_run(job: Job) -> None:
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(contextvars.copy_context().run, job) for _ in range(WORKERS)]:
            future.result()


def by_anyio(job: Job) -> None:
    async def main() -> None:
        await asyncio.gather(*(anyio.to_thread.run_sync(job) for _ in range(WORKERS)))

    asyncio.run(main())


def by_starlette(job: Job) -> None:
    async def main() -> None:
        await asyncio.gather(*(run_in_threadpool(job) for _ in range(WORKERS)))

    asyncio.run(main())


def by_asgiref(job: Job) -> None:
    async def main() -> None:
        await asyncio.gather(*(sync_to_async(job, thread_sensitive=False)() for _ in range(WORKERS)))

    asyncio.run(main())


def by_spawn(job: Job) -> None:
    gevent.joinall([gevent.spawn(job) for _ in range(WORKERS)], raise_error=True)


def by_spawn_later(job: Job) -> None:
    gevent.joinall([gevent.spawn_later(0.001, job) for _ in range(WORKERS)], raise_error=True)


def by_pool(job: Job) -> None:
    gevent.pool.Pool(2).map(lambda _: job(), range(WORKERS))


def by_imap(job: Job) -> None:
    list(gevent.pool.Group().imap_unordered(lambda _: job(), range(WORKERS)))


def by_threadpool(job: Job) -> None:
    pool = ThreadPool(2)
    try:
        for result in [pool.spawn(job) for _ in range(WORKERS)]:
            result.get()
    finally:
        pool.kill()


THREADS = [
    by_thread, by_thread_of_its_own_class, by_timer, by_submit, by_map, by_to_thread, by_run_in_executor,
    by_context_run, by_anyio, by_starlette, by_asgiref, by_threadpool,
]  # fmt: skip
GREENLETS = [by_spawn, by_spawn_later, by_pool, by_imap]
