"""A thread that ends while the sampler reads of it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from walltime.sampling import tick
from walltime.sampling.serving import Thread

from tests.servers import eventually


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_a_thread_that_ends_once_its_file_is_open_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Thread] = []
    ending = threading.Event()

    def work() -> None:
        made.append(Thread())
        ending.wait()

    running = threading.Thread(target=work)
    running.start()
    eventually(lambda: made)
    (thread,) = made
    opened = os.open

    def open_and_end(*args: Any) -> int:
        file = opened(*args)
        ending.set()
        running.join()
        eventually(lambda: not Path(f"/proc/self/task/{thread.native_id}").exists())
        return file

    monkeypatch.setattr(os, "open", open_and_end)
    tick._measure_delay(thread, 1)
    assert thread.delays == (0, 0, 0)
