"""Shares and means from blocks of time: what comes in bursts is usual, what changed is found."""

from __future__ import annotations

import numpy as np
import pytest
from walltime_collector.query.statistics.estimates import BLOCKS, Estimate, contrast, ratio, share

TIMES = 400
CHANCE = 0.005


def rejected(rng: np.random.Generator, usual: float, now: float, *, bursts: float = 0.0, length: float = 4.0) -> float:
    """How often a share, in this part of `TIMES` comparisons, is called changed."""
    found = 0
    for _ in range(TIMES):
        sides = []
        for part, transactions, seconds in ((usual, 100 * length, length), (now, 100.0, 1.0)):
            whole = rng.poisson(transactions / BLOCKS * 4, BLOCKS).astype(float)
            mine = rng.binomial(whole.astype(int), part).astype(float)
            # a burst takes a sixteenth of the shorter window; they are as frequent on both sides
            for at in rng.integers(0, BLOCKS, rng.poisson(bursts * seconds)):
                for block in range(at, min(at + max(round(2 / seconds), 1), BLOCKS)):
                    mine[block] = max(mine[block], round(whole[block] * min(2 / seconds, 1)))
            sides.append(share(mine, whole))
        found += sides[1].since(sides[0], length).p_value < CHANCE
    return found / TIMES


def test_a_share_that_did_not_change_did_not_change() -> None:
    rng = np.random.default_rng(1)
    assert rejected(rng, 0.1, 0.1) <= 0.015
    assert rejected(rng, 0.02, 0.02, bursts=1.0) <= 0.02


def test_a_share_that_changed_did() -> None:
    assert rejected(np.random.default_rng(2), 0.02, 0.15) >= 0.95


def test_what_changes_for_all_cancels_in_a_contrast() -> None:
    rng = np.random.default_rng(3)
    weather = np.where(np.arange(BLOCKS) < 4, 50.0, 1.0)
    every = np.full(BLOCKS, 20.0)
    own = rng.binomial(20, 0.3, BLOCKS).astype(float)
    equal = contrast(own, own * weather, every, every * weather)
    assert equal.size == pytest.approx(0, abs=1e-9)
    higher = contrast(own, own * (weather + 2), every, every * weather + own * 2)
    assert higher.size == pytest.approx(2)
    assert higher.p_value < 1e-6


def test_without_any_transactions_nothing_is_known() -> None:
    nothing = ratio(np.zeros(BLOCKS), np.zeros(BLOCKS))
    assert nothing == Estimate(0.0)
    assert nothing.p_value == 1
    assert nothing.since(nothing, 4.0).p_value == 1
