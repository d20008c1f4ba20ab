"""A restarted, a too small, a slow and a saving cache: `why` says which it was, by what the cache says itself."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
import redis
from shop.ask import iso
from shop.services import Memcached

from tests.collector.observe import visitors
from tests.redis_server import RedisServer
from tests.server_folder import server_folder
from tests.servers import Collector, eventually, over_http
from tests.unpacked import MEMCACHED, REDIS, preferred

VISITS, RATE = 160, 16.0
"""10 s: what a server says is a row a second, and five against five can be chance (1/252)."""
KEYS, MANY_KEYS, ITEM_BYTES = 200, 2_500, 2_000
OBSERVED_S = 4
"""What servers say is stored every 3 s."""
Server = Memcached | RedisServer
SAYS: Final = {
    "restarted": "was restarted at",
    "too_small": "too little",
    "slow": "is slow itself",
    "busy": "ran KEYS ",
    "saving": "was saving to disk",
}
SYSTEMS: Final = ("memcached", "redis")
OF_REDIS: Final = ("busy", "saving")
TRIES: Final = 4


@dataclass
class Case:
    """One cache, and what happens to it between the usual visits and the slow ones."""

    what: str
    server: Server
    number: int
    kind: str = field(init=False)
    keys: int = field(init=False)
    stopping: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self.keys = MANY_KEYS if self.what == "restarted" else KEYS
        self.kind = f"GET /{self.what}/{self.system}/{self.number}"

    @property
    def system(self) -> str:
        return "redis" if isinstance(self.server, RedisServer) else "memcached"

    def visits(self, seed: int) -> dict[str, Any]:
        return {
            "system": self.system, "port": self.server.port, "kind": self.kind, "visits": VISITS, "rate": RATE,
            "prefix": "product", "keys": self.keys, "item_bytes": ITEM_BYTES, "seed": seed,
        }  # fmt: skip

    def fill(self) -> None:
        """Store what is looked up."""
        cache = visitors.cache_of(self.visits(0))
        for key in range(self.keys):
            cache.set(f"product:{key}", "x" * ITEM_BYTES)
        cache.close()

    def begin(self) -> None:
        """Change something, perhaps for as long as the slow visits last."""
        change: Callable[[], None] = getattr(self, f"_{self.what}")
        change()

    def end(self) -> None:
        self.stopping.set()
        if self.thread:
            self.thread.join()

    def _restarted(self) -> None:
        self.server.kill()
        self.server.start()

    def _too_small(self) -> None:
        """There are more products now, and no room for all."""
        self.keys = MANY_KEYS
        if isinstance(self.server, RedisServer):
            with redis.Redis(port=self.server.port) as client:
                client.config_set("maxmemory-policy", "allkeys-lru")
                client.config_set("maxmemory", client.info("memory")["used_memory"] + KEYS * ITEM_BYTES)
        self.fill()

    def _slow(self) -> None:
        """Its machine gives it a fifth of the time: most transactions wait."""

        def pause() -> None:
            os.kill(self.server.pid, signal.SIGSTOP)
            time.sleep(random.uniform(0.06, 0.1))
            os.kill(self.server.pid, signal.SIGCONT)

        self._meanwhile(pause, 0.02)

    def _busy(self) -> None:
        """Another program asks for all of its keys again and again."""
        with redis.Redis(port=self.server.port) as client:
            for first in range(0, 300_000, 10_000):  # a long script keeps the server from answering
                client.eval(f"for key = {first}, {first + 9_999} do redis.call('SET', 'other:' .. key, '') end", 0)

        def look_at_all() -> None:
            with redis.Redis(port=self.server.port) as client:
                client.execute_command("KEYS", "no*such*key")

        self._meanwhile(look_at_all, 0.01)

    def _saving(self) -> None:
        def save() -> None:
            with redis.Redis(port=self.server.port) as client:
                client.save()

        with redis.Redis(port=self.server.port) as client:
            client.config_set("rdb-key-save-delay", 500)  # as a slow disk: the save takes 100 ms
        self._meanwhile(save, 0.02)

    def _meanwhile(self, act: Callable[[], None], every_s: float) -> None:
        def repeat() -> None:
            while not self.stopping.wait(every_s):
                act()

        self.thread = threading.Thread(target=repeat)
        self.thread.start()


class Lab:
    """A collector that observes the caches of all cases, and the program whose transactions use them."""

    def __init__(self, folder: Path, servers: Sequence[Server]) -> None:
        named = {"redis": ",".join(each.address for each in servers if isinstance(each, RedisServer))}
        named["memcached"] = ",".join(each.address for each in servers if isinstance(each, Memcached))
        self._sent = 0
        self.collector = Collector(folder / "collector", **named)
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.otlp_url.removesuffix("/v1/traces")}
        self.program = subprocess.Popen(
            [sys.executable, visitors.__file__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def compare(self, cases: Sequence[Case]) -> dict[str, dict[str, Any]]:
        """Answers of `why`, by kind."""
        for each in cases:
            each.fill()
        usual = self.visit([each.visits(1) for each in cases])
        for each in cases:
            each.begin()
        time.sleep(1.5)  # what was done to begin is in another second
        slow = self.visit([each.visits(2) for each in cases])
        for each in cases:
            each.end()
        self._sent += 2 * VISITS * len(cases)
        eventually(lambda: self.is_stored(self._sent))
        time.sleep(OBSERVED_S)
        return {each.kind: self._why(each.kind, usual, slow) for each in cases}

    def visit(self, visits: Sequence[dict[str, Any]]) -> str:
        """These visits, at once; the window that they were in."""
        assert self.program.stdin
        assert self.program.stdout
        began_ns = time.time_ns()
        self.program.stdin.write(json.dumps(visits) + "\n")
        self.program.stdin.flush()
        assert self.program.stdout.readline() == "True\n"
        return f"{iso(began_ns)}..{iso(time.time_ns())}"

    def _why(self, kind: str, usual: str, slow: str) -> dict[str, Any]:
        url = f"{self.collector.web_url}/api/why?kind={quote(kind, safe='')}&during={slow}&against={usual}"
        answer: dict[str, Any] = over_http("GET", url).json()
        return answer

    def is_stored(self, transactions: int) -> bool:
        top = over_http("GET", f"{self.collector.web_url}/api/top?since=1d").json()
        return bool(top["transactions"] == transactions)

    def stop(self) -> None:
        assert self.program.stdin
        self.program.stdin.close()
        self.program.wait()
        assert self.program.stdout
        self.program.stdout.close()
        self.collector.stop()


@contextmanager
def lab(wanted: Collection[tuple[str, str]]) -> Iterator[tuple[Lab, list[Case]]]:
    """A lab with new servers for these pairs of what happens and system."""
    with server_folder() as folder, ExitStack() as stack:
        cases: list[Case] = []
        for what, system in sorted(wanted):
            server: Server = RedisServer(folder / f"redis-{what}")
            if system == "memcached":
                server = Memcached(f"memcached-{what}", folder, memory_mb=2 if what == "too_small" else 64)
            stack.enter_context(server)
            cases.append(Case(what, server, 1))
        lab = Lab(folder, [each.server for each in cases])
        stack.callback(lab.stop)
        yield lab, cases


def tell_apart(wanted: set[tuple[str, str]]) -> None:
    """Never anything else; a case of which a busy machine's noise hides what happened is tried again."""
    for _ in range(TRIES):
        with lab(wanted) as (of, cases):
            answers = of.compare(cases)
        for case in cases:
            said = [each for each in answers[case.kind]["sentences"] if case.server.address in each]
            named = {what for what, words in SAYS.items() if any(words in each for each in said)}
            assert named <= {case.what}, said
            wanted -= {(each, case.system) for each in named}
        if not wanted:
            return
    pytest.fail(f"the machine is too busy for {sorted(wanted)}")


def of_system(system: str) -> set[tuple[str, str]]:
    return {(what, system) for what in SAYS if system == "redis" or what not in OF_REDIS}


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(int(os.environ.get("TOLD_APART", "1"))))
def test_why_says_what_happened_to_a_cache(number: int) -> None:
    tell_apart(of_system("memcached") | of_system("redis"))


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [*MEMCACHED, *REDIS])
def test_why_says_what_happened_to_a_cache_of_another_version(name: str) -> None:
    with preferred(name):
        tell_apart(of_system("memcached" if name in MEMCACHED else "redis"))


@pytest.mark.nightly
def test_advise_names_the_keys_whose_values_are_too_large() -> None:
    """memcached answers nothing to a client that wants no reply: it counts what it refuses."""
    with lab([("restarted", "memcached")]) as (of, (case,)):
        told = {**case.visits(1), "prefix": "report", "keys": 10, "item_bytes": 1_500_000}
        of.visit([told])
        eventually(lambda: of.is_stored(VISITS))
        time.sleep(OBSERVED_S)
        advice = over_http("GET", f"{of.collector.web_url}/api/advice?since=1h").json()["advice"]
    (found,) = (each for each in advice if each["category"] == "refused_values")
    words = f"Make the values of report:… smaller, or do not look them up on {case.server.address}: they are larger"
    assert found["change"].startswith(words)
