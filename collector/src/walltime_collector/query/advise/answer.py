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
    "refused_values",
    "mostly_other",
    "queue",
    "new_statement",
    "changed_plan",
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
    """Single transactions that lose far more than the others count as 4 times the 95th percentile."""
    uncertainty_ns: int
    """Half of the 95 % interval of the mean; 0 when all transactions were read."""
    per_hour_ns: int
    helped: int
    """Of those that were read, the transactions that have the fault."""
    helped_ns: int
    """What it saves in a typical one of these."""
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
    """Trace ids: typical transactions with this fault, those with kept calls first."""
    sql: str
    """A statement for `walltime sql` that yields the numbers of the price, of each kind."""
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
LEAST_HELPED = 5
"""Transactions with the fault: fewer are single ones."""
FEW = 0.05
"""A smaller part of the transactions is called a few."""
MOST = 0.5
NOT_FAIR = " The kept transactions are slow or failed ones."
LEAST_SHARE = 0.05
LEAST_MEAN_NS = 500_000
LEAST_CALLS = 5
"""Of one statement, or gets of one prefix, in a transaction."""
LEAST_SEQUENTIAL_NS = 5_000_000
LEAST_SEQUENTIAL_SHARE = 0.1
"""Of the time of the transaction: calls at the same time are no small change."""
LEAST_EXAMINED = 1_000
LEAST_EXAMINED_PER_ROW = 100
LEAST_LOCKED_NS = 1_000_000
LEAST_UNKNOWN_LOCKED_NS = 20_000_000
"""The median of waits without a known holder: in MariaDB's log, a busy machine can look like a shorter wait."""
LEAST_CACHE_CALL_NS = 3_000_000
LEAST_LONE_CACHE_CALL_NS = 10_000_000
LEAST_HIT_RATIO = 0.9
USUAL_CACHE_CALL_NS = 500_000
"""A cache in the same network answers within this."""
LEAST_OTHER_SHARE = 0.5
LEAST_OTHER_NS = 10_000_000
LEAST_QUEUE_SHARE = 0.1
LEAST_QUEUE_NS = 10_000_000
NEW_DAYS = 7
"""A version is new for so long, and so is a plan."""
LEAST_PLAN_SLOWER = 1.25
"""A call after the change of a plan, as a multiple of one before."""

THRESHOLDS: Mapping[str, str] = {
    "all": f"at least {LEAST_TRANSACTIONS} transactions of the kind, of whose time the change saves at least 5 % and"
    f" 0.5 ms each, and {LEAST_HELPED} with the fault",
    "n_plus_one": "one statement at least 5 times in a transaction",
    "repeated_gets": "keys of one prefix at least 5 times one by one in a transaction",
    "sequential_calls": "HTTP requests and SELECTs to at least two servers, at least 5 ms each and 10 % of the time"
    " without the longest, in half of the transactions",
    "connect_per_query": "half of the transactions that use a server connect to it, half of these at least 2 times, 1"
    " for every 2 calls",
    "missing_pool": "half of the transactions that use a server connect to it",
    "rows_examined": "at least 1,000 rows examined by half of the logged calls, and 100 for each row that they return"
    " or change",
    "row_locks": "at least 5 waits of 1 ms or more in the slow log, or seen by --mysql; of 20 ms in half of them where"
    " no holder is known",
    "slow_cache": "at least 90 % hits, and 3 ms a call in half of the transactions with such calls; beside other"
    " servers, twice the median of their times, or 10 ms",
    "refused_values": "the server refuses at least half of the values of keys of one prefix, and none of their lookups"
    " hits",
    "mostly_other": "half of the transactions are at least 10 ms, and 50 % of their time, in no measured call but"
    " `view` and `middleware`",
    "new_statement": f"first sent by a version that was first seen in the last {NEW_DAYS} days, and by none of the"
    " transactions of earlier versions, beyond chance",
    "changed_plan": f"its plan changed in the last {NEW_DAYS} days, and in a typical minute of the hour after it a call"
    " takes 25 % longer than in the hour before",
    "queue": "half of the transactions wait at least 10 ms, and 10 % of queue time and duration together",
}
