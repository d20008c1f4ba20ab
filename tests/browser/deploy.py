"""A deploy: version 10 of some kinds is slower, faster, fails more, is new or gone; both versions run side by side."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from walltime_collector.pages import urls
from walltime_collector.query.windows import Window, written

from tests import servers
from tests.collector.traffic import DATABASE, MS, Sent, SentCall, Value, export_request

S = 1_000_000_000
SLOWER, FASTER, FAILING, SAME, NEW, GONE = "GET /search", "GET /list", "POST /cart", "GET /", "GET /v2", "GET /old"
BEFORE_S, AFTER_S = 900, 600
BEFORE, AFTER = "9", "10"


@dataclass(frozen=True)
class Deploy:
    """A running collector; version 10 has part of the traffic after `changed`."""

    web_url: str
    before: str
    after: str

    def path(self, **params: str) -> str:
        """The page of the differences."""
        return urls.diff(params)

    @property
    def windows(self) -> str:
        """Two times."""
        return self.path(time="last 1h", during=self.after, against=self.before)


@contextmanager
def deployed(directory: Path) -> Iterator[Deploy]:
    """Serve it."""
    rng, now_ns = random.Random(3), time.time_ns() - S
    changed_ns = now_ns - AFTER_S * S
    sent = [_sent(rng, at_ns, changed_ns) for at_ns in range(changed_ns - BEFORE_S * S, now_ns, S // 2)]
    with servers.Collector(directory) as collector:
        assert collector.send(export_request(sent)).status_code == 200
        collector.wait_until_loaded(len(sent))
        before, after = Window(changed_ns - BEFORE_S * S, changed_ns), Window(changed_ns, now_ns)
        yield Deploy(collector.web_url, written(before), written(after))


def _sent(rng: random.Random, at_ns: int, changed_ns: int) -> Sent:
    is_new = at_ns >= changed_ns and rng.random() < 0.7
    name = rng.choice((SLOWER, FASTER, FAILING, SAME, NEW if is_new else GONE))
    host, _, port = DATABASE.rpartition(":")
    server: dict[str, Value] = {"server.address": host, "server.port": int(port)}
    query_ns = {SLOWER: 16, FASTER: 5}.get(name, 10) * MS if is_new else 10 * MS
    query_ns += rng.randrange(4 * MS)
    is_error = name == FAILING and rng.random() < (0.3 if is_new else 0.02)
    return Sent(
        f"{rng.getrandbits(128) | 1:032x}",
        f"{rng.getrandbits(64) | 1:016x}",
        name,
        at_ns,
        query_ns + rng.randrange(MS, 2 * MS),
        version=AFTER if is_new else BEFORE,
        is_error=is_error,
        calls=[SentCall("mysql.query", 0, query_ns, server)],
    )
