"""The shop's pages: each reads what it needs, then renders it."""

from __future__ import annotations

from http import HTTPStatus

import walltime

from shop import views
from shop.store import Row, Store
from shop.web import BadRequestError, Page, Request, Response, not_found, see_other

PRODUCT = "SELECT id, category_id, maker_id, name, description FROM products WHERE id = %s"
PRICE_AND_STOCK = "SELECT price_cents, stock FROM products WHERE id = %s"
CATEGORY = "SELECT id, name FROM categories WHERE id = %s"
MAKER = "SELECT id, name, country FROM makers WHERE id = %s"
RATING = "SELECT COUNT(*) AS count, CAST(AVG(stars) AS DOUBLE) AS stars FROM reviews WHERE product_id = %s"
REVIEWS = """
    SELECT users.name, stars, body FROM reviews JOIN users ON users.id = reviews.user_id
    WHERE product_id = %s ORDER BY reviews.id DESC LIMIT 5"""
QUESTIONS = "SELECT question, answer FROM questions WHERE product_id = %s ORDER BY id LIMIT 5"
RELATED = "SELECT id FROM products WHERE category_id = %s AND id <> %s ORDER BY ABS(id - %s), id LIMIT 4"
BOUGHT_TOGETHER = """
    SELECT other.product_id AS id FROM order_items AS this
    JOIN order_items AS other ON other.order_id = this.order_id AND other.product_id <> this.product_id
    WHERE this.product_id = %s GROUP BY other.product_id ORDER BY COUNT(*) DESC, other.product_id LIMIT 4"""
HOME = "SELECT id, name, price_cents FROM products ORDER BY stock DESC, id LIMIT 8"
SEARCH = """
    SELECT id, name, price_cents FROM products
    WHERE name LIKE %s ORDER BY id LIMIT 20"""
CART = """
    SELECT product_id, quantity, price_cents, name FROM cart_items JOIN products ON products.id = product_id
    WHERE user_id = %s ORDER BY product_id"""
CART_TO_BUY = f"{CART} FOR UPDATE"
ITEMS_IN_CART = "SELECT COUNT(*) AS count FROM cart_items WHERE user_id = %s"
TOUCH_CART = "INSERT INTO carts VALUES (%s, NOW()) ON DUPLICATE KEY UPDATE changed_at = NOW()"
ADD_TO_CART = """
    INSERT INTO cart_items (user_id, product_id, quantity) VALUES (%s, %s, %s)
    ON DUPLICATE KEY UPDATE quantity = quantity + VALUES(quantity)"""
LOCK_CART = "SELECT user_id FROM carts WHERE user_id = %s FOR UPDATE"
TAKE_FROM_STOCK = "UPDATE products SET stock = stock - %s WHERE id = %s"
PLACE_ORDER = "INSERT INTO orders (user_id, placed_at, total_cents) VALUES (%s, NOW(), %s)"
ADD_TO_ORDER = "INSERT INTO order_items (order_id, product_id, quantity, price_cents) VALUES (%s, %s, %s, %s)"
EMPTY_CART = "DELETE FROM cart_items WHERE user_id = %s"
ORDER = "SELECT id, total_cents FROM orders WHERE id = %s AND user_id = %s"
ORDER_ITEMS = """
    SELECT products.name, quantity, order_items.price_cents FROM order_items
    JOIN products ON products.id = product_id WHERE order_id = %s ORDER BY product_id"""


class Pages:
    """All pages of one shop, over its store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def routes(self) -> dict[str, Page]:
        return {
            "GET /": self.home,
            "GET /product/{id}": self.product,
            "GET /search": self.search,
            "GET /cart": self.cart,
            "POST /cart": self.add_to_cart,
            "POST /checkout": self.checkout,
            "GET /orders/{id}": self.order,
            "GET /recommendations": self.recommendations,
        }

    def home(self, request: Request) -> Response:
        products = self.store.cached("home", HOME)
        with walltime.component("render"):
            return Response(views.products("The shop", products))

    def product(self, request: Request) -> Response:
        """Price, stock and the cart are always fresh: two queries. All else comes from the caches."""
        store, number = self.store, _number(request.path["id"])
        fresh = store.row(PRICE_AND_STOCK, number)
        if fresh is None:
            return not_found("product")
        in_cart = _count(store.row(ITEMS_IN_CART, request.user))
        (product,) = store.cached(f"product:{number}", PRODUCT, number)
        category_id, maker_id = product["category_id"], product["maker_id"]
        (category,) = store.cached(f"category:{category_id}", CATEGORY, category_id)
        (maker,) = store.cached(f"maker:{maker_id}", MAKER, maker_id)
        (rating,) = store.cached(f"rating:{number}", RATING, number)
        reviews = store.cached(f"reviews:{number}", REVIEWS, number)
        questions = store.cached(f"questions:{number}", QUESTIONS, number)
        related = store.cached(f"related:{number}", RELATED, category_id, number, number)
        together = store.cached(f"together:{number}", BOUGHT_TOGETHER, number)
        cards = store.cards(other["id"] for other in related + together)
        with walltime.component("render"):
            described = {**product, **fresh, "category": category, "maker": maker, "rating": rating}
            return Response(views.product(described, reviews, questions, cards, in_cart))

    def search(self, request: Request) -> Response:
        """Runs on a connection of its own, opened for each search, as if on a replica kept for reports."""
        words = request.query.get("q", "").strip()
        if not words:
            raise BadRequestError("Say what you are looking for: /search?q=lamp")
        with self.store.connect() as replica, replica.cursor() as cursor:
            cursor.execute(SEARCH, (f"%{words}%",))
            found = list(cursor.fetchall())
        walltime.current().annotate("search.results", len(found))
        with walltime.component("render"):
            return Response(views.products(f"“{words}”", found))

    def cart(self, request: Request) -> Response:
        items = self.store.rows(CART, request.user)
        walltime.current().annotate("cart.items", len(items))
        with walltime.component("render"):
            return Response(views.cart(items))

    def add_to_cart(self, request: Request) -> Response:
        number, quantity = (
            _number(request.form.get("product", "")),
            _number(request.form.get("quantity", "1")),
        )
        if self.store.row(PRICE_AND_STOCK, number) is None:
            return not_found("product")
        self.store.write(TOUCH_CART, request.user)
        self.store.write(ADD_TO_CART, request.user, number, quantity)
        return see_other("/cart")

    def checkout(self, request: Request) -> Response:
        with self.store.transaction() as cursor:
            cursor.execute(LOCK_CART, (request.user,))  # two checkouts of one cart: the second finds it empty
            cursor.execute(CART_TO_BUY, (request.user,))  # the products' rows too, so that nobody changes the stock
            items = list(cursor.fetchall())
            walltime.current().annotate("cart.items", len(items))
            if not items:
                return see_other("/cart")
            for item in items:
                cursor.execute(TAKE_FROM_STOCK, (item["quantity"], item["product_id"]))
            total_cents = sum(item["quantity"] * item["price_cents"] for item in items)
            cursor.execute(PLACE_ORDER, (request.user, total_cents))
            order = cursor.lastrowid
            cursor.executemany(
                ADD_TO_ORDER,
                [(order, item["product_id"], item["quantity"], item["price_cents"]) for item in items],
            )
            cursor.execute(EMPTY_CART, (request.user,))
        return see_other(f"/orders/{order}")

    def order(self, request: Request) -> Response:
        order = self.store.row(ORDER, _number(request.path["id"]), request.user)
        if order is None:
            return not_found("order")
        items = self.store.rows(ORDER_ITEMS, order["id"])
        with walltime.component("render"):
            return Response(views.order(order, items), HTTPStatus.OK)

    def recommendations(self, request: Request) -> Response:
        cards = self.store.cards(self.store.suggestions(request.user))
        with walltime.component("render"):
            return Response(views.products("Chosen for you", cards))


def _number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 31:
        raise BadRequestError(f"{text[:40]!r} is not a number this shop knows.")
    return int(text)


def _count(row: Row | None) -> int:
    return int(row["count"]) if row else 0
