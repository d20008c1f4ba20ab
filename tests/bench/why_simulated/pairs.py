"""Asks `why` about pairs of windows, in a process with an engine of its own."""

from __future__ import annotations

import multiprocessing.util
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.query.scope import Filters
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.explain import explain_kind
from walltime_collector.query.windows import Comparison, Window

from . import changed, unchanged
from .claims import false_of_changed, false_of_unchanged, named
from .requests import SLOW_S, Bills, nanoseconds
from .rows import SERVICE, prepare, replace

DRAWS = 1_000_000


@dataclass(frozen=True)
class Task:
    """Pairs of one family, or of one variant of a change, by their numbers."""

    family: str
    pairs: range
    seed: int
    draws: int = DRAWS
    """For the truth about a change."""


@dataclass(frozen=True)
class Judged:
    """The answer about one pair."""

    family: str
    pair: int
    usual: int
    slow: int
    verdict: str
    false: tuple[str, ...]
    """What is claimed falsely, by its sort."""
    is_named: bool
    """What changed is in a sentence; True where nothing did."""
    is_inside: bool
    """The true difference is within the interval; True where nothing changed."""
    numbers: str
    """The difference, its interval and the truth, in milliseconds."""
    sentences: tuple[str, ...]

    @property
    def is_true(self) -> bool:
        return not self.false and self.is_named


@contextmanager
def prepared() -> Iterator[EmbeddedEngine]:
    """An engine for `judge`."""
    with TemporaryDirectory(prefix="walltime-why-") as folder:
        engine = EmbeddedEngine(Path(folder) / "chdb", "walltime")
        try:
            engine.migrate()
            prepare(engine)
            yield engine
        finally:
            engine.close()


def judge(task: Task, engine: EmbeddedEngine) -> list[Judged]:
    """Ask about all pairs of a task."""
    made = [(at, _bills(task, at)) for at in task.pairs]
    replace(engine, [(_name(at), each) for at, each in made])
    return list(_judged(task, engine, made))


def judge_in_worker(task: Task) -> list[Judged]:
    """The same with an engine of the process."""
    return judge(task, _engine())


def tasks(family: str, pairs: range, seed: int, draws: int = DRAWS) -> Iterator[Task]:
    """Pairs that are asked about at once: of small memory, and of one truth."""
    if family in changed.CHANGES:
        for variant in range(changed.VARIANTS):
            of = range(pairs.start + (variant - pairs.start) % changed.VARIANTS, pairs.stop, changed.VARIANTS)
            if of:
                yield Task(family, of, seed, draws)
        return
    for first in range(pairs.start, pairs.stop, 40):
        yield Task(family, range(first, min(first + 40, pairs.stop)), seed)


def _bills(task: Task, at: int) -> Bills:
    rng = np.random.default_rng([zlib.crc32(task.family.encode()), task.seed, at])
    if task.family in changed.CHANGES:
        return changed.pair(task.family, at % changed.VARIANTS, rng)
    return unchanged.family(task.family)(rng)


def _judged(task: Task, engine: EmbeddedEngine, made: list[tuple[int, Bills]]) -> Iterator[Judged]:
    for at, bills in made:
        requests, variant = bills.requests, at % changed.VARIANTS
        usual, slow = _window(0, requests.usual_s), _window(requests.usual_s, requests.usual_s + SLOW_S)
        answer = explain_kind(engine, Filters(service=SERVICE, kind=_name(at)), Comparison(slow, usual))
        is_changed, truth_ns = task.family in changed.CHANGES, None
        if is_changed:
            truth_ns = _truth_ns(task.family, variant, task.draws, _bound_ns(answer))
        yield Judged(
            family=task.family,
            pair=at,
            usual=int((~requests.is_slow).sum()),
            slow=int(requests.is_slow.sum()),
            verdict=answer.verdict,
            false=tuple(false_of_changed(answer, task.family, variant) if is_changed else false_of_unchanged(answer)),
            is_named=not is_changed or named(answer, task.family, variant),
            is_inside=truth_ns is None or (answer.low_ns or 0) <= truth_ns <= (answer.high_ns or 0),
            numbers=" ".join(
                f"{name} {(each or 0) / 1e6:.2f}"
                for name, each in (
                    ("difference", answer.difference_ns),
                    ("typical", answer.typical_ns),
                    ("low", answer.low_ns),
                    ("high", answer.high_ns),
                    ("truth", truth_ns),
                    ("drift", answer.drift_ns),
                )
            )
            + f" p {answer.p_value} calls p {answer.calls_p_value}",
            sentences=answer.sentences,
        )


def _window(start_s: float, end_s: float) -> Window:
    return Window(nanoseconds(start_s), nanoseconds(end_s))


def _bound_ns(answer: Why) -> int:
    """Longer transactions are single ones, and not in the number that the interval is of."""
    return answer.singles.bound_ns if answer.singles else 2**63 - 1


@cache
def _population(family: str, variant: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Sorted durations of both sides."""
    bills = changed.population(family, variant, draws)
    durations_ns, is_slow = bills.duration_ns.astype(float), bills.requests.is_slow
    return np.sort(durations_ns[~is_slow]), np.sort(durations_ns[is_slow])


def _truth_ns(family: str, variant: int, draws: int, bound_ns: int) -> float:
    usual, slow = (each[: np.searchsorted(each, bound_ns, "right")] for each in _population(family, variant, draws))
    return float(slow.mean() - usual.mean())


def _name(at: int) -> str:
    return f"GET /pair/{at}"


@cache
def _engine() -> EmbeddedEngine:
    """Until the process ends."""
    stack = ExitStack()
    multiprocessing.util.Finalize(None, stack.close, exitpriority=10)  # a worker has no atexit
    return stack.enter_context(prepared())
