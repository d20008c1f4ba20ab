"""Packages from npm, installed once in the user's cache, outside the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "walltime" / "pictures"
_INSTALL = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps", "--no-package-lock")
"""The peers of Grafana's packages are React, where something is drawn, and parts of a build that nobody makes here."""


class NoNodeError(Exception):
    """The packages come from npm, which this machine does not have."""


def installed(package: Path) -> Path:
    """
    The folder with the package.json and its node_modules.

    Raises:
        NoNodeError: There is no npm.
    """
    if shutil.which("npm") is None:
        raise NoNodeError("npm is not on this machine; install Node.js to read the boards with Grafana's own code")
    folder = CACHE / f"npm-{digest([package])}"
    if not (folder / "ready").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(package, folder)
        run(_INSTALL, folder)
        (folder / "ready").touch()
    return folder


def digest(files: Iterable[Path]) -> str:
    """Another one when a file changes."""
    content = hashlib.sha256()
    for file in files:
        content.update(file.read_bytes())
    return content.hexdigest()[:12]


def run(command: Sequence[str], folder: Path, given: str = "", **variables: str) -> str:
    """What the command prints; its errors are in the exception."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True, timeout=900, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout
