"""
What happens in the demo, act by act, on a running shop: warm caches, a cache that restarts, a checkout that waits.

How the act with the cache is arranged, since it has to fit into 20 seconds: the crowd looks at half of the catalogue,
less unevenly than in most shops, and each of those products is looked at once beforehand, which stands for the hours in
which real caches fill. Nothing else is done to the caches; keys live for ten minutes as always. So the restarted server
starts from nothing and fills as visitors come: with 28 product pages a second, pages need three to four times the usual
queries in the first 10 seconds, less than twice as many after 20, and in the end it would be over by itself.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from shop.load import FORM, Crowd, Load, each_product
from shop.seed import PRODUCTS
from shop.services import Memcached, Program, ServiceError
from shop.stack import Stack
from shop.watch import Watch, Window

KIND = "GET /product/{id}"
PRODUCTS_PER_S = 75
BUYER, BOUGHT = 301, 21
"""Not one of the users the crowd buys as, and a product."""

CHECKOUT_ENTRY = re.compile(
    r"^# Query_time: (?P<query_s>[\d.]+).* FOR UPDATE /\*"
    r"[^\n]*service='shop',traceparent='00-(?P<trace_id>\w{32})-(?P<span_id>\w{16})-",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Restart:
    """A cache server that was stopped and started again, on the same port and empty."""

    name: str
    address: str
    at_ns: int
    took_ns: int


@dataclass(frozen=True)
class LockWait:
    """A checkout that waited for a row, as the database tells it."""

    product: int
    trace_id: str
    """Of the checkout, from the comment in the slow log."""
    span_id: str
    query_s: float
    """Of its SELECT … FOR UPDATE, says the slow log."""
    waited_ms: int
    """For row locks, says InnoDB: all statements of the window, in whole milliseconds each."""


def crowd_for(seconds: float) -> Crowd:
    """Visitors that refill a cache slowly enough for it to be cold for about so long, at the demo's rate."""
    return Crowd(products=max(min(round(seconds * PRODUCTS_PER_S), PRODUCTS), 1), skew=0.5)


def warm(stack: Stack, crowd: Crowd) -> int:
    """Look at every product of the crowd once; returns how many there are."""
    sent = Load(stack.url, each_product(crowd), threads=4).start().wait()
    if sent.errors:
        raise ServiceError(
            f"the shop answered {sent.errors} of {sent.total} requests with errors.{stack.shop.log_tail()}"
        )
    return sent.total


def restart(cache: Memcached) -> Restart:
    started_ns = time.time_ns()
    cache.stop()
    cache.start()
    return Restart(cache.name, cache.address, started_ns, time.time_ns() - started_ns)


def wait_for_a_lock(stack: Stack, watch: Watch, seconds: float = 0.4) -> LockWait:
    """
    Buy a product while the inventory job counts it: the checkout waits for its row until the job commits.

    Raises:
        ServiceError: The job or the checkout failed, or nothing waited.
    """
    assert stack.mariadb.slow_log is not None
    slow_log, logged_bytes = stack.mariadb.slow_log, stack.mariadb.slow_log.stat().st_size
    _visit(stack, "/cart", f"product={BOUGHT}")
    job = Program(
        "inventory",
        stack.shop.folder,
        [sys.executable, "-m", "shop.inventory", str(BOUGHT), "--seconds", str(seconds)],
        ready="counting product",
        environment={**stack.shop.environment, "PYTHONUNBUFFERED": "1"},
    )
    with watch.window() as window, job:
        _visit(stack, "/checkout")
        assert job.process is not None
        try:
            status = job.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            raise ServiceError(f"the inventory job has not ended.{job.log_tail()}") from None
        if status:
            raise ServiceError(f"the inventory job ended with status {status}.{job.log_tail()}")
    with slow_log.open(errors="replace") as log:
        log.seek(logged_bytes)
        entries = filter(None, map(CHECKOUT_ENTRY.search, log.read().split("# User@Host")))
    waited_ms = window.mariadb["Innodb_row_lock_time"]
    longest = max(entries, key=lambda entry: float(entry["query_s"]), default=None)
    if longest is None or not waited_ms:
        raise ServiceError(f"no checkout waited for product {BOUGHT}: the job was over too soon.{job.log_tail()}")
    return LockWait(BOUGHT, longest["trace_id"], longest["span_id"], float(longest["query_s"]), waited_ms)


@dataclass
class Truth:
    """What was done and what the servers counted, without Walltime; the demo leaves it as truth.json."""

    caches: dict[str, str]
    """Address by name."""
    kind: str = KIND
    restart: Restart | None = None
    before: Window | None = None
    after: Window | None = None
    lock_wait: LockWait | None = None

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")


def _visit(stack: Stack, path: str, form: str = "") -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stack.shop.port, timeout=30)
    connection.request("POST", path, form, {"Cookie": f"user={BUYER}", **FORM})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != http.client.SEE_OTHER:
        raise ServiceError(f"the shop answered {answer.status} to POST {path}.{stack.shop.log_tail()}")
