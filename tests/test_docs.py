"""The documentation is true: settings and their defaults, files and links; its code blocks are in tests/docs."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from walltime.settings.settings import Settings
from walltime_collector.cli import COMMANDS

ROOT = Path(__file__).parents[1]
DOCUMENTED = (ROOT / "docs" / "settings.md").read_text()
README = (ROOT / "README.md").read_text()
PAGES = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "dashboards/*.md", "examples/**/README.md", "sdk/*.md", "collector/*.md")
    for path in ROOT.glob(pattern)
)


def anchors(markdown: str) -> set[str]:
    """Return the anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"```.*?```", "", markdown, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_safe_value_is_documented() -> None:
    """In the list of safe values for invalid variables."""
    listed = DOCUMENTED.partition("These settings have a safe value:\n")[2].partition("`walltime.Settings.from_env")[0]
    safe = {}
    for part in re.split(r"\n- |; (?=`)", listed):
        names, _, value = part.partition(":")
        safe.update(dict.fromkeys(re.findall(r"`(\w+)`", names), value))
    declared = {each.name: each.metadata["safe"] for each in fields(Settings) if "safe" in each.metadata}
    assert declared.keys() == safe.keys() - {"certificate", "OTEL_PROPAGATORS"}
    for name, value in declared.items():
        several = "`, `".join([value] if isinstance(value, str) else value) if isinstance(value, (str, tuple)) else ""
        says = str(value) if isinstance(value, bool) else f"`{several}`" if value else "none"
        assert says in " ".join(safe[name].split()), name


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_commands_files_and_links_of_a_page_exist(page: Path) -> None:
    text = (ROOT / page).read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?:`|    )make ([a-z-]+)", text)):
        assert f"\n{target}:" in makefile, f"make {target}"
    for path in set(re.findall(r"`((?:docs|sdk|collector|dashboards|examples|tests)/[\w./-]*)`", text)):
        assert (ROOT / path).exists(), path
    for command in set(re.findall(r"(?:`|    |\$ )walltime ([a-z][\w-]*)", text)):
        assert command in COMMANDS, f"walltime {command}"
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, heading = target.partition("#")
        linked = ROOT / page.parent / path if path else ROOT / page
        assert linked.exists(), target
        assert not heading or heading in anchors(linked.read_text()), target


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 100


def test_both_packages_carry_the_license() -> None:
    license_text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in license_text
    for package in ("sdk", "collector"):
        assert (ROOT / package / "LICENSE").read_text() == license_text
        assert 'license = "Apache-2.0"' in (ROOT / package / "pyproject.toml").read_text()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_lines_are_short(page: Path) -> None:
    """Of a table a row is a line, however long."""
    long = [line for line in (ROOT / page).read_text().splitlines() if len(line) > 120 and not line.startswith("|")]
    assert not long


@pytest.mark.parametrize("note", [page for page in PAGES if page.parent.name == "decisions"], ids=str)
def test_a_decision_note_has_context_decision_and_consequences(note: Path) -> None:
    lines = (ROOT / note).read_text().splitlines()
    assert len(lines) <= 60
    assert [line for line in lines if line.startswith("## ")] == ["## Context", "## Decision", "## Consequences"]


def test_the_glossary_is_short() -> None:
    assert len((ROOT / "docs" / "glossary.md").read_text().splitlines()) <= 64


@pytest.mark.parametrize("package", ["sdk/src/walltime", "collector/src/walltime_collector"])
def test_the_architecture_lists_every_folder_of_a_package(package: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition(f"| folder of `{package}` |")[2].partition("\n\n")[0]
    listed = {
        name.partition("/")[0]
        for cell in re.findall(r"^\| (.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(.*?)`", cell)
    }
    folders = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert listed == folders
