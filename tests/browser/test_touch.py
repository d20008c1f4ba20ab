"""A phone: a finger selects in a chart."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.browser.chromium import PHONE
from tests.browser.story import Story


def test_a_finger_that_moves_sideways_selects_a_time(browser: Browser, told: Story) -> None:
    with chromium.watched(browser, told.web_url, size=PHONE) as watch:
        watch.open("/")
        page = watch.page
        touch = page.context.new_cdp_session(page)
        touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        plot = page.locator(".u-over").first
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        assert box is not None
        y = box["y"] + box["height"] / 2

        def finger(kind: str, part: float) -> None:
            points = [] if kind == "touchEnd" else [{"x": box["x"] + box["width"] * part, "y": y}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        finger("touchStart", 0.5)
        for part in (0.55, 0.6, 0.7, 0.8):
            finger("touchMove", part)
        finger("touchEnd", 0.8)
        expect(page).to_have_url(re.compile(r"during=\d{4}-"), timeout=30_000)
        touch.detach()
        assert not watch.problems
