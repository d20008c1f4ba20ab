"""Filters of the site's templates."""

from __future__ import annotations

from typing import Any

from django import template

from tests.sdk.components import django_site

register = template.Library()


@register.filter  # type: ignore[untyped-decorator]
def count(word: str) -> str:
    django_site.truth[f"template.{word}"] += 1
    return ""


@register.filter  # type: ignore[untyped-decorator]
def fail(_: Any) -> str:
    raise LookupError("mine")
