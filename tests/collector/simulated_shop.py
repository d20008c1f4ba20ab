"""A product page whose cost is known, straight into the table as rows: simulated_shop.sql says how it is made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine

SQL = Path(__file__).with_suffix(".sql")
CACHE_1, CACHE_2 = "127.0.0.1:11211", "127.0.0.1:11212"
SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS


@dataclass(frozen=True)
class Page:
    """What differs from a usual day; the defaults are one. Means, in the units their names say."""

    slowness: float = 1.0
    hits_1: float = 0.96
    hits_2: float = 0.96
    cache_2_slowness: float = 1.0
    statement_slowness: float = 1.0
    """Of `SELECT … FROM reviews`, which every page makes once."""
    repeated: int = 0
    """More queries, all of one statement: N+1."""
    http_calls: int = 1
    http_slowness: float = 1.0
    http_failures: float = 0.0
    failures: float = 0.002
    """This part of the transactions fails."""
    more_cpu_ns: float = 0.0
    more_waiting_ns: float = 0.0
    noise: float = 0.0
    """How wildly a transaction is slower or faster as a whole: the standard deviation of the logarithm."""
    caches: list[str] = field(default_factory=lambda: [CACHE_1, CACHE_2])
    hosts: list[str] = field(default_factory=lambda: ["web-1"])
    versions: list[str] = field(default_factory=lambda: [""])
    tenants: list[str] = field(default_factory=lambda: [""])
    """Values of the annotation `tenant`. Of each list every transaction has one by chance, in equal parts."""
    users: int = 0
    seeded: str = ""
    """`host=web-2`, `user=7`, `version=2.1` or `tenant=a`: those of this one are slower, by `seeded_slowness`."""
    seeded_slowness: float = 1.0
    heavy_user: float = 0.0
    """This part of the transactions is of user 7, beside its equal part."""


USUAL = Page()


def simulate(
    engine: EmbeddedEngine,
    page: Page,
    *,
    seed: int,
    transactions: int,
    from_ns: int,
    length_ns: int,
    name: str = "GET /product/{id}",
    service: str = "shop",
    kinds: int = 1,
) -> None:
    """
    Store so many transactions of this page, spread by chance; the same arguments make the same rows.

    Of several `kinds` they are in equal parts, named like the first with /0, /1, … behind it.
    """
    said = {
        "seed": seed,
        "transactions": transactions,
        "from_ns": from_ns,
        "length_ns": length_ns,
        "name": name,
        "service": service,
        "kinds": kinds,
        **asdict(page),
    }
    engine.command(SQL.read_text("utf-8"), said)
