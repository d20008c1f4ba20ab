"""The keys that lost their hits are named by their prefix, and those that did not are not."""

from __future__ import annotations

from collections.abc import Iterator

from walltime_collector.clickhouse.engine import Engine

from tests.collector.conftest import Store
from tests.collector.query.why.lookup_pages import ONE, TWO, Made, Request, compared

KEPT = 0.3


def _get(of: Request, prefix: str, cache: str, usual: float, slow: float) -> Iterator[Made]:
    is_hit = of.is_hit(usual, slow)
    yield of.get(of.key().replace("item:", prefix), "hit" if is_hit else "miss", cache)
    if not is_hit:
        yield from of.query()


def one_prefix(of: Request) -> Iterator[Made]:
    for _ in range(3):
        yield from _get(of, "product:", ONE, 0.99, 0.05)
        yield from _get(of, "cart:", ONE, 0.9, 0.9)
        yield from _get(of, "product:", TWO, 0.99, 0.99)


def everything(of: Request) -> Iterator[Made]:
    for prefix in ("product:", "cart:", "user:", "menu:", "banner:"):
        yield from _get(of, prefix, ONE, 0.95, 0.3)


def keys(engine: Engine, store: Store, page: object, kept: float) -> list[str]:
    said = compared(engine, store, page, kept=kept).sentences  # type: ignore[arg-type]
    return [each for each in said if "lost their hits" in each]


def test_the_prefix_that_lost_its_hits_is_named(engine: Engine, store: Store) -> None:
    (said,) = keys(engine, store, one_prefix, KEPT)
    assert said.startswith("The keys `product:` (99")
    assert said.endswith(f" %) lost their hits on {ONE}.")
    assert "cart:" not in said


def test_no_prefix_is_named_where_all_lost_theirs_or_nothing_was_kept(engine: Engine, store: Store) -> None:
    assert keys(engine, store, everything, KEPT) == []
    assert keys(engine, store, one_prefix, 0.0) == []
