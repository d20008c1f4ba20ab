"""Products, categories and users of the shop, and the index of its search."""

import random
from decimal import Decimal

from django.contrib.auth import get_user_model
from django.core.management import call_command
from oscar.apps.catalogue.categories import create_from_breadcrumbs
from oscar.apps.catalogue.models import Product, ProductAttribute, ProductClass
from oscar.apps.partner.models import Partner, StockRecord

CHANCE = random.Random(7)
WORDS = ("wall", "time", "query", "cache", "page", "shop", "slow")

call_command("migrate", verbosity=0)
book = ProductClass.objects.create(name="Book", track_stock=True)
ProductAttribute.objects.create(product_class=book, name="pages", code="pages", type="integer")
partner = Partner.objects.create(name="Press")
categories = [
    create_from_breadcrumbs(f"Books > {topic} > {state}")
    for topic in ("Fiction", "Computing", "Science")
    for state in ("New", "Used", "Classics")
]
for number in range(200):
    text = " ".join(CHANCE.choice(WORDS) for _ in range(120))
    product = Product(
        product_class=book, title=f"Book number {number}", upc=f"978{number:010}", description=f"<p>{text}</p>"
    )
    product.attr.pages = CHANCE.randrange(50, 900)
    product.save()
    product.categories.add(CHANCE.choice(categories))
    price = Decimal(CHANCE.randrange(500, 9900)) / 100
    StockRecord.objects.create(
        product=product, partner=partner, partner_sku=f"s{number}", price=price, num_in_stock=1000
    )
for number in range(5):
    get_user_model().objects.create_user(f"u{number}", f"u{number}@example.com", f"secret-{number}!")
call_command("rebuild_index", interactive=False, verbosity=0)
