"""Its pages."""

from __future__ import annotations

from wagtail.models import Page


class HomePage(Page):  # type: ignore[misc]  # Wagtail has no types
    template = "page.html"


class BlogPage(Page):  # type: ignore[misc]
    template = "page.html"
