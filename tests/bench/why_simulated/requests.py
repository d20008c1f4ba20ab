"""Simulated requests of one page: when they come, who sends them, what they do, and the bill of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

SECOND_NS: Final = 1_000_000_000
START_S: Final = 1_793_610_000
"""2 November 2026, 9:00 UTC: both windows of every pair are of one day."""
SLOW_S: Final = 900.0
CACHES: Final = ("10.0.0.11:11211", "10.0.0.12:11211")
DATABASE, API = "10.0.0.5:3306", "10.0.0.9:8000"
STATEMENTS: Final = (
    "SELECT id, name, locale FROM users WHERE id = %s",
    "SELECT id, title, price FROM products WHERE id = %s",
    "SELECT id, text FROM reviews WHERE product_id = %s",
    "SELECT id, amount FROM carts WHERE user_id = %s FOR UPDATE",
)
USERS_STATEMENT, MISSED, REVIEWS, LOCKED = range(len(STATEMENTS))
MOST_USERS: Final = 200
TENANTS: Final = ("small", "big")


@dataclass(frozen=True)
class Page:
    """What is the same for all requests of a pair. Times are means of one call."""

    statement_ns: Floats
    """Of each statement; MISSED is sent once for each miss, the others as often as `Requests.calls` says."""
    get_ns: float
    gets: Whole
    """Keys that are looked up on each cache."""
    hits: Floats
    """The hit ratio of each cache."""
    http_ns: float
    http_share: float
    other_ns: float
    cpu_share: float
    """Of `other`."""
    call_noise: float
    """The standard deviation of the logarithm of the time of a call."""
    hosts: int
    users: int
    versions: int

    @classmethod
    def random(cls, rng: np.random.Generator) -> Page:
        """One of many pages: 5 to 100 ms."""
        scale_ns = 1e6 * np.exp(rng.uniform(0, np.log(12)))
        return cls(
            statement_ns=scale_ns * rng.uniform(0.5, 3, len(STATEMENTS)),
            get_ns=rng.uniform(1e5, 4e5),
            gets=rng.integers(1, 5, 2),
            hits=rng.uniform(0.85, 0.99, 2),
            http_ns=scale_ns * rng.uniform(1, 6),
            http_share=rng.uniform(0.1, 0.9),
            other_ns=scale_ns * rng.uniform(0.5, 4),
            cpu_share=rng.uniform(0.3, 0.9),
            call_noise=rng.uniform(0.1, 0.5),
            hosts=int(rng.integers(1, 6)),
            users=int(rng.integers(1, MOST_USERS)),
            versions=int(rng.choice([1, 1, 1, 2])),
        )


@dataclass
class Requests:
    """Arrays with an element per request, in the order of time; what is simulated changes the later ones."""

    page: Page
    at_s: Floats
    """Seconds since START_S."""
    usual_s: float
    """The length of the usual side; the slow one begins then."""
    is_slow: NDArray[np.bool_]
    host: Whole
    user: Whole
    version: Whole
    tenant: Whole
    status: Whole
    hits: Floats
    """The hit ratio of each cache at the time."""
    calls: Whole
    everything: Floats
    """A factor of the times, as those below of one part."""
    statement: Floats
    http: Floats
    other: Floats
    wait_ns: Floats
    """More time in LOCKED."""

    @property
    def count(self) -> int:
        return len(self.at_s)


def nanoseconds(at_s: float) -> int:
    """The time in the table."""
    return START_S * SECOND_NS + int(at_s * SECOND_NS)


def arrive(rng: np.random.Generator, page: Page, usual: int, slow: int, usual_s: float = 0.0) -> Requests:
    """So many requests of each side at random times; the slow side follows, at the same rate by default."""
    usual_s = usual_s or SLOW_S * usual / slow
    at_s = np.sort(np.concatenate([rng.uniform(0, usual_s, usual), usual_s + rng.uniform(0, SLOW_S, slow)]))
    count = usual + slow
    status = rng.choice([200, 302, 404, 500], count, p=[0.95, 0.02, 0.025, 0.005])
    calls = np.ones((count, len(STATEMENTS)), np.int64)
    calls[:, MISSED], calls[:, REVIEWS] = 0, 2
    return Requests(
        page=page,
        at_s=at_s,
        usual_s=usual_s,
        is_slow=at_s >= usual_s,
        host=rng.integers(0, page.hosts, count),
        user=(page.users * rng.uniform(0, 1, count) ** 2).astype(np.int64),
        version=rng.integers(0, page.versions, count),
        tenant=(rng.uniform(0, 1, count) < 0.1).astype(np.int64),
        status=status,
        hits=np.tile(page.hits, (count, 1)),
        calls=calls,
        everything=np.where(status == 404, 0.5, 1.0),
        statement=np.ones((count, len(STATEMENTS))),
        http=np.ones(count),
        other=np.ones(count),
        wait_ns=np.zeros(count),
    )


@dataclass(frozen=True)
class Bills:
    """What each request cost: nanoseconds and calls, an array with an element per request, or a row."""

    requests: Requests
    gets: Whole
    misses: Whole
    get_ns: Whole
    set_ns: Whole
    statement_calls: Whole
    statement_ns: Whole
    http_calls: Whole
    http_ns: Whole
    other_ns: Whole

    @property
    def covered_ns(self) -> Whole:
        sums: Whole = self.get_ns.sum(1) + self.set_ns.sum(1) + self.statement_ns.sum(1) + self.http_ns
        return sums

    @property
    def duration_ns(self) -> Whole:
        return self.covered_ns + self.other_ns


def bills(rng: np.random.Generator, requests: Requests) -> Bills:
    """Let them run."""
    page, count = requests.page, requests.count

    def took(calls: Any, mean_ns: Any, factor: Any) -> Whole:
        """So many calls, each with its own noise."""
        sigma = page.call_noise / np.sqrt(np.maximum(calls, 1))
        noise = np.exp(sigma * rng.standard_normal(calls.shape) - sigma**2 / 2)
        every = requests.everything if calls.ndim == 1 else requests.everything[:, None]
        whole: Whole = np.rint(calls * mean_ns * factor * noise * every).astype(np.int64)
        return whole

    gets = np.tile(page.gets, (count, 1))
    misses = rng.binomial(gets, 1 - requests.hits)
    calls = requests.calls.copy()
    calls[:, MISSED] += misses.sum(1)
    statement_ns = took(calls, page.statement_ns, requests.statement)
    statement_ns[:, LOCKED] += requests.wait_ns.astype(np.int64)
    http_calls = (rng.uniform(0, 1, count) < page.http_share).astype(np.int64)
    return Bills(
        requests=requests,
        gets=gets,
        misses=misses,
        get_ns=took(gets, page.get_ns, 1.0),
        set_ns=took(misses, page.get_ns, 1.0),
        statement_calls=calls,
        statement_ns=statement_ns,
        http_calls=http_calls,
        http_ns=took(http_calls, page.http_ns, requests.http),
        other_ns=took(np.ones(count, np.int64), page.other_ns, requests.other),
    )
