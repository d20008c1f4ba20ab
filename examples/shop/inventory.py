"""
The warehouse's job: `python -m shop.inventory 21` counts a product again and corrects its stock.

The count takes its time while the product's row is locked, so a checkout that wants to sell it has to wait: a mistake
that real shops make. The program has Walltime of its own; its transaction is the other half of the story.
"""

from __future__ import annotations

import argparse
import time

import walltime

from shop.settings import Settings
from shop.store import Store

LOCK_STOCK = "SELECT stock FROM products WHERE id = %s FOR UPDATE"
CORRECT_STOCK = "UPDATE products SET stock = %s WHERE id = %s"


def main() -> None:
    parser = argparse.ArgumentParser(prog="shop.inventory", description=__doc__)
    parser.add_argument("product", type=int)
    parser.add_argument("--seconds", type=float, default=0.4, help="that the count takes")
    given = parser.parse_args()
    walltime.configure(service_name="inventory")
    walltime.instrument()
    recount(Store(Settings.from_environment()), given.product, given.seconds)


@walltime.transaction("recount")
def recount(store: Store, product: int, seconds: float) -> None:
    with store.transaction() as cursor:
        cursor.execute(LOCK_STOCK, (product,))
        found = cursor.fetchone()
        print(f"counting product {product}", flush=True)
        with walltime.component("count"):
            time.sleep(seconds)
        if found:
            cursor.execute(CORRECT_STOCK, (found["stock"], product))


if __name__ == "__main__":
    main()
