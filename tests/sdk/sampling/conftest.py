"""Around each test of the sampler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import walltime
from walltime.sampling import sampler, tick


@pytest.fixture(autouse=True)
def raised(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A failure of the sampler is raised; counts begin at 0; ticks come as often as a test says, whatever they cost."""
    monkeypatch.setenv("WALLTIME_TESTING_RAISE", "1")
    monkeypatch.setattr(sampler, "MAX_CPU_SHARE", 1.0)
    tick.counts.update(samples=0, samples_lost=0)
    yield
    walltime.shutdown()
