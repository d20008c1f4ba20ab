"""A page of a product with its reviews, from MySQL or the cache. `python products.py` makes and fills the tables."""

import os

import django
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from django.db import connection, models
from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
django.setup()


class Product(models.Model):  # type: ignore[misc]  # Django has no types
    name = models.CharField(max_length=50)

    class Meta:
        app_label = "products"


class Review(models.Model):  # type: ignore[misc]
    product = models.ForeignKey(Product, models.CASCADE, related_name="reviews")
    text = models.CharField(max_length=50)

    class Meta:
        app_label = "products"


def product(_: HttpRequest, number: int) -> JsonResponse:
    key = f"product:{number}"
    page = cache.get(key)
    if page is None:
        found = get_object_or_404(Product, pk=number)
        page = {"name": found.name, "reviews": [review.text for review in found.reviews.all()]}
        cache.set(key, page, 60)
    return JsonResponse(page)


urlpatterns = [path("product/<int:number>", product)]


def fill() -> None:
    with connection.schema_editor() as tables:
        tables.create_model(Product)
        tables.create_model(Review)
    products = [Product.objects.create(name=f"Lamp {number}") for number in range(1, 11)]
    Review.objects.bulk_create(Review(product=each, text=f"Bright {n}") for each in products for n in range(3))


application = get_wsgi_application()
if __name__ == "__main__":
    fill()
