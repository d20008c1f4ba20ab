"""A program with the SDK whose transactions read from caches, and build again what these have not."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from typing import Any

import redis
import walltime
from pymemcache.client.base import Client

BUILD_S = 0.004
LOOKUPS = 4


def cache_of(told: dict[str, Any]) -> Any:
    if told["system"] == "redis":
        return redis.Redis(port=told["port"])
    return Client(("127.0.0.1", told["port"]), ignore_exc=True, no_delay=True, connect_timeout=5, timeout=5)


def get(cache: Any, key: str, item: str) -> None:
    """Look it up; build and store it when it is not there."""
    if cache.get(key) is None:
        with walltime.component("render"):
            time.sleep(BUILD_S)
        cache.set(key, item)


def visit(told: dict[str, Any]) -> None:
    """Transactions of one kind at a steady rate."""
    cache, item, chosen = cache_of(told), "x" * told["item_bytes"], random.Random(told["seed"])
    began_s = time.monotonic()
    for number in range(told["visits"]):
        time.sleep(max(began_s + number / told["rate"] - time.monotonic(), 0))
        with walltime.transaction(told["kind"], kind="server"):
            for _ in range(LOOKUPS):
                get(cache, f"{told['prefix']}:{chosen.randrange(told['keys'])}", item)
    cache.close()


def main() -> None:
    """Each line on stdin is a list of visits that run at once; each is answered with a line when all have been sent."""
    walltime.configure(service_name="shop")
    walltime.instrument()
    for line in sys.stdin:
        threads = [threading.Thread(target=visit, args=(told,)) for told in json.loads(line)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(walltime.flush(20), flush=True)


if __name__ == "__main__":
    main()
