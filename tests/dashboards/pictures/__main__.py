"""
Pictures of the boards as Grafana draws them: `python -m tests.dashboards.pictures --board walltime-kind`.

One PNG a board, theme, width and set of data. It prints what a person would see to be wrong, and then ends with 1.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import get_args

from playwright.sync_api import sync_playwright

from tests.browser import chromium
from tests.dashboards.grafana import dashboards
from tests.dashboards.npm import NoNodeError
from tests.dashboards.pictures.bundle import bundled
from tests.dashboards.pictures.page import Theme, drawing
from tests.dashboards.pictures.stored import Name, stored


def main() -> int:
    given = _given()
    boards = {uid: board for uid, board in dashboards().items() if not given.board or uid in given.board}
    if given.file:
        boards = {board["uid"]: board for board in (json.loads(file.read_text("utf-8")) for file in given.file)}
    try:
        bundled()
    except NoNodeError as missing:
        sys.exit(str(missing))
    given.out.mkdir(parents=True, exist_ok=True)
    chosen = {name: value for name, _, value in (each.partition("=") for each in given.set)}
    found = 0
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        for data in given.data:
            with (
                stored(data, given.seconds) as grafana,
                drawing(browser, grafana, is_old_table=given.old_table) as drawn,
            ):
                if given.last:
                    grafana.shown = replace(grafana.shown, from_s=grafana.shown.to_s - given.last)
                for (uid, board), theme, width in itertools.product(boards.items(), given.theme, given.width):
                    started_s = time.monotonic()
                    drawn.draw(board, theme, width, chosen)
                    file = given.out / f"{uid}-{data}-{theme}-{width}.png"
                    drawn.page.screenshot(path=file)
                    problems = drawn.problems(is_empty_allowed=data == "empty")
                    print(f"{file}  {time.monotonic() - started_s:.1f} s", *problems, sep="\n  ", flush=True)
                    found += len(problems)
        browser.close()
    return min(found, 1)


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboards.pictures", description=__doc__)
    parser.add_argument("--board", nargs="+", help="uids; without it all boards", default=[])
    parser.add_argument("--file", nargs="+", type=Path, help="JSON of boards that are not in dashboards/generated")
    parser.add_argument("--theme", nargs="+", choices=get_args(Theme), default=["light", "dark"])
    parser.add_argument("--width", nargs="+", type=int, default=[1600], help="of the window, in pixels")
    parser.add_argument("--data", nargs="+", choices=get_args(Name), default=["demo"])
    parser.add_argument("--out", type=Path, default=Path(".bench/pictures"))
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="VARIABLE=VALUE[,VALUE]",
        help="of the board's; several values with commas between",
    )
    parser.add_argument("--last", type=int, default=0, metavar="SECONDS", help="show only the last ones")
    parser.add_argument(
        "--seconds", type=int, default=300, help="a third of the length of the demo, if it must be made"
    )
    parser.add_argument("--old-table", action="store_true", help="tables as up to Grafana 11, instead of 12's")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
