"""
Visitors for the shop: real HTTP from several threads, the same requests for the same seed.

`python -m shop.load http://127.0.0.1:8000 --seconds 30` shows its progress and ends with what it sent.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import random
import sys
import threading
import time
from bisect import bisect
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from rich.console import Console
from rich.live import Live
from rich.text import Text

from shop.seed import PRODUCTS, THINGS, USERS

MIX = {
    "GET /product/{id}": 70,
    "GET /search": 7,
    "GET /recommendations": 8,
    "POST /cart": 7,
    "GET /cart": 3,
    "POST /checkout": 3,
    "GET /": 2,
}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Visit:
    """One request to make; `kind` is its name in MIX."""

    kind: str
    method: str
    path: str
    user: int
    form: str = ""


@dataclass(frozen=True)
class Crowd:
    """What visitors are after."""

    mix: Mapping[str, int] = field(default_factory=lambda: MIX)
    """How often each kind of request is made, in proportion."""
    products: int = PRODUCTS
    """So many of the catalogue are looked at at all."""
    skew: float = 2.0
    """How much more often the popular ones are: rank ** -skew; 0 is all alike."""


def visits(seed: int, crowd: Crowd | None = None) -> Iterator[Visit]:
    """An endless, repeatable stream: few products are popular, most are looked at now and then."""
    chance, crowd = random.Random(seed), crowd or Crowd()
    popularity = list(itertools.accumulate((rank + 20) ** -crowd.skew for rank in range(crowd.products)))
    kinds, weights = list(crowd.mix), list(crowd.mix.values())
    while True:
        kind = chance.choices(kinds, weights)[0]
        method, path = kind.split()
        product = _product_of(bisect(popularity, chance.random() * popularity[-1]), crowd.products)
        user, form = chance.randint(1, USERS), ""
        if kind == "GET /product/{id}":
            path = f"/product/{product}"
        elif kind == "GET /search":
            path = "/search?" + urlencode({"q": chance.choice(THINGS)})
        elif kind == "POST /cart":
            form = urlencode({"product": product, "quantity": chance.randint(1, 3)})
        if kind in {"POST /cart", "GET /cart", "POST /checkout"}:
            user = chance.randint(1, 12)  # few users buy, so that a checkout often finds something in the cart
        yield Visit(kind, method, path, user, form)


def each_product(crowd: Crowd) -> Iterator[Visit]:
    """One visit to every product the crowd looks at, the popular ones last."""
    for rank in reversed(range(crowd.products)):
        yield Visit("GET /product/{id}", "GET", f"/product/{_product_of(rank, crowd.products)}", user=1)


def _product_of(rank: int, products: int) -> int:
    return rank * 7919 % products + 1  # popular ones are all over the catalogue


@dataclass
class Sent:
    """What was sent and what came back; the ground truth for what Walltime stores."""

    requests: Counter[str] = field(default_factory=Counter)
    """Answered requests by kind, failed ones included."""
    statuses: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    """Requests without an answer, by what went wrong."""
    recent_s: deque[float] = field(default_factory=lambda: deque(maxlen=500))
    """Response times of the last requests."""

    @property
    def total(self) -> int:
        return self.requests.total()

    @property
    def errors(self) -> int:
        return self.failures.total() + sum(n for status, n in self.statuses.items() if status >= 500)

    def percentile_s(self, share: float) -> float:
        times = sorted(self.recent_s)
        return times[min(int(len(times) * share), len(times) - 1)] if times else 0.0


class Load:
    """
    Sends visits until stopped, or until `limit` of them are answered.

    Args:
        url: The shop, `http://host:port`.
        plan: The visits to make; by default those of the usual crowd, by `seed`.
        threads: Visitors at the same time, each with a connection kept open as long as the server does.
        rate: Requests a second, all threads together; None is as fast as the answers come.
        limit: Requests to send, exactly; None is without end.
    """

    def __init__(
        self,
        url: str,
        plan: Iterable[Visit] | None = None,
        *,
        threads: int = 4,
        rate: float | None = None,
        limit: int | None = None,
        seed: int = 1,
    ) -> None:
        address = urlsplit(url)
        self.host, self.port = address.hostname or "127.0.0.1", address.port or 80
        self.sent = Sent()
        self._rate = rate
        self._visits = itertools.islice(visits(seed) if plan is None else plan, limit)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._started_s = time.monotonic()
        self._planned = 0
        self._threads = [threading.Thread(target=self._visit, daemon=True) for _ in range(threads)]

    def start(self) -> Load:
        self._started_s = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> Sent:
        """Let every request under way be answered, then return what was sent."""
        self._stopped.set()
        return self.wait()

    def wait(self) -> Sent:
        """Return when `limit` requests, or all of a plan that ends, are answered."""
        for thread in self._threads:
            thread.join()
        return self.sent

    @property
    def is_running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def status(self) -> Text:
        """One line for people."""
        sent, seconds = self.sent, max(time.monotonic() - self._started_s, 0.001)
        return Text.assemble(
            (f"{sent.total:,} requests", "bold"),
            f" · {sent.total / seconds:,.0f}/s · p50 {sent.percentile_s(0.5) * 1000:.1f} ms"
            f" · p95 {sent.percentile_s(0.95) * 1000:.1f} ms · ",
            (f"{sent.errors} errors", "red" if sent.errors else "green"),
        )

    def _visit(self) -> None:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        while (visit := self._next()) is not None:
            started_s = time.perf_counter()
            try:
                status = _send(connection, visit)
            except (OSError, http.client.HTTPException) as problem:
                connection.close()
                with self._lock:
                    self.sent.failures[type(problem).__name__] += 1
            else:
                with self._lock:
                    self.sent.requests[visit.kind] += 1
                    self.sent.statuses[status] += 1
                    self.sent.recent_s.append(time.perf_counter() - started_s)
        connection.close()

    def _next(self) -> Visit | None:
        with self._lock:
            visit, number = next(self._visits, None), self._planned
            self._planned += 1
        if self._rate:
            self._stopped.wait(self._started_s + number / self._rate - time.monotonic())
        return None if self._stopped.is_set() else visit


def _send(connection: http.client.HTTPConnection, visit: Visit) -> int:
    headers = {
        "Cookie": f"user={visit.user}",
        "X-Request-Start": f"t={time.time_ns() // 1000}",  # what a front end stamps, in microseconds
        **(FORM if visit.form else {}),
    }
    connection.request(visit.method, visit.path, visit.form or None, headers)
    response = connection.getresponse()
    response.read()
    return response.status


def main() -> None:
    parser = argparse.ArgumentParser(prog="shop.load", description="Visitors for the shop.")
    parser.add_argument("url", help="where the shop is: http://127.0.0.1:8000")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rate", type=float, help="requests a second (default: as fast as the answers come)")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    load = Load(given.url, threads=given.threads, rate=given.rate, seed=given.seed).start()
    console = Console()
    try:
        with Live(console=console, get_renderable=load.status, transient=True, auto_refresh=console.is_terminal):
            time.sleep(given.seconds)
    except KeyboardInterrupt:
        pass
    sent = load.stop()
    console.print(load.status())
    for kind, count in sent.requests.most_common():
        console.print(f"{count:>8,}  {kind}", highlight=False)
    sys.exit(1 if sent.errors else 0)


if __name__ == "__main__":
    main()
