"""Calls inside calls, when describing some of them fails: no nanosecond is counted twice, no other call is lost."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest
import walltime
from hypothesis import given
from hypothesis import strategies as st
from walltime import errors
from walltime.core.execution import enter, running
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction
from walltime.instrumentation.timed import timed, waited

from tests.sdk.sink import Sink


@pytest.fixture(autouse=True)
def _contained(recorded: Sink, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Failures of ours are contained here, as in production; `recorded` would have them raised."""
    monkeypatch.delenv("WALLTIME_TESTING_RAISE")
    yield
    assert set(errors.contained) <= {"ours", "pool"}
    errors.contained.clear()


def _breaks(_of: object) -> None:
    raise ZeroDivisionError("ours")


class Pool:
    """A pool that connects, and looks whether the connection lives."""

    connect = timed("ours", "mysql.connect", lambda _: ("db", 1)).call(lambda self: time.sleep(0.05))
    ping = timed("ours", "mysql.ping", _breaks).call(lambda self: time.sleep(0.01))

    def _take(self) -> None:
        self.connect()
        self.ping()

    take = timed("ours", "mysql.pool", lambda _: ("db", 1)).call(_take)


class AsyncPool:
    connect = timed("ours", "mysql.connect", lambda _: ("db", 1)).awaited(lambda self: asyncio.sleep(0.05))
    ping = timed("ours", "mysql.ping", _breaks).awaited(lambda self: asyncio.sleep(0.01))

    async def _take(self) -> None:
        await self.connect()
        await self.ping()

    take = timed("ours", "mysql.pool", lambda _: ("db", 1)).awaited(_take)


def take() -> None:
    with walltime.transaction("job"):
        Pool().take()


def take_in_a_task() -> None:
    async def job() -> None:
        with walltime.transaction("job"):
            await AsyncPool().take()

    asyncio.run(job())


@pytest.mark.parametrize("way", [take, take_in_a_task])
def test_a_call_that_cannot_be_described_does_not_double_the_one_beside_it(recorded: Sink, way: Any) -> None:
    way()
    bill = recorded.transaction()
    covered_ns, times_ns = bill.attributes["walltime.covered_ns"], bill.times_ns()
    assert covered_ns == sum(times_ns.values()) <= bill.duration_ns
    assert times_ns.keys() == {"mysql.connect", "mysql.pool"}
    assert bill.cell("mysql.connect") == bill.cell("mysql.pool") == {"calls": 1}
    # The ping is the pool's time now, which is where it was measured; the connect is not.
    assert times_ns["mysql.pool"] >= 10_000_000
    assert times_ns["mysql.pool"] + times_ns["mysql.connect"] <= bill.duration_ns


# ---- any calls in any calls ----


@dataclass
class Node:
    """A call that takes so long before, between and after those inside it."""

    way: str
    fails: bool
    describes: bool
    own_ns: int
    inside: list[Node] = field(default_factory=list)


nodes = st.recursive(
    st.builds(Node, st.sampled_from(["timed", "waited", "component"]), st.booleans(), st.booleans(),
              st.integers(0, 300_000)),
    lambda inner: st.builds(Node, st.sampled_from(["timed", "waited", "component"]), st.booleans(), st.booleans(),
                            st.integers(0, 300_000), st.lists(inner, max_size=4)),
    max_leaves=20,
)  # fmt: skip


class Stage:
    """Runs them by a clock of its own."""

    def __init__(self) -> None:
        self.now_ns = 1_000
        self.described: Counter[str] = Counter()

    def clock(self) -> int:
        return self.now_ns

    def run(self, node: Node) -> None:
        def body(_self: object) -> None:
            for each in node.inside:
                self.now_ns += node.own_ns
                with suppress(LookupError):
                    self.run(each)
            self.now_ns += node.own_ns
            if node.fails:
                raise LookupError("the application's")

        def server(_of: object) -> tuple[str, int]:
            if not node.describes:
                raise ZeroDivisionError("ours")
            return ("db", 1)

        if node.way == "component":
            with walltime.component("part"):
                body(None)
        elif node.way == "waited":
            waited("redis.pool", server).call(body)(None)
        else:
            self.described["mysql.ping"] += node.describes
            timed("ours", "mysql.ping", server).call(body)(None)


@given(nodes)
def test_whatever_is_nested_and_fails_every_nanosecond_is_on_one_line(node: Node) -> None:
    stage = Stage()
    transaction = Transaction("job", "internal", Ids(0, 0), 0, stage.now_ns)
    token = enter(transaction)
    try:
        with (
            mock.patch("walltime.instrumentation.template.clock", stage.clock),
            mock.patch("walltime.api.clock", stage.clock),
            pytest.raises(LookupError) if node.fails else nullcontext(),
        ):
            stage.run(node)
    finally:
        running.reset(token)
    elapsed_ns = stage.now_ns - transaction.started_ns
    bill = transaction.add_up(detail=True)
    assert bill.covered_ns == bill.time_ns <= elapsed_ns
    assert all(0 <= cell.max_ns <= cell.time_ns for cell in bill.components.values())
    assert all(cell.max_ns == cell.time_ns for cell in bill.components.values() if cell.calls == 1)
    ping = bill.components.get("mysql.ping")
    assert (0 if ping is None else ping.calls) == stage.described["mysql.ping"]
    if node.way == "component" or (node.way == "timed" and node.describes):  # the outermost call is on the bill
        assert bill.covered_ns == elapsed_ns
