"""
Requests on threads that share an interpreter, simulated by mechanism: who returns from a call needs the GIL again.

One thread runs at a time. Who waits gets the GIL when the holder waits or ends, or after the switch interval of 5 ms.
The wait is a part of the call that it returns from, or outside of calls where it was interrupted.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.collector.query.showing import make
from tests.collector.traffic import MS, Sent, SentCall, Value

SWITCH_NS = 5 * MS
Step = tuple[str, int]
"""A component and its time without others, or "" and computing."""


@dataclass
class Request:
    name: str
    steps: Sequence[Step]
    started_ns: int = 0
    at: int = 0
    left_ns: int = 0
    computed_ns: int = 0
    called_ns: int = 0
    """When the call began that it is in, or returns from."""
    calls: list[SentCall] = field(default_factory=list)


def page(rng: random.Random, compute_ms: float, cache_ms: float, database_ms: float) -> Request:
    """Looks up, computes, queries, computes."""

    def log(mean_ms: float) -> int:
        return int(mean_ms * rng.lognormvariate(-0.03, 0.25) * MS)

    compute = log(compute_ms / 3), log(compute_ms / 3), log(compute_ms / 3)
    calls = ("memcache.get", log(cache_ms)), ("mysql.query", log(database_ms))
    return Request("page", [("", compute[0]), calls[0], ("", compute[1]), calls[1], ("", compute[2])])


def served(
    rng: random.Random, arriving: Iterator[tuple[int, Request]], threads: int, *, host: str, kind: str
) -> Iterator[Sent]:
    """What one process sends of the requests that arrive at these times, in order; they queue for a free thread."""
    events: list[tuple[int, int, str, Request]] = []
    for at, (ns, request) in enumerate(arriving):
        heapq.heappush(events, (ns, at, "arrives", request))
    order, free = len(events), threads
    queue: deque[Request] = deque()
    ready: deque[Request] = deque()
    holder: Request | None = None

    def push(ns: int, what: str, request: Request) -> None:
        nonlocal order
        order += 1
        heapq.heappush(events, (ns, order, what, request))

    while events:
        now_ns, _, what, request = heapq.heappop(events)
        if what == "arrives":
            queue.append(request)
        elif what == "returns":
            ready.append(request)
        elif what == "ran":
            holder = None
            if request.left_ns > 0:
                ready.append(request)
            elif request.at + 1 == len(request.steps):
                free += 1
                yield _sent(rng, request, now_ns, host, kind)
            else:
                request.at += 1
                request.called_ns = now_ns
                push(now_ns + request.steps[request.at][1], "returns", request)
        while free and queue:
            free -= 1
            begun = queue.popleft()
            begun.started_ns, begun.left_ns = now_ns, begun.steps[0][1]
            ready.append(begun)
        if holder is None and ready:
            holder = ready.popleft()
            if holder.called_ns:
                offset_ns = holder.called_ns - holder.started_ns
                holder.calls.append(SentCall(holder.steps[holder.at][0], offset_ns, now_ns - holder.called_ns, _AT))
                holder.called_ns, holder.at = 0, holder.at + 1
                holder.left_ns = holder.steps[holder.at][1]
            # alone it goes on; a slice is short enough that who comes in between hardly waits longer than the interval
            slice_ns = min(holder.left_ns, SWITCH_NS)
            holder.left_ns -= slice_ns
            holder.computed_ns += slice_ns
            push(now_ns + slice_ns, "ran", holder)


_AT: dict[str, Value] = {"server.address": "10.0.0.5", "server.port": 3306}


def _sent(rng: random.Random, request: Request, now_ns: int, host: str, kind: str) -> Sent:
    cpu: dict[str, Value] = {"walltime.cpu_user_ns": request.computed_ns, "walltime.cpu_system_ns": 0}
    return make(
        f"GET /{kind} {request.name}",
        trace=f"{rng.getrandbits(128) | 1:032x}",
        started_ns=request.started_ns,
        duration_ns=now_ns - request.started_ns,
        host=host,
        calls=request.calls,
        attributes=cpu,
    )
