"""Tasks of Trio, and of AnyIO on it, count like those of asyncio."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest
import walltime

from tests.sdk.clients.http.upstream import Upstream
from tests.sdk.sink import Sink

trio = pytest.importorskip("trio")
SIZE_S = 0.02


def child() -> None:
    with walltime.component("child"):
        time.sleep(SIZE_S)


async def gets(upstream: Upstream, start: Callable[..., Any]) -> None:
    async with httpx.AsyncClient() as client, start() as group:
        for _ in range(4):
            group.start_soon(client.get, f"{upstream.url}/slow")


@pytest.mark.parametrize(
    ("run", "start"),
    [
        (trio.run, trio.open_nursery),
        (lambda main, *args: anyio.run(main, *args, backend="trio"), anyio.create_task_group),
        (anyio.run, anyio.create_task_group),
    ],
    ids=["trio", "anyio on trio", "anyio on asyncio"],
)
def test_requests_at_the_same_time_count_whole_on_each_event_loop(
    recorded: Sink, upstream: Upstream, run: Any, start: Any
) -> None:
    async def main() -> None:
        with walltime.transaction("job"):
            await gets(upstream, start)

    run(main)
    (bill,) = recorded.transactions()
    requests = recorded.calls("http.request")
    assert len(requests) == 4
    whole_ns = sum(call.attributes.get("walltime.own_ns", call.duration_ns) for call in requests)
    assert whole_ns >= 4 * upstream.late_s * 1e9
    assert bill.attributes["walltime.covered_ns"] <= bill.duration_ns


def test_components_of_trio_tasks_are_not_nested_and_a_thread_of_trio_is_a_branch(recorded: Sink) -> None:
    async def part(name: str, seconds: float) -> None:
        with walltime.component(name):
            await trio.sleep(seconds)

    async def main() -> None:
        with walltime.transaction("job"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(part, "parent", 3 * SIZE_S)
                nursery.start_soon(part, "inner", SIZE_S)
                nursery.start_soon(trio.to_thread.run_sync, child)

    trio.run(main)
    (bill,) = recorded.transactions()
    assert bill.cell("parent") == bill.cell("inner") == bill.cell("child") == {"calls": 1}
    (call,) = recorded.calls("parent")
    assert call.attributes.get("walltime.own_ns", call.duration_ns) == call.duration_ns
