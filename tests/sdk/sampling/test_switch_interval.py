"""The application's switch interval is in force whenever no transaction is open, and one that it sets always stays."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import walltime
from walltime.sampling import serving, switch_interval

from tests.sdk.sampling.sampled import busy

BEFORE_S = 0.004


@pytest.fixture(autouse=True)
def interval() -> Iterator[None]:
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(BEFORE_S)
    walltime.configure(exporters="none", sample_hz=1000)
    yield
    walltime.shutdown()
    sys.setswitchinterval(before_s)


def cut_off(interval_s: float) -> float:
    """As Python keeps it, in whole microseconds."""
    return 1e-6 * int(1e6 * interval_s)


def until_shortened() -> None:
    while sys.getswitchinterval() >= BEFORE_S:
        busy(0.1)


def in_a_thread(act: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_after_each_transaction_it_is_the_applications_at_once() -> None:
    with walltime.transaction("work"):
        until_shortened()
    assert sys.getswitchinterval() == BEFORE_S
    for _ in range(1000):
        with walltime.transaction("work"):
            pass
        assert sys.getswitchinterval() == BEFORE_S
    with walltime.transaction("work"):
        until_shortened()
    assert sys.getswitchinterval() == BEFORE_S


def test_with_several_transactions_it_is_back_after_the_last_one() -> None:
    both, ended = threading.Barrier(2), threading.Event()

    def wait() -> None:
        with walltime.transaction("waits"):
            both.wait()
            ended.wait()

    thread = in_a_thread(wait)
    both.wait()
    with walltime.transaction("work"):
        until_shortened()
    until_shortened()  # by the next tick, if a tick was in between
    ended.set()
    thread.join()
    assert sys.getswitchinterval() == BEFORE_S


def test_after_a_transaction_with_pauses_it_is_the_applications_at_once() -> None:
    @walltime.transaction("items")
    def items() -> Iterator[None]:
        until_shortened()
        yield
        yield

    assert len(list(items())) == 2
    assert not switch_interval._open
    assert sys.getswitchinterval() == BEFORE_S


@pytest.mark.parametrize("set_s", [0.01, 0.0001])
def test_what_the_application_sets_meanwhile_stays(set_s: float) -> None:
    with walltime.transaction("work"):
        until_shortened()
        sys.setswitchinterval(set_s)
        busy(20)
    assert sys.getswitchinterval() == cut_off(set_s)
    with walltime.transaction("work"):
        busy(20)
    assert sys.getswitchinterval() == cut_off(set_s)


def test_an_application_that_restores_what_it_saw_has_its_own_afterwards() -> None:
    with walltime.transaction("work"):
        until_shortened()
        seen_s = sys.getswitchinterval()
        sys.setswitchinterval(0.02)
        busy(5)
        sys.setswitchinterval(seen_s)
        busy(5)
    assert sys.getswitchinterval() in (BEFORE_S, 0.02)


def test_no_value_is_lost_when_the_application_sets_one_beside_transactions() -> None:
    """Each look and its change are one call: nothing runs in between."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            with walltime.transaction("work"):
                busy(0.05)

    thread = in_a_thread(work)
    try:
        for n in range(300):
            set_s = 0.003 + n * 1e-5
            sys.setswitchinterval(set_s)
            time.sleep(0)
            seen_s = sys.getswitchinterval()
            assert seen_s == cut_off(set_s) or seen_s in switch_interval._OURS
    finally:
        ended.set()
        thread.join()
    assert sys.getswitchinterval() == cut_off(set_s)


def test_a_forked_child_has_the_applications() -> None:
    with walltime.transaction("work"):
        until_shortened()
        pid = os.fork()
        if not pid:
            os._exit(0 if sys.getswitchinterval() == BEFORE_S else 1)
        assert os.waitpid(pid, 0)[1] == 0


def test_stopping_and_configuring_leave_the_applications() -> None:
    with walltime.transaction("work"):
        until_shortened()
        ending = serving.parking
        walltime.configure(exporters="none", sample_hz=0)
        while ending.runs.locked():
            time.sleep(0.001)
        assert sys.getswitchinterval() == BEFORE_S


def test_every_interval_is_put_back_to_the_microsecond() -> None:
    switch_interval.begun(None)
    for n in (*range(1010, 20_000, 7), 10**5, 10**6):
        sys.setswitchinterval(n * 1e-6 + 1e-7)
        before_s = sys.getswitchinterval()
        switch_interval.shorten(switch_interval.SHORT_S)
        assert sys.getswitchinterval() < 1e-4
        switch_interval.restore()
        assert sys.getswitchinterval() == before_s
    switch_interval.forget()
