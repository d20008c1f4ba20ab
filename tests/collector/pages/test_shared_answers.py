"""Requests for the same view at the same time: one of them computes, the others wait for its answer."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from walltime_collector.pages.shared_answers import SharedAnswers


def test_twenty_people_cost_one_computation() -> None:
    shared, computed, barrier = SharedAnswers[int](), [], threading.Barrier(20)

    def compute() -> int:
        computed.append(1)
        time.sleep(0.1)
        return len(computed)

    def ask(_: int) -> int:
        barrier.wait()
        return shared.get("key", compute)

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(ask, range(20))) == [1] * 20
    assert len(computed) == 1


def test_an_error_is_that_of_all_who_wait_and_of_nobody_after_them() -> None:
    shared = SharedAnswers[int]()
    with pytest.raises(ZeroDivisionError):
        shared.get("key", lambda: 1 // 0)
    assert shared.get("key", lambda: 2) == 2


def test_old_answers_are_dropped() -> None:
    shared = SharedAnswers[int](most=2)
    for key in range(3):
        shared.get(key, lambda: 1)
    assert shared.get(0, lambda: 2) == 2
    assert shared.get(2, lambda: 2) == 1
