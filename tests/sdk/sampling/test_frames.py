"""Frames are read while no garbage is collected, and the collector's settings stay the application's."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from walltime.core.caller import MAX_FRAMES
from walltime.sampling import frames

only_311 = pytest.mark.skipif(not frames.COLLECTS_IN_FRAMES, reason="this Python collects between instructions only")


@pytest.fixture(params=["on", "off", "threshold 0"])
def collector(request: pytest.FixtureRequest) -> Iterator[None]:
    threshold = gc.get_threshold()
    if request.param == "off":
        gc.disable()
    elif request.param == "threshold 0":
        gc.set_threshold(0)
    yield
    gc.set_threshold(*threshold)
    gc.enable()


@pytest.mark.usefixtures("collector")
def test_frames_are_read_however_many_objects_were_allocated_since_the_last_collection() -> None:
    here = sys._getframe()
    kept: list[Any] = []
    for _ in range(1000):  # more than the threshold
        kept.append(set())
        assert frames.of_threads()[threading.get_ident()]
        found = list(frames.outward(here))
        assert found[:2] == [here, here.f_back]


@only_311
def test_no_collection_begins_while_frames_are_read() -> None:
    reading = False
    begun: list[bool] = []
    kept: list[Any] = []

    def note(phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            begun.append(reading)

    def read(argument: object) -> object:
        """In C nothing else runs, so here the collector's own report says when it collects."""
        nonlocal reading
        reading = True
        kept.extend(set() for _ in range(10))
        reading = False
        return argument

    gc.callbacks.append(note)
    try:
        for _ in range(1000):
            frames._read(read, 1, 12)
    finally:
        gc.callbacks.remove(note)
    assert begun
    assert not any(begun)


def test_a_stack_is_read_whole_to_its_limit() -> None:
    def recurse(depth: int) -> list[Any]:
        return recurse(depth - 1) if depth else list(frames.outward(sys._getframe()))

    for depth in (0, 1, frames.PART - 1, frames.PART, 2 * frames.PART + 1):
        found = recurse(depth)
        around: Any = sys._getframe()
        expected = [around]
        while around.f_back is not None and len(expected) < len(found) - depth - 1:
            around = around.f_back
            expected.append(around)
        assert found[depth + 1 :] == expected
        assert len({id(each) for each in found}) == len(found)
    assert MAX_FRAMES <= len(recurse(300)) <= MAX_FRAMES + frames.PART


@only_311
def test_a_threshold_that_is_too_low_is_an_error_and_nothing_is_read() -> None:
    threshold = gc.get_threshold()
    gc.set_threshold(5)
    try:
        with pytest.raises(frames.NotReadableError):
            list(frames.outward(sys._getframe()))
    finally:
        gc.set_threshold(*threshold)


@only_311
@pytest.mark.parametrize("moment", ["before", "while sampling"])
def test_a_process_with_audit_hooks_is_not_sampled_and_says_so(moment: str) -> None:
    program = f"""
import sys, time, walltime
def hook(event, arguments):
    if event in ("sys._current_frames", "sys.audit"):
        print(event)
walltime.configure(exporters="none", sample_hz=1000)
def work(seconds):
    with walltime.transaction("work"):
        time.sleep(seconds)
if {moment == "before"}:
    sys.addaudithook(hook)
    work(0.1)
    assert "samples" not in walltime.counters()
else:
    while not walltime.counters().get("samples"):
        work(0.05)
    sys.addaudithook(hook)
    work(0.2)
    before = walltime.counters()["samples"]
    work(0.2)
    assert walltime.counters()["samples"] == before
assert not [name for name in walltime.counters() if name.startswith("failed")]
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    assert ran.stderr.count("is not sampled") == 1
