"""What the sampler says of faults that were put into an application: line, function and state."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import walltime
from walltime.sampling import sampler, serving, tick

from tests.sdk.sampling.sampled import ALMOST_ALWAYS, COMPUTING, busy, entries, sampled, share
from tests.sdk.sink import Sink

pytestmark = pytest.mark.alone  # what it asserts are times

ROWS = [{"sku": number, "tags": [number, str(number)] * 3} for number in range(300)]


def to_json() -> None:
    json.dumps(ROWS, indent=1)


def test_json_in_a_view(sink: Sink) -> None:
    found = sampled(sink, to_json)
    assert share(found, function="to_json", state=COMPUTING, component="other") >= ALMOST_ALWAYS
    assert share(found, line=f"test_sampler.py:{to_json.__code__.co_firstlineno + 1}") >= ALMOST_ALWAYS
    assert share(found, library="json.encoder.") >= ALMOST_ALWAYS
    assert share(found, stack="to_json (") >= ALMOST_ALWAYS


def pause() -> None:
    time.sleep(0.006)


def test_a_sleep(sink: Sink) -> None:
    found = sampled(sink, pause)
    assert share(found, function="pause", state="sleep", library="") >= ALMOST_ALWAYS
    assert share(found, line=f"test_sampler.py:{pause.__code__.co_firstlineno + 1}") >= ALMOST_ALWAYS


def test_a_lock_that_another_thread_holds(sink: Sink) -> None:
    lock, ended = threading.Lock(), threading.Event()

    def hold() -> None:
        while not ended.is_set():
            with lock:
                time.sleep(0.02)
            time.sleep(0.0001)

    def reserve() -> None:
        with lock:
            pass

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        found = sampled(sink, reserve)
    finally:
        ended.set()
        holder.join()
    assert share(found, function="reserve") > 0.5  # otherwise it had the lock
    assert share([each for each in found if each.function.endswith("reserve")], state="lock") >= ALMOST_ALWAYS


def test_a_slow_file(sink: Sink, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    ended = threading.Event()

    def write() -> None:
        with fifo.open("wb", buffering=0) as file:
            while not ended.is_set():
                time.sleep(0.01)
                file.write(b"line\n")

    writer = threading.Thread(target=write)
    writer.start()
    with fifo.open("rb", buffering=0) as file:

        def load() -> None:
            file.read(5)

        found = sampled(sink, load)
        ended.set()
        while file.read(100):
            pass
    writer.join()
    assert share(found, function="load", state="file") >= ALMOST_ALWAYS


def match() -> None:
    re.match(r"(a|aa)+$", "a" * 22 + "b")


def test_a_regular_expression_that_backtracks(sink: Sink) -> None:
    found = sampled(sink, match)
    assert share(found, function="match", state=COMPUTING) >= ALMOST_ALWAYS
    assert share(found, library="re.match") >= ALMOST_ALWAYS


@pytest.mark.nightly
def test_another_thread_that_holds_the_gil(sink: Sink) -> None:
    ended = threading.Event()

    def hog() -> None:
        while not ended.is_set():
            re.match(r"(a|aa)+$", "a" * 24 + "b")

    def work() -> None:
        busy(0.1)

    thread = threading.Thread(target=hog)
    thread.start()
    began_s, began_cpu_s = time.monotonic(), time.thread_time()
    try:
        found = sampled(sink, work, samples=60)
    finally:
        computed = (time.thread_time() - began_cpu_s) / (time.monotonic() - began_s)
        ended.set()
        thread.join()
    assert share(found, stack="busy (") >= ALMOST_ALWAYS
    assert share(found, state={"gil", "cpu"}) > (1 - computed) / 4  # less where the other one waits for a CPU


@pytest.mark.nightly
def test_the_times_are_those_of_the_transactions(sink: Sink) -> None:
    """A part of the time is computed in bursts shorter than the interpreter's switch interval."""

    def work() -> None:
        busy(1)
        pause()

    sampled(sink, work, samples=150)
    transactions = sink.transactions()
    found = entries(*transactions)
    time_ns = sum(each.duration_ns for each in transactions)
    assert sum(each.time_ns for each in found) == pytest.approx(time_ns, rel=0.25)
    # on a busy machine, fewer samples than their share of the time are in bursts (docs/decisions/040-sampler.md)
    assert any(each.function == "busy" for each in found)


@pytest.mark.nightly
@pytest.mark.parametrize("pause_s", [0, 0.02, 0.3])
@pytest.mark.parametrize("ms", [5, 20, 50])
def test_the_sum_is_right_for_requests_of_every_length(sink: Sink, ms: float, pause_s: float) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_hz=100)
    ends_s = time.monotonic() + 120
    time_ns = 0
    while time_ns < 3e9 and time.monotonic() < ends_s:
        began_ns = time.perf_counter_ns()
        with walltime.transaction("work"):
            while time.perf_counter_ns() - began_ns < ms * 1e6:
                sum(range(100))
        time_ns += time.perf_counter_ns() - began_ns
        time.sleep(pause_s)
    assert walltime.flush()
    found = entries(*sink.transactions())
    error = 4 / max(1, sum(each.count for each in found)) ** 0.5
    assert sum(each.time_ns for each in found) == pytest.approx(time_ns, rel=0.15 + error)


def test_a_deep_stack_is_cut(sink: Sink) -> None:
    def recurse(depth: int) -> None:
        if depth:
            recurse(depth - 1)
        else:
            time.sleep(0.02)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        found = sampled(sink, lambda: recurse(10_000), samples=10)
    finally:
        sys.setrecursionlimit(limit)
    deepest = max(found, key=lambda each: each.stack.count(";"))
    assert deepest.stack.count(";") == 23
    assert ";…;" in deepest.stack
    assert share(found, function="recurse") >= ALMOST_ALWAYS


def test_the_body_of_a_generator(sink: Sink) -> None:
    def rows() -> Iterator[int]:
        for number in range(3):
            busy(2)
            yield number

    found = sampled(sink, lambda: list(rows()))
    assert share(found, stack="rows (") >= ALMOST_ALWAYS


def test_a_component_of_the_application(sink: Sink) -> None:
    def work() -> None:
        with walltime.component("render"):
            busy(5)

    found = sampled(sink, work)
    assert share(found, component="render", function="busy") >= ALMOST_ALWAYS


@pytest.mark.setting("sample_hz")
def test_without_the_sampler_there_is_no_thread(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_hz=0)
    before = native_threads()
    with walltime.transaction("work"):
        time.sleep(0.05)
        assert native_threads() <= before
    assert walltime.flush()
    assert entries(sink.transaction()) == []


def test_while_idle_the_sampler_does_not_run(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[None] = []
    monkeypatch.setattr(tick.Ticks, "tick", counted(ticks, tick.Ticks.tick))
    sampled(sink, pause, samples=3)
    waits_until(lambda: serving.parking.is_parked)
    before = len(ticks)
    time.sleep(0.3)
    assert len(ticks) == before
    with walltime.transaction("work"):
        waits_until(lambda: len(ticks) > before)


def test_ticks_that_cost_more_than_their_share_of_a_cpu_come_more_rarely(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "MAX_CPU_SHARE", 0.0001)
    ticks: list[None] = []
    monkeypatch.setattr(tick.Ticks, "tick", counted(ticks, tick.Ticks.tick))
    walltime.configure(endpoint=sink.endpoint, sample_hz=250)
    with walltime.transaction("work"):
        time.sleep(0.3)
    assert 0 < len(ticks) < 20  # about 75 without the limit
    running = serving.parking.runs
    walltime.shutdown()
    waits_until(lambda: not running.locked())


def counted(calls: list[None], function: Callable[..., bool]) -> Callable[..., bool]:
    def call(*args: object) -> bool:
        calls.append(None)
        return function(*args)

    return call


def waits_until(condition: Callable[[], bool], longest_s: float = 20) -> None:
    ends_s = time.monotonic() + longest_s
    while not condition():
        assert time.monotonic() < ends_s
        time.sleep(0.01)


def native_threads() -> set[str]:
    return {each.name for each in Path("/proc/self/task").iterdir()}


def test_the_switch_interval_is_restored(sink: Sink) -> None:
    before = sys.getswitchinterval()
    sampled(sink, to_json)
    waits_until(lambda: serving.parking.is_parked)
    assert sys.getswitchinterval() == before


def test_computing_without_the_gil(sink: Sink) -> None:
    def check() -> None:
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 20_000)

    found = sampled(sink, check)
    assert share(found, function="check", state=COMPUTING) >= ALMOST_ALWAYS
    counters = walltime.counters()
    assert counters.get("samples_lost", 0) < counters["samples"] / 2  # all of them when it is not looked at twice
