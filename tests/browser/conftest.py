"""One browser and one collector with the story for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import chromium, story


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = chromium.launch(playwright)
        yield running
        running.close()


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[story.Story]:
    with story.told(tmp_path_factory.mktemp("browser") / "data") as running:
        yield running


@pytest.fixture(scope="session")
def views(told: story.Story) -> dict[str, str]:
    return told.views()


@pytest.fixture
def watch(browser: Browser, told: story.Story) -> Iterator[chromium.Watched]:
    with chromium.watched(browser, told.web_url) as page:
        yield page
        assert not page.problems
