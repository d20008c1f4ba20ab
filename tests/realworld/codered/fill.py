"""Pages for the site, and somebody who may edit them."""

import json
import random

from django.contrib.auth import get_user_model
from django.core.management import call_command
from wagtail.models import Page, Site
from website.models import ArticlePage, WebPage

CHANCE = random.Random(3)
WORDS = ("wall", "time", "query", "cache", "page", "shop", "slow")


def words(number: int) -> str:
    return " ".join(CHANCE.choice(WORDS) for _ in range(number))


def body() -> str:
    texts = [{"type": "text", "value": f"<p>{words(80)}</p>"} for _ in range(4)]
    column = {"settings": {"column_breakpoint": "md"}, "column_size": "", "content": texts}
    return json.dumps([{"type": "row", "value": {"settings": {}, "content": [{"type": "content", "value": column}]}}])


def add(parent: Page, page: Page) -> Page:
    parent.add_child(instance=page)
    page.save_revision().publish()
    return page


call_command("migrate", verbosity=0)
home = Site.objects.get(is_default_site=True).root_page.specific
for number in range(3):
    title = f"Articles {number}"
    index = WebPage(title=title, slug=f"articles-{number}", show_in_menus=True, index_show_subpages=True)
    add(home, index)
    for article in range(25):
        page = ArticlePage(title=f"{title}: {article}", slug=f"a{article}", caption=words(8))
        page.body = body() if article % 2 else ""
        add(index, page)
for number in range(10):
    page = WebPage(title=f"Page {number}", slug=f"p{number}")
    page.body = body()
    add(home, page)
get_user_model().objects.create_superuser("admin", "admin@example.com", "admin-secret!")
