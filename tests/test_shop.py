"""The example shop against its real servers, without Walltime: what its pages do and what they cost."""

from __future__ import annotations

import http.client
import itertools
import shutil
from collections.abc import Callable, Iterator

import pytest
from shop.load import Load, visits
from shop.services import fast_folder
from shop.stack import Stack

from tests.server_folder import server_folder

pytestmark = pytest.mark.nightly  # by day, end_to_end, glue and the dashboards run the shop

Get = Callable[..., "tuple[int, str, str]"]


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    # one worker, so that there is one connection to each server and every count is exact
    with server_folder() as folder, Stack(folder, {"OTEL_SDK_DISABLED": "true"}, workers=1) as running:
        yield running


@pytest.fixture
def visit(stack: Stack) -> Get:
    def visit(method: str, path: str, user: int = 1, form: str = "") -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", stack.shop.port, timeout=10)
        headers = {"Cookie": f"user={user}", "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, form, headers)
        response = connection.getresponse()
        answer = response.status, response.read().decode(), response.getheader("Location", "")
        connection.close()
        return answer

    return visit


def counters(stack: Stack) -> dict[str, int]:
    with stack.mariadb.admin() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com\\_%' OR Variable_name = 'Connections'")
        return {name: int(value) for name, value in cursor.fetchall()}


def queries(stack: Stack) -> int:
    now = counters(stack)
    return sum(now[f"Com_{verb}"] for verb in ("select", "insert", "update", "delete"))


def test_a_product_page_shows_the_product_and_where_to_go_next(visit: Get) -> None:
    status, page, _ = visit("GET", "/product/7")
    assert status == 200
    assert "Lamp 7" in page
    assert "in stock" in page
    assert page.count('<a href="/product/') == 8


def test_a_product_page_costs_18_queries_cold_and_2_warm(stack: Stack, visit: Get) -> None:
    counts = []
    for cache in stack.caches:
        cache.stop()
        cache.start()
    visit("GET", "/")  # finds out that the caches have restarted
    for _ in range(3):
        before = queries(stack)
        assert visit("GET", "/product/8")[0] == 200
        counts.append(queries(stack) - before)
    assert counts == [18, 2, 2]


def test_a_restart_of_one_cache_multiplies_the_queries(stack: Stack, visit: Get) -> None:
    def look_around() -> int:
        before = queries(stack)
        for product in range(100, 2100, 100):
            assert visit("GET", f"/product/{product}")[0] == 200
        return queries(stack) - before

    look_around()
    usual = look_around()
    stack.caches[0].stop()
    stack.caches[0].start()
    assert usual == 20 * 2
    assert look_around() > 2.5 * usual


def test_a_search_opens_a_connection_of_its_own(stack: Stack, visit: Get) -> None:
    visit("GET", "/cart")  # the worker has its own connection now
    before = counters(stack)["Connections"]
    status, page, _ = visit("GET", "/search?q=Lamp")
    assert status == 200
    assert "Lamp" in page
    assert counters(stack)["Connections"] - before == 2  # the search's, and the one that asks here


def test_a_checkout_turns_the_cart_into_an_order_with_one_insert_for_all_items(stack: Stack, visit: Get) -> None:
    for product in (11, 12, 13):
        assert visit("POST", "/cart", 77, f"product={product}&quantity=2")[0] == 303
    assert "Your cart" in visit("GET", "/cart", 77)[1]
    before = counters(stack)
    status, _, order = visit("POST", "/checkout", 77)
    spent = {name: count - before[name] for name, count in counters(stack).items()}
    assert status == 303
    assert order.startswith("/orders/")
    assert spent["Com_insert"] == 2  # the order, and its three items together
    assert spent["Com_update"] == 3
    assert spent["Com_commit"] == 1
    assert visit("GET", order, 77)[1].count("<li>2 × ") == 3
    assert visit("GET", order, 78)[0] == 404  # somebody else's
    assert "<li>" not in visit("GET", "/cart", 77)[1]


def test_a_checkout_of_an_empty_cart_orders_nothing(stack: Stack, visit: Get) -> None:
    before = counters(stack)["Com_insert"]
    assert visit("POST", "/checkout", 99)[::2] == (303, "/cart")
    assert counters(stack)["Com_insert"] == before


def test_recommendations_come_from_the_supplier(stack: Stack, visit: Get) -> None:
    status, page, _ = visit("GET", "/recommendations", 5)
    assert status == 200
    assert page.count('<a href="/product/') == 8


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nowhere", 404),
        ("/product/999999", 404),
        ("/product/lamp", 400),
        ("/product/99999999999999999999", 400),
        ("/search", 400),
        ("/orders/0", 400),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(visit: Get, path: str, status: int) -> None:
    answered, page, _ = visit("GET", path)
    assert answered == status
    assert page.strip()


def test_the_same_seed_sends_the_same_visits() -> None:
    one, same, other = ([*itertools.islice(visits(seed), 300)] for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_the_load_counts_every_answer_and_stops_at_its_limit(stack: Stack) -> None:
    sent = Load(stack.url, threads=3, limit=150, seed=4).start().wait()
    assert sent.total == 150
    assert sent.errors == 0
    assert sent.requests["GET /product/{id}"] > 75


def test_threaded_workers_serve_the_same_shop() -> None:
    folder = fast_folder()
    try:
        with Stack(folder, {"OTEL_SDK_DISABLED": "true"}, workers=2, threads=4) as threaded:
            sent = Load(threaded.url, threads=8, limit=300).start().wait()
    finally:
        shutil.rmtree(folder)
    assert sent.total == 300
    assert sent.errors == 0
