"""The typed answer of `advise`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Category = Literal[
    "n_plus_one",
    "repeated_gets",
    "sequential_calls",
    "connect_per_query",
    "missing_pool",
    "rows_examined",
    "row_locks",
    "slow_cache",
    "mostly_other",
    "queue",
]


@dataclass(frozen=True)
class Affected:
    """A kind that the change makes faster."""

    service: str
    name: str
    per_hour_ns: int


@dataclass(frozen=True)
class Price:
    """What the change saves: in percentiles and mean of the kind that it helps most, and per hour in all kinds."""

    p50_ns: int
    p95_ns: int
    mean_ns: int
    uncertainty_ns: int
    """Half of the 95 % interval of the mean; 0 when all transactions were read."""
    per_hour_ns: int
    helped: int
    """Of those that were read, the transactions that the change makes faster."""
    transactions: int
    """How many of the kind were read for the percentiles."""
    of: int
    """How many it has in the window."""


@dataclass(frozen=True)
class Dismissal:
    """Somebody does not want to see an advice."""

    id: str
    since: str
    until: str
    why: str
    change: str


@dataclass(frozen=True)
class Dismissals:
    """Advice that is dismissed now, the latest first."""

    dismissals: tuple[Dismissal, ...]


@dataclass(frozen=True)
class Advice:
    """One change, and the reason for it."""

    id: str
    """10 hexadecimal digits; the same in each window, of category, service and what is to be changed."""
    category: Category
    service: str
    name: str
    """Of the kind that it helps most."""
    change: str
    """What to do, one sentence."""
    finding: str
    """What was measured, one sentence."""
    certainty: str
    """What the figures do not show; empty when there is nothing to say."""
    price: Price
    affected: tuple[Affected, ...]
    """All kinds that it helps, the most first."""
    evidence: tuple[str, ...]
    """Trace ids: transactions with this fault, those with kept calls first."""
    statement_id: str = ""
    """16 hexadecimal digits, as in Digest; empty when it is not about a statement."""
    component: str = ""
    address: str = ""
    """The server; empty when it is about several or none."""
    dismissed: Dismissal | None = None


@dataclass(frozen=True)
class Advised:
    """All advice for a window, the most expensive first."""

    since: str
    until: str
    service: str
    kind: str
    transactions: int
    one_in: int
    """The sums are estimates from one transaction in so many; 1: of all."""
    thresholds: Mapping[str, str]
    """By category, what has to be exceeded; `all` holds for every advice."""
    advice: tuple[Advice, ...]
    left_out: int
    """Advice below the limit of the answer."""
    hidden: int
    """Advice that is dismissed and not in `advice`."""


LEAST_TRANSACTIONS = 20
LEAST_SHARE = 0.05
LEAST_MEAN_NS = 500_000
LEAST_CALLS = 5.0
"""Of one statement, or gets of one prefix, per transaction that makes them."""
LEAST_CONNECTS = 0.5
LEAST_CONNECTS_PER_QUERY = 2.0
LEAST_SEQUENTIAL_NS = 5_000_000
LEAST_SEQUENTIAL_SHARE = 0.1
"""Of the time of the kind: calls at the same time are no small change."""
LEAST_EXAMINED = 1_000
LEAST_EXAMINED_PER_ROW = 100
LEAST_LOCKED_NS = 1_000_000
LEAST_WAITS = 3
LEAST_UNKNOWN_LOCKED_NS = 20_000_000
"""The mean of waits without a known holder: in MariaDB's log, a busy machine can look like a shorter wait."""
LEAST_CACHE_CALL_NS = 3_000_000
LEAST_LONE_CACHE_CALL_NS = 10_000_000
LEAST_HIT_RATIO = 0.9
USUAL_CACHE_CALL_NS = 500_000
"""A cache in the same network answers within this."""
LEAST_OTHER_SHARE = 0.5
LEAST_OTHER_NS = 10_000_000
LEAST_QUEUE_SHARE = 0.1
LEAST_QUEUE_NS = 10_000_000

THRESHOLDS: Mapping[str, str] = {
    "all": f"at least {LEAST_TRANSACTIONS} transactions of the kind, of whose time the change saves at least 5 % and"
    " 0.5 ms each",
    "n_plus_one": "one statement at least 5 times, on average, in the transactions that send it",
    "repeated_gets": "keys of one prefix at least 5 times one by one, on average, in the transactions that get them",
    "sequential_calls": "HTTP requests and SELECTs to at least two servers, at least 5 ms each; saves 10 %",
    "connect_per_query": "at least 2 connections to a server, on average, in the transactions that use it, 1 for every"
    " 2 calls",
    "missing_pool": "at least 1 connection to a server in every 2 transactions that use it",
    "rows_examined": "at least 1,000 rows examined by a logged call on average, and 100 for each row that it returns or"
    " changes",
    "row_locks": "at least 3 waits of 1 ms or more in the slow log; of 20 ms on average where no holder is known",
    "slow_cache": "at least 90 % hits, and 3 ms a call; beside other servers, twice the fastest one's time, or 10 ms;"
    " saves 3 ms a call at p50",
    "mostly_other": "at least 50 % of the time and 10 ms a transaction in no measured call but `view` and `middleware`;"
    " saves 0.5 ms at p50",
    "queue": "at least 10 ms, and 10 % of queue time and duration together",
}
