"""Rows to HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from shop.store import Row


def product(product: Row, reviews: Sequence[Row], questions: Sequence[Row], cards: Sequence[Row], in_cart: int) -> str:
    rating = product["rating"]
    stars = f"{rating['stars']:.1f} of 5 ({rating['count']})" if rating["count"] else "no reviews yet"
    return _document(
        product["name"],
        f"<nav>{escape(product['category']['name'])} · cart: {in_cart}</nav>",
        f"<p>{_price(product['price_cents'])} · {product['stock']} in stock · {stars}</p>",
        f"<p>By {escape(product['maker']['name'])} ({product['maker']['country']})</p>",
        f"<p>{escape(product['description'])}</p>",
        _list(f"{review['stars']}/5 {review['name']}: {review['body']}" for review in reviews),
        _list(f"{asked['question']} {asked['answer']}" for asked in questions),
        "<h2>See also</h2>",
        _links(cards),
    )


def products(title: str, found: Sequence[Row]) -> str:
    return _document(title, _links(found) if found else "<p>Nothing found.</p>")


def cart(items: Sequence[Row]) -> str:
    return _document("Your cart", _items(items))


def order(order: Row, items: Sequence[Row]) -> str:
    return _document(f"Order {order['id']}", _items(items), f"<p>Total: {_price(order['total_cents'])}</p>")


def _document(title: str, *parts: str) -> str:
    title = escape(title)
    body = "\n".join(parts)
    return f"<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n{body}\n"


def _links(cards: Sequence[Row]) -> str:
    links = (
        f'<li><a href="/product/{card["id"]}">{escape(card["name"])}</a> {_price(card["price_cents"])}</li>'
        for card in cards
    )
    return f"<ul>{''.join(links)}</ul>"


def _items(items: Sequence[Row]) -> str:
    return _list(f"{item['quantity']} × {item['name']} {_price(item['price_cents'])}" for item in items)


def _list(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def _price(cents: int) -> str:
    return f"€ {cents / 100:,.2f}"
