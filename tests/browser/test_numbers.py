"""Charts write numbers in the browser as format.py writes them in tables and commands."""

from __future__ import annotations

import random
from pathlib import Path

from playwright.sync_api import Browser
from walltime_collector import format as text
from walltime_collector import pages

SCRIPT = Path(pages.__file__).parent / "static" / "numbers.js"


def test_every_number_has_the_digits_that_format_gives_it(browser: Browser) -> None:
    chance = random.Random(1)
    tens = [10 ** chance.uniform(0, 13) for _ in range(3_000)]
    durations = [0, 1, 999, 999.5, 66_250, 158_500, 999_499, 999_500, 1e9, 2500.5e9, *tens, *map(round, tens)]
    counts = [
        0,
        0.0004,
        0.001,
        0.25,
        0.35,
        0.45,
        99.96,
        1234.5,
        *(n / 8 for n in range(2_000)),
        *(n / 1e6 for n in tens),
    ]
    shares = [0, 0.0005, 0.001, 0.0625, 0.03125, 1, *(chance.random() for _ in range(3_000))]
    page = browser.new_page()
    page.add_script_tag(content=SCRIPT.read_text("utf-8"))
    written = page.evaluate("([unit, values]) => values.map((value) => numbers.text(unit, value))", ["ns", durations])
    assert written == [text.duration(each) for each in durations]
    sizes = [0, 512, 999.5, 1_000, 1_024, 999 * 1_024, 1_000 << 10, *tens, 10**16]
    for unit, values, formatted in (
        ("count", counts, text.count),
        ("share", shares, text.share),
        ("bytes", sizes, text.size),
    ):
        written = page.evaluate("([unit, values]) => values.map((value) => numbers.text(unit, value))", [unit, values])
        assert written == [formatted(each) for each in values]
    page.close()
