"""python.gc: pauses of the collector on the transaction's thread, each nanosecond of them once."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
import walltime
from walltime.core import transaction as transaction_module
from walltime.core.execution import current, running
from walltime.handoff import gc as pauses

from tests.sdk.sink import Sink


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Collections happen when the test says so."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_full_collection_is_on_the_bill_and_not_in_the_call_it_interrupted(recorded: Sink) -> None:
    with walltime.transaction("job"), walltime.component("render"):
        gc.collect()
    bill = recorded.transaction()  # the parts add up
    assert bill.cell("python.gc") == {"calls": 1}
    (render,), (pause,) = recorded.calls("render"), recorded.calls("python.gc")
    assert render.attributes["walltime.own_ns"] == render.duration_ns - pause.duration_ns
    assert pause.attributes["walltime.own_ns"] == pause.duration_ns > 0


def test_pauses_of_the_young_generations_are_recorded_when_they_are_long(
    recorded: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses, "SHORTEST_NS", 10**12)
    with walltime.transaction("short"):
        gc.collect(0)
        gc.collect(1)
    monkeypatch.setattr(pauses, "SHORTEST_NS", 0)
    with walltime.transaction("long"):
        gc.collect(0)
        gc.collect(1)
    short, long = recorded.transactions()
    assert short.cell("python.gc") == {}
    assert long.cell("python.gc") == {"calls": 2}


@pytest.mark.parametrize("generation", [0, 2])
def test_what_a_finalizer_measures_is_its_own(recorded: Sink, generation: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded or not, the pause gives the time of the calls inside it back to the call around it."""
    monkeypatch.setattr(pauses, "SHORTEST_NS", 10**12)

    class Connection:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            with walltime.component("quit"):
                pass

    with walltime.transaction("job"), walltime.component("render"):
        with walltime.component("query"):
            pass
        Connection()
        gc.collect(generation)
    bill = recorded.transaction()
    assert bill.cell("quit") == {"calls": 1}
    assert bill.cell("python.gc") == ({"calls": 1} if generation == 2 else {})
    (render,) = recorded.calls("render")
    inside = [*recorded.calls("query"), *(recorded.calls("python.gc") or recorded.calls("quit"))]
    assert render.attributes["walltime.own_ns"] == render.duration_ns - sum(call.duration_ns for call in inside)


def test_each_strand_has_the_pauses_of_its_own_thread(recorded: Sink) -> None:
    with walltime.transaction("job"):
        gc.collect()
        other = threading.Thread(target=gc.collect)
        other.start()
        other.join()
        outside = threading.Thread(target=lambda: None)
        outside.start()
        outside.join()
    assert recorded.transactions()[0].cell("python.gc") == {"calls": 2}


def test_outside_of_a_transaction_and_after_its_end_nothing_is_recorded_or_counted(recorded: Sink) -> None:
    before = transaction_module.outside_calls.get("late", 0)
    gc.collect()
    with walltime.transaction("job"):
        execution = current()
    token = running.set(execution)
    gc.collect()
    running.reset(token)
    assert recorded.transaction().cell("python.gc") == {}
    assert transaction_module.outside_calls.get("late", 0) == before


def test_a_pause_inside_our_own_code_is_not_told(recorded: Sink) -> None:
    """There the clock may have been read already: the pause would be subtracted from a call that it was not in."""
    with walltime.transaction("job"):
        exec(compile("import gc; gc.collect()", transaction_module.__file__, "exec"), {})  # noqa: S102
        gc.collect()
    assert recorded.transaction().cell("python.gc") == {"calls": 1}


def test_however_often_it_strikes_nothing_is_negative_and_the_parts_add_up(
    recorded: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Python 3.12 also while a context variable is reset, later between any two instructions of ours."""
    monkeypatch.setattr(pauses, "SHORTEST_NS", 0)
    threshold = gc.get_threshold()
    kept: list[object] = []
    gc.set_threshold(1, 2, 3)
    gc.enable()
    try:
        for _ in range(20):
            with walltime.transaction("job"):
                for n in range(20):
                    with walltime.component("outer"), walltime.component("inner"):
                        kept.append([[n], {"n": [n]}])
                        kept.extend([{}] for _ in range(3))  # Python 3.14 collects where a function begins
            assert current() is None
    finally:
        gc.disable()
        gc.set_threshold(*threshold)
    found = recorded.transactions()
    assert len(found) == 20
    for bill in found:
        assert sum(bill.times_ns().values()) == bill.attributes["walltime.covered_ns"] <= bill.duration_ns
    assert sum(bill.cell("python.gc").get("calls", 0) for bill in found) > 0
    assert all(call.attributes["walltime.own_ns"] >= 0 for call in recorded.calls())


@pytest.mark.setting("python_gc")
def test_it_can_be_switched_off(recorded: Sink) -> None:
    walltime.configure(endpoint=recorded.endpoint, python_gc=False)
    with walltime.transaction("job"):
        gc.collect()
    assert recorded.transaction().cell("python.gc") == {}


def test_it_leaves_no_callback_behind(recorded: Sink) -> None:
    assert pauses._collecting in gc.callbacks
    walltime.uninstrument()
    assert pauses._collecting not in gc.callbacks
    walltime.instrument()
    gc.callbacks.remove(pauses._collecting)
    walltime.uninstrument()


def test_a_failure_of_ours_reaches_nobody(
    recorded: Sink, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from walltime import errors

    def broken() -> None:
        raise ValueError("ours")

    monkeypatch.delenv("WALLTIME_TESTING_RAISE")
    monkeypatch.setattr(pauses, "clock", broken)
    with walltime.transaction("job"):
        gc.collect()
    assert errors.contained.pop("gc") >= 1
    assert "Traceback" not in capfd.readouterr().err
