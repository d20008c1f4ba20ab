"""The typed answer of `profile`: what the API sends as JSON and the command reads back. Times are sums."""

from __future__ import annotations

from dataclasses import dataclass

from ..sampling import Sampled


@dataclass(frozen=True)
class Part:
    """A component of the kind's bill, or `other`: its exclusive time is exact, and samples split it."""

    name: str
    calls: int
    time_ns: int
    is_container: bool
    """Its own time is what no other component explains: only sampled lines explain it."""
    samples: int
    """0 where nothing was sampled, as inside calls of clients."""
    sampled_ns: int
    """The part of its time that the samples stand for."""


@dataclass(frozen=True)
class Coverage:
    """How much of the time is on a named line: of a component that is no container, or a sampled line of the code."""

    share: float
    low: float
    """The share is above this, and below `high`, in 95 of 100 such windows."""
    high: float


@dataclass(frozen=True)
class Profile:
    """Where the time of one kind goes. The parts add up to `total_ns` + `overlap_ns`."""

    service: str
    name: str
    since: str
    until: str
    transactions: int
    total_ns: int
    overlap_ns: int
    """Counted twice, because calls ran at the same time."""
    state: str
    """Only samples of this state are in `lines` and `stacks`; empty: of all."""
    parts: tuple[Part, ...]
    """The one with the most time first."""
    coverage: Coverage
    lines: tuple[Sampled, ...]
    """By line, library function and state, the most time first; `stacks` in short."""
    stacks: tuple[Sampled, ...]
    """
    Those with the most samples. Their times add up to `sampled_ns` of their part, and never to more than its time.
    """
