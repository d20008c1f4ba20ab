"""Build the documentation as a site: `make docs`. The pages are those that a reader of the repository finds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / ".site"
_OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "license.txt",
    "dashboards/README.md": "grafana.md",
    "examples/README.md": "examples/index.md",
}
_LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|#|mailto:)([^)#\s]+)([^)]*\))")


def places() -> dict[Path, Path]:
    """Return file of the repository → its place on the site; folders are those of their README."""
    found = {ROOT / name: Path(place) for name, place in _OUTSIDE.items()}
    found |= {file: file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*") if file.is_file()}
    found |= {file: Path(f"examples/{file.parent.name}.md") for file in ROOT.glob("examples/*/README.md")}
    found[ROOT / "docs" / "decisions"] = Path("decisions/index.md")
    return found | {file.parent: place for file, place in found.items() if file.name == "README.md"}


def copy_pages(target: Path) -> None:
    """
    Copy the pages to `target`, with links as they must be there.

    Raises:
        KeyError: A page links to a file that is not on the site.
    """
    known = places()
    for file, place in known.items():
        if not file.is_file():
            continue
        copy = target / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix != ".md":
            shutil.copyfile(file, copy)
            continue

        def moved(link: re.Match[str], file: Path = file, place: Path = place) -> str:
            linked = known[Path(os.path.normpath(file.parent / link[2]))]
            return f"{link[1]}{os.path.relpath(linked, place.parent)}{link[3]}"

        copy.write_text(_LINK.sub(moved, file.read_text()))
    notes = sorted((target / "decisions").glob("0*.md"))
    titles = ((note.name, note.read_text().partition("\n")[0].removeprefix("# ")) for note in notes)
    index = "".join(f"- [{title}]({name})\n" for name, title in titles)
    (target / "decisions" / "index.md").write_text(
        f"# Decisions\n\nWhy choices between close alternatives were made.\n\n{index}"
    )


def build(folder: Path = SITE) -> Path:
    """
    Write the site to a new folder `html` in `folder`, and return it.

    Raises:
        CalledProcessError: Zensical has a warning, for example about a link to a heading that is not there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    copy_pages(folder / "pages")
    configuration = shutil.copyfile(ROOT / "zensical.toml", folder / "zensical.toml")
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([zensical, "build", "--strict", "--config-file", configuration], cwd=folder, check=True)
    return folder / "html"


if __name__ == "__main__":
    build()
