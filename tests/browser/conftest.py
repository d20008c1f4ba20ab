"""One collector with the story and one browser for all tests of the folder, which one worker runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import chromium, story


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Not longer than the folder: Playwright's event loop runs in this thread, and other tests have their own loops."""
    with sync_playwright() as playwright:
        running = chromium.launch(playwright)
        yield running
        running.close()


@pytest.fixture(scope="package")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[story.Story]:
    with story.told(tmp_path_factory.mktemp("browser") / "data") as running:
        yield running


@pytest.fixture(scope="package")
def views(told: story.Story) -> dict[str, str]:
    return told.views()


@pytest.fixture
def watch(browser: Browser, told: story.Story) -> Iterator[chromium.Watched]:
    with chromium.watched(browser, told.web_url) as page:
        yield page
        assert not page.problems
