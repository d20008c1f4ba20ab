"""Pairs of windows between which nothing changed: both sides are of one process, however wild it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .requests import Bills, Floats, Page, Requests, arrive, bills

Random = np.random.Generator
FEWEST, MOST = 20, 20_000
"""Transactions of the slow side."""
_HOUR_S, _DAY_S = 3600.0, 86_400.0


def sizes(rng: Random) -> tuple[int, int]:
    """Of the usual and the slow side: mostly small ones, and the usual one is 1 to 4 times the slow one."""
    slow = round(FEWEST * (MOST / FEWEST) ** (rng.uniform() ** 2))
    return round(min(slow * rng.uniform(1, 4), 4 * MOST)), slow


def family(name: str) -> Callable[[Random], Bills]:
    """How a pair of the family is made."""
    wild = FAMILIES[name]

    def pair(rng: Random) -> Bills:
        usual, slow = sizes(rng)
        if name == "daily rhythm":
            usual = 4 * slow  # 15 minutes against the hour before
        requests = arrive(rng, Page.random(rng), usual, slow)
        wild(rng, requests)
        return bills(rng, requests)

    return pair


def _somewhere(rng: Random, requests: Requests, factor: Floats) -> None:
    """All times are multiplied, or those of one component, which is large enough to be seen."""
    where = rng.choice(["everything", "everything", "statement", "http", "other"])
    if where == "statement":
        requests.statement *= factor[:, None]
    else:
        setattr(requests, where, getattr(requests, where) * factor)


def _lognormal(sigma: float) -> Callable[[Random, Requests], None]:
    def wild(rng: Random, requests: Requests) -> None:
        _somewhere(rng, requests, np.exp(sigma * rng.standard_normal(requests.count)))

    return wild


def _pareto(alpha: float) -> Callable[[Random, Requests], None]:
    def wild(rng: Random, requests: Requests) -> None:
        _somewhere(rng, requests, (1 - rng.uniform(0, 1, requests.count)) ** (-1 / alpha))

    return wild


def _bimodal(rng: Random, requests: Requests) -> None:
    """Of 5 to 50 % every call takes 3 to 20 times as long, or they send 5 to 20 more statements."""
    is_long = rng.uniform(0, 1, requests.count) < rng.uniform(0.05, 0.5)
    if rng.uniform() < 0.5:
        _somewhere(rng, requests, np.where(is_long, rng.uniform(3, 20), 1.0))
    else:
        requests.calls[:, 2] += np.where(is_long, rng.integers(5, 20), 0)


def _in_bursts(rng: Random, requests: Requests) -> NDArray[np.bool_]:
    """One in 100 to 1,000 begins a burst, which is 5 to 30 requests long, and at most a quarter of the slow side."""
    count = requests.count
    begins = rng.uniform(0, 1, count) < 1 / np.exp(rng.uniform(np.log(100), np.log(1000)))
    length = min(int(rng.integers(5, 30)), int(requests.is_slow.sum()) // 4)
    return np.convolve(begins, np.ones(length), "full")[:count] > 0


def _bursts_of_503(rng: Random, requests: Requests) -> None:
    """The database does not answer for 30 s."""
    is_in = _in_bursts(rng, requests)
    requests.status[is_in] = 503
    requests.wait_ns += np.where(is_in, 30e9, 0)


def _bursts_of_slow(rng: Random, requests: Requests) -> None:
    _somewhere(rng, requests, np.where(_in_bursts(rng, requests), rng.uniform(3, 30), 1.0))


def _daily_rhythm(rng: Random, requests: Requests) -> None:
    phase = rng.uniform(0, 2 * np.pi)
    requests.everything *= 1 + 0.3 * np.sin(2 * np.pi * requests.at_s / _DAY_S + phase)
    _lognormal(0.5)(rng, requests)


def _drift(rng: Random, requests: Requests) -> None:
    """The machine is 8 to 15 % faster or slower for minutes: an autoregressive process in steps of 10 s."""
    step_s, lasts_s = 10.0, rng.uniform(60, 300)
    steps = int(requests.at_s[-1] / step_s) + 2
    log = _autoregressive(rng, steps, float(np.exp(-step_s / lasts_s))) * rng.uniform(0.08, 0.15)
    requests.everything *= np.exp(log[(requests.at_s / step_s).astype(int)])
    _lognormal(0.4)(rng, requests)


def _autocorrelated(rng: Random, requests: Requests) -> None:
    """From request to request, whenever they come."""
    _somewhere(rng, requests, np.exp(0.5 * _autoregressive(rng, requests.count, rng.uniform(0.5, 0.95))))


def _autoregressive(rng: Random, count: int, keeps: float) -> Floats:
    """Standard normal, with this correlation of neighbours."""
    noise = rng.standard_normal(count) * np.sqrt(1 - keeps**2)
    # the sum of what is left of the noise of as many steps as matter
    steps = min(count, int(np.log(1e-4) / np.log(keeps)) + 1)
    kept = np.convolve(
        np.concatenate([rng.standard_normal(steps) * np.sqrt(1 - keeps**2), noise]), keeps ** np.arange(steps)
    )
    return kept[steps : steps + count]


def _outliers(rng: Random, requests: Requests) -> None:
    is_one = rng.uniform(0, 1, requests.count) < 10 ** rng.uniform(-3, -2)
    factor = np.where(is_one, 10 ** rng.uniform(1, 3, requests.count), 1.0)
    _lognormal(0.5)(rng, requests)
    _somewhere(rng, requests, factor)


FAMILIES: Final[Mapping[str, Callable[[Random, Requests], None]]] = {
    "lognormal 0.5": _lognormal(0.5),
    "lognormal 1": _lognormal(1),
    "lognormal 1.5": _lognormal(1.5),
    "lognormal 2": _lognormal(2),
    "Pareto 1.2": _pareto(1.2),
    "Pareto 1.5": _pareto(1.5),
    "Pareto 2": _pareto(2),
    "bimodal": _bimodal,
    "bursts of 503": _bursts_of_503,
    "bursts of slow": _bursts_of_slow,
    "daily rhythm": _daily_rhythm,
    "drift": _drift,
    "autocorrelated": _autocorrelated,
    "outliers": _outliers,
}
