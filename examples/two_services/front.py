"""The page of a product; the stock is another service's, over HTTP."""

import os

import requests
from flask import Flask

STOCK = os.environ.get("STOCK_URL", "http://127.0.0.1:8001")
app = Flask(__name__)


@app.get("/product/<int:number>")
def product(number: int) -> dict[str, int]:
    left = requests.get(f"{STOCK}/stock/{number}", timeout=5).json()
    return {"product": number, "left": left}
