"""Of many kinds without a change, `diff` names none: heavy tails, bursts, swings, likeness, single transactions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from walltime_collector.query.answers import Top
from walltime_collector.query.diff.compare import Read, corrected, judged
from walltime_collector.query.diff.slices import Counted, Name, Slices
from walltime_collector.query.scope import Scope
from walltime_collector.query.statistics.tails import bound
from walltime_collector.query.windows import Window

from tests.by_day import by_day

S = 10**9
USUAL_S, NOW_S = 3_600, 900
SLICE_S = NOW_S / 64
SHAPES = ("heavy tails", "pareto", "two modes", "bursts", "swings", "likeness")
COUNTED: tuple[Counted, ...] = ("typical", "singles", "errors")
NONE = Top("", "", 1.0, "total", "", 0, 0, 0, 0, ())
Values = NDArray[np.float64]


def times(rng: Generator, shape: str, at_s: Values, sigma: float) -> Values:
    """How long transactions that begin then take, as a multiple of the usual time."""
    took = rng.lognormal(-0.125, 0.5, len(at_s))
    match shape:
        case "heavy tails":
            return rng.lognormal(0, sigma, len(at_s))
        case "pareto":
            return 1 + rng.pareto(1.2 + sigma / 2, len(at_s))
        case "two modes":
            return np.where(rng.random(len(at_s)) < 0.2, 10.0, 1.0) * took
        case "bursts":
            for start_s in rng.uniform(0, USUAL_S + NOW_S, rng.poisson((USUAL_S + NOW_S) / 900)):
                took[(at_s > start_s) & (at_s < start_s + 20)] *= 5
        case "swings":
            took *= 1 + 0.2 * np.sin(2 * np.pi * (at_s / 1_500 + sigma))
        case "likeness":
            level = np.zeros((USUAL_S + NOW_S) // 10 + 1)
            for step in range(1, len(level)):
                level[step] = 0.8 * level[step - 1] + rng.normal(0, 0.12)
            took *= np.exp(level[(at_s // 10).astype(int)])
    return took


def slices(at_s: Values, took: Values, failed: NDArray[np.bool_], bound_ns: float) -> Values:
    number = (at_s // SLICE_S).astype(int)
    ones, singles = np.ones(len(at_s)), took > bound_ns
    sums = [np.bincount(number, each) for each in (ones, failed, took, singles, took * singles)]
    every = np.column_stack([np.arange(len(sums[0])), *sums])
    return every[every[:, 1] > 0]


def claims(seed: int, shape: str, kinds: int) -> list[Any]:
    """Of kinds from once in 40 s to 5 times a second, 2 % failed; a third of the sides has a very long transaction."""
    rng = np.random.default_rng(seed)
    usual, now = {}, {}
    bounds_ns: dict[Name, Any] = {}
    for at in range(kinds):
        name, rate = ("s", str(at)), 0.025 * 200 ** rng.random()
        at_s = np.sort(rng.uniform(0, USUAL_S + NOW_S, rng.poisson(rate * (USUAL_S + NOW_S))))
        took = times(rng, shape, at_s, rng.uniform(0.5, 1.5)) * 1e7
        is_now, failed = at_s >= USUAL_S, rng.random(len(at_s)) < 0.02
        for side in (is_now, ~is_now):
            if side.sum() > 1 and rng.random() < 1 / 3:
                took[rng.choice(np.flatnonzero(side))] *= 10 ** rng.uniform(1, 3)
        if min(is_now.sum(), (~is_now).sum()) > 1:
            bounds_ns[name] = max(bound(took[is_now]), bound(took[~is_now]))
            usual[name] = slices(at_s[~is_now], took[~is_now], failed[~is_now], bounds_ns[name])
            now[name] = slices(at_s[is_now] - USUAL_S, took[is_now], failed[is_now], bounds_ns[name])
    windows = Window(0, USUAL_S * S), Window(USUAL_S * S, (USUAL_S + NOW_S) * S)
    before, after = (
        Read(Scope(window), NONE, {}, Slices(each, window.length_ns, round(SLICE_S * S), bounds_ns))
        for window, each in zip(windows, (usual, now), strict=True)
    )
    named: list[tuple[Counted, Name, Any]] = []
    for counted in COUNTED:
        tests = corrected(judged(dict.fromkeys(usual, (before, after)), counted))
        named += [(counted, name, each) for name, each in tests.items() if not each.is_chance]
    return named


@pytest.mark.parametrize("shape", by_day(SHAPES, 3))
def test_an_answer_about_200_kinds_names_none(shape: str) -> None:
    assert claims(1, shape, 200) == []


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_answer_of_100_may_be_false(shape: str) -> None:
    assert sum(bool(claims(seed, shape, 100)) for seed in range(100)) <= 2
