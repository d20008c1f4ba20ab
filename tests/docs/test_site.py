"""The documentation as a site: no warning, every page in the navigation, nothing from other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli

from tests.docs.site import ROOT, build, places


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def entries(navigation: object) -> Iterator[str]:
    if isinstance(navigation, str):
        yield navigation
    elif isinstance(navigation, (list, dict)):
        for each in navigation.values() if isinstance(navigation, dict) else navigation:
            yield from entries(each)


def test_every_page_is_in_the_navigation_once(html: Path) -> None:
    listed = list(entries(tomli.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    home = (html / "index.html").read_text()
    assert [page for page in listed if f'href="./{page.removesuffix(".md")}.html"' not in home] == ["index.md"]
    pages = {str(place) for place in places().values() if place.suffix == ".md"}
    decisions = {page for page in pages if page.startswith("decisions/0")}
    assert sorted(listed) == sorted(pages - decisions)


def test_the_site_loads_nothing_from_other_hosts(html: Path) -> None:
    loads = re.compile(r"""<(?:script|img|iframe|source)[^>]+src=["']?(?:https?:)?//|<link[^>]+stylesheet[^>]+//""")
    pages = list(html.rglob("*.html"))
    assert len(pages) > 50
    assert [page.name for page in pages if loads.search(page.read_text())] == []


def test_headings_have_the_anchors_that_github_gives_them(html: Path) -> None:
    assert 'id="where-do-i-find-"' in (html / "architecture.html").read_text()
