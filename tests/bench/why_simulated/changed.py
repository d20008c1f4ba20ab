"""Pairs of windows between which one thing changed, and what a true answer says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from .requests import CACHES, REVIEWS, Bills, Page, Requests, arrive, bills

Random = np.random.Generator
VARIANTS: Final = 8
"""Pages of each change; the truth is computed for each of them."""
_NOISE: Final = 0.2
"""Of the logarithm of the time of a request, all of its calls alike; with the noise of each call it is 0.3."""


@dataclass(frozen=True)
class Change:
    """What is changed on the slow side, and how an answer is judged."""

    apply: Callable[[Random, Requests, int], None]
    """Of a variant; requests of the usual side are given as well."""
    sizes: Callable[[Random], tuple[int, int]]
    """Transactions of the usual and the slow side."""
    names: Callable[[int], str]
    """A regular expression: a sentence about this variant that names the cause matches it."""
    true: Callable[[int], str]
    """Another: a sentence that says nothing false matches this one, or the one above."""
    once: Callable[[Random, Requests, int], None] = lambda rng, requests, variant: None
    """A single event beside the change, which is not part of the truth of the population."""
    page: Callable[[Page], Page] = lambda page: page


def page_of(name: str, variant: int) -> Page:
    """The page of a variant."""
    rng = np.random.default_rng([*name.encode(), variant])
    page = replace(Page.random(rng), call_noise=0.2, hosts=5, versions=1)
    page.statement_ns[:] = np.median(page.statement_ns)
    return CHANGES[name].page(page)


def pair(name: str, variant: int, rng: Random) -> Bills:
    """Both sides."""
    change = CHANGES[name]
    requests = _requests(rng, name, variant, *change.sizes(rng))
    change.once(rng, requests, variant)
    return bills(rng, requests)


def population(name: str, variant: int, draws: int) -> Bills:
    """Many requests of both sides, for the truth about the variant."""
    rng = np.random.default_rng([*name.encode(), variant, 1])
    return bills(rng, _requests(rng, name, variant, draws // 2, draws // 2))


def _requests(rng: Random, name: str, variant: int, usual: int, slow: int) -> Requests:
    requests = arrive(rng, page_of(name, variant), usual, slow)
    requests.everything *= np.exp(_NOISE * rng.standard_normal(requests.count))
    CHANGES[name].apply(rng, requests, variant)
    return requests


def _between(fewest: int, most: int) -> Callable[[Random], tuple[int, int]]:
    def sizes(rng: Random) -> tuple[int, int]:
        slow = round(fewest * (most / fewest) ** rng.uniform())
        return round(slow * rng.uniform(1, 4)), slow

    return sizes


def _slower(part: float) -> Callable[[Random, Requests, int], None]:
    """Everything alike in even variants, in odd ones one statement by as much of the whole time."""

    def apply(rng: Random, requests: Requests, variant: int) -> None:
        if variant % 2 == 0:
            requests.everything[requests.is_slow] *= 1 + part
            return
        page = requests.page
        misses = (page.gets * (1 - page.hits)).sum()
        queries_ns = page.statement_ns @ [1, misses, 2, 1]
        whole_ns = queries_ns + page.get_ns * (page.gets.sum() + misses) + page.other_ns
        whole_ns += page.http_ns * page.http_share
        requests.statement[requests.is_slow, REVIEWS] += part * whole_ns / (2 * page.statement_ns[REVIEWS])

    return apply


def _names_slower(variant: int) -> str:
    return rf"^Everything alike|{_SLOWER}" if variant % 2 == 0 else r"FROM reviews"


def _true_slower(variant: int) -> str:
    return _SLOWER if variant % 2 == 0 else "FROM reviews"


def _emptied(rng: Random, requests: Requests, variant: int) -> None:
    requests.hits[requests.is_slow, variant % 2] = 0.2 + 0.05 * variant


def _more_gets(page: Page) -> Page:
    return replace(page, gets=np.array([3, 3]), hits=np.array([0.95, 0.97]))


def _names_cache(variant: int) -> str:
    return rf"memcache\.get.*{CACHES[variant % 2]} hits"


def _one_host(rng: Random, requests: Requests, variant: int) -> None:
    requests.everything[requests.is_slow & (requests.host == variant % 5)] *= 2


def _repeated(rng: Random, requests: Requests, variant: int) -> None:
    requests.calls[requests.is_slow, REVIEWS] = 12


def _locked(rng: Random, requests: Requests, variant: int) -> None:
    waits = requests.is_slow & (rng.uniform(0, 1, requests.count) < 0.02)
    requests.wait_ns += np.where(waits, rng.uniform(1e9, 3e9, requests.count), 0)


def _one_in(*, is_slow: bool) -> Callable[[Random, Requests, int], None]:
    """A request of one side waits for 60 s."""

    def once(rng: Random, requests: Requests, variant: int) -> None:
        requests.wait_ns[rng.choice(np.flatnonzero(requests.is_slow == is_slow))] += 60e9

    return once


def _tenants(rng: Random, requests: Requests, variant: int) -> None:
    share = np.where(requests.is_slow, 0.5, 0.1)
    requests.tenant = (rng.uniform(0, 1, requests.count) < share).astype(np.int64)
    requests.statement[requests.tenant == 1] *= 3 + variant


_SLOWER = r"^(mysql\.query|http\.request|other|memcache\.get)\b(?!.*calls)"
"""Where everything takes longer it is true of each component, but none of them is called more often."""
_DATABASE = r"^mysql\.query"
_CACHED = r"^mysql\.query|^memcache\.set|FROM products"

CHANGES: Final[dict[str, Change]] = {
    "+10 % at 500": Change(_slower(0.1), _between(500, 500), _names_slower, _true_slower),
    "+50 % at 30": Change(_slower(0.5), _between(30, 30), _names_slower, _true_slower),
    "+50 %, one of 60 s before": Change(
        _slower(0.5), _between(200, 500), _names_slower, _true_slower, once=_one_in(is_slow=False)
    ),
    "one of two caches emptied": Change(
        _emptied, _between(100, 2000), _names_cache, lambda _: _CACHED, page=_more_gets
    ),
    "the same, one of 60 s now": Change(
        _emptied, _between(100, 2000), _names_cache, lambda _: _CACHED, page=_more_gets, once=_one_in(is_slow=True)
    ),
    "one host of five": Change(
        _one_host, _between(500, 5000), lambda variant: rf"^On web-{variant % 5 + 1} ", lambda _: _SLOWER
    ),
    "N+1": Change(_repeated, _between(50, 2000), lambda _: r"mysql\.query.*calls.*FROM reviews", lambda _: _DATABASE),
    "lock waits of 2 %": Change(_locked, _between(500, 5000), lambda _: "FROM carts", lambda _: r"^mysql\.query"),
    "mix of tenants": Change(_tenants, _between(200, 2000), lambda _: "tenant=big", lambda _: "$^"),
}
