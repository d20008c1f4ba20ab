"""
The figures of every `make bench`, one line of JSON a run in history.jsonl, and a page that draws them.

    python -m tests.bench.history          writes .bench/history.html; `make bench-history`
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
HISTORY: Final = Path(__file__).with_suffix(".jsonl")
PAGE: Final = ROOT / ".bench" / "history.html"
_VENDOR: Final = ROOT / "collector" / "src" / "walltime_collector" / "pages" / "static" / "vendor"
_HTML: Final = Path(__file__).with_suffix(".html")


def append(document: Mapping[str, Any], history: Path = HISTORY) -> None:
    """Add a run of `make bench`: commit, time, machine, and for each subject what it adds to the bare application."""
    commit = _git("rev-parse", "--short=10", "HEAD")
    line = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": f"{commit}+" if _git("status", "--porcelain", "--untracked-files=no") else commit,
        "machine": document["machine"],
        "foreign_cores": document["foreign_cores"],
        "slices": document["plan"]["processes"] * document["plan"]["rounds"],
        "added_ns": {
            name: {metric: round(ns) for metric, ns in subject["overhead"].items()}
            for name, subject in document["subjects"].items()
            if subject["overhead"]
        },
    }
    with history.open("a") as file:
        file.write(json.dumps(line) + "\n")


def draw(history: Path = HISTORY, page: Path = PAGE) -> None:
    """Write the page, which needs no server and no network."""
    lines = history.read_text().splitlines() if history.exists() else []
    parts = {
        "/*STYLE*/": next(_VENDOR.glob("uplot-*.css")).read_text(),
        "/*UPLOT*/": next(_VENDOR.glob("uplot-*.js")).read_text(),
        "/*RUNS*/": ",".join(lines).replace("</", "<\\/"),
    }
    html = _HTML.read_text()
    for place, text in parts.items():
        html = html.replace(place, text)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(html)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    draw()
    sys.stdout.write(f"{PAGE}\n")
