"""What the limits of connections count, which connection is closed first, and how the descriptors are divided."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.config.settings import Settings
from walltime_collector.health.counters import Health
from walltime_collector.http.ports.connections import Connections, Limits, Slot
from walltime_collector.http.ports.deadlines import MIN_BYTES_PER_S, ReadingDeadline
from walltime_collector.http.ports.descriptors import RESERVE, divide


class Open:
    """A connection that is idle since a time, or busy."""

    def __init__(self, slot: Slot, since_s: float | None) -> None:
        self.slot, self.since_s, self.is_closed = slot, since_s, False
        slot.connection = self

    def sweep(self, now_s: float) -> None: ...

    def idle_since_s(self) -> float | None:
        return self.since_s

    def unread_bytes(self) -> int:
        return 0

    def drain(self) -> None: ...

    def abort(self) -> None:
        self.is_closed = True
        self.slot.leave()


def opened(connections: Connections, host: str, since_s: float | None, port: str = "web") -> Open:
    slot = connections.enter(port, host)
    assert slot is not None
    return Open(slot, since_s)


def test_the_longest_idle_connection_of_the_largest_client_is_closed_and_never_a_busy_one() -> None:
    now_s = [0.0]
    connections = Connections(Health(), Limits(5, 5, 1, "max"), lambda: now_s[0])
    alone = opened(connections, "10.0.0.1", 1.0)
    busy = opened(connections, "10.0.0.2", None)
    later, earlier = opened(connections, "10.0.0.2", 3.0), opened(connections, "10.0.0.2", 2.0)
    other_port = opened(connections, "10.0.0.2", 1.5, "clickhouse")
    assert connections.should_wait()
    now_s[0] = 4.0
    assert not connections.should_wait()
    closed = []
    for _ in range(4):
        opened(connections, "10.0.0.9", None)
        closed.append([name for name, each in locals().items() if isinstance(each, Open) and each.is_closed])
    assert [len(each) for each in closed] == [1, 2, 3, 4]
    assert closed[0] == ["earlier"]
    assert not busy.is_closed
    assert connections.enter("web", "10.0.0.9") is None
    assert alone.is_closed
    assert later.is_closed
    assert other_port.is_closed


def test_an_address_has_its_own_limit_and_an_ipv6_network_is_one_address() -> None:
    health = Health()
    connections = Connections(health, Limits(100, 2, 1, "max"))
    for first, second, third in (
        ("2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3"),
        ("10.0.0.1", "10.0.0.1", "::ffff:10.0.0.1"),
    ):
        opened(connections, first, 1.0)
        kept = opened(connections, second, 1.0)
        assert connections.enter("web", third) is None
        kept.abort()
        assert connections.enter("web", third) is not None
    assert connections.enter("web", "2001:db8:0:1::1") is not None
    assert health.report()["counts"]["closed_web_address_limit"] == 2


@given(limit=st.integers(16, 5_000), otlp=st.integers(1, 3_000), read=st.integers(1, 3_000), logs=st.integers(0, 20))
def test_the_process_keeps_its_reserve_if_the_limit_permits(limit: int, otlp: int, read: int, logs: int) -> None:
    named = tuple(f"/log{number}" for number in range(logs))
    settings = Settings(max_connections=otlp, max_read_connections=read, slow_log=named)
    budget = divide(limit, settings)
    reserve = RESERVE + 4 * logs
    assert 1 <= budget.otlp <= otlp
    assert 1 <= budget.read <= read
    if limit >= reserve + 32:
        assert sum(budget) <= limit - reserve
    if limit >= reserve + otlp + read:
        assert budget == (otlp, read)
    if budget.otlp < otlp and budget.read < read and limit >= reserve + 32:
        assert budget.otlp >= 2 * budget.read  # ingest goes first


class Waiting(asyncio.WriteTransport):
    """A transport with so many bytes that its peer has not read."""

    size = 0

    def get_write_buffer_size(self) -> int:
        return self.size


@given(sizes=st.lists(st.integers(0, 4 * MIN_BYTES_PER_S), min_size=1, max_size=50), patience_s=st.floats(1, 60))
def test_a_response_that_is_read_at_the_minimum_rate_is_never_cut_and_an_unread_one_is(
    sizes: list[int], patience_s: float
) -> None:
    transport = Waiting()
    deadline = ReadingDeadline(transport, patience_s)
    now_s = 0.0
    for size in sizes:  # answers of these sizes, one after the other
        transport.size += size
        while transport.size:
            assert not deadline.is_over(now_s)
            now_s += 1
            transport.size = max(transport.size - MIN_BYTES_PER_S, 0)
        assert not deadline.is_over(now_s)
    transport.size = sum(sizes) + 1
    assert not deadline.is_over(now_s)
    until_s = now_s + patience_s + transport.size / MIN_BYTES_PER_S
    assert not deadline.is_over(until_s - 0.1)
    assert deadline.is_over(until_s + 0.1)
