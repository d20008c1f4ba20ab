"""`make release`: what it refuses, and what a dry run shows. In a clone of this repository, as it is now."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import walltime

ROOT = Path(__file__).parents[2]
HEADING = f"## {walltime.__version__} (2026-12-01)"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git knows of the working tree, committed."""
    folder = tmp_path_factory.mktemp("release") / "clone"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():  # or it was removed and that is not committed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder)
    return folder


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Release", "-c", "user.email=release@example.invalid"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "release")


def release(folder: Path) -> tuple[int, str]:
    command = [sys.executable, ".ci/release.py", "--dist", str(folder.parent / "dist")]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False
    )
    return done.returncode, done.stdout


def test_a_version_without_its_heading_in_the_changelog_is_not_released(clone: Path) -> None:
    status, output = release(clone)
    assert status == 1
    assert output.startswith(f"release: CHANGELOG.md has no heading '## {walltime.__version__} (YYYY-MM-DD)'")


def test_a_tree_with_changes_is_not_released(clone: Path) -> None:
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased", HEADING))
    status, output = release(clone)
    assert status == 1
    assert "the tree has changes; commit them first" in output
    assert "CHANGELOG.md" in output


def test_a_version_that_was_released_is_not_released_again(clone: Path) -> None:
    commit(clone)
    git(clone, "tag", f"v{walltime.__version__}")
    status, output = release(clone)
    git(clone, "tag", "--delete", f"v{walltime.__version__}")
    assert status == 1
    assert "raise VERSION" in output


@pytest.mark.nightly
def test_a_dry_run_builds_checks_and_installs_the_packages_and_shows_what_would_be_uploaded(clone: Path) -> None:
    changelog = clone / "CHANGELOG.md"
    if HEADING not in changelog.read_text():
        changelog.write_text(changelog.read_text().replace("## Unreleased", HEADING))
        commit(clone)
    status, output = release(clone)
    assert status == 0, output
    shown = re.findall(r"^(\S+)  [\d,]+ bytes  sha256 [0-9a-f]{64}$", output, re.MULTILINE)
    assert shown == [
        f"{name}-{walltime.__version__}{suffix}"
        for name in ("walltime", "walltime_collector")
        for suffix in ("-py3-none-any.whl", ".tar.gz")
    ]
    assert "dry run: nothing was uploaded" in output
    assert sorted(shown) == sorted(each.name for each in (clone.parent / "dist").iterdir())
