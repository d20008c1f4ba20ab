"""The root directory of an image: the steps of its Dockerfile, run as they are written, in a Debian without Docker."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.compose import ROOT, Image

_PACKAGES = "python3,python3-venv,ca-certificates"
_BASE_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin", "LANG": "C.UTF-8"}
_OF_THIS_MACHINE = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")


def debian(folder: Path, release: str) -> Path:
    """A minimal Debian with Python, from the mirror that this machine installs from."""
    listed = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(COMPONENT)"]
    targets = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    (mirror, *_) = sorted(line.split()[0] for line in targets if re.search(r"/debian/? Debian main$", line))
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release, folder, mirror],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    # as in python:…-slim: python and pip in /usr/local, apart from the packages of Debian
    subprocess.run(["chroot", folder, "python3", "-m", "venv", "/usr/local"], check=True)
    for path in filter(Path.exists, map(Path, _OF_THIS_MACHINE)):
        shutil.copy(path, folder / path.relative_to("/"))
    return folder


class Built:
    """
    The last stage of an image.

    Args:
        base: The root directory of the base image; it is copied.
        folder: For the root directories of the stages, `build` and so on.
    """

    def __init__(self, image: Image, base: Path, folder: Path) -> None:
        self.image, self.environment, self.user, self.folder = image, dict[str, str](), "root", "/"
        folder.mkdir()
        roots: dict[str, Path] = {}
        for stage in image.stages:
            self.root = roots[stage.name] = folder / (stage.name or "last")
            subprocess.run(["cp", "--archive", "--reflink=auto", base, self.root], check=True)
            self.environment, self.user, self.folder = dict(_BASE_ENVIRONMENT), "root", "/"
            for instruction, text in stage.instructions:
                self._apply(instruction, text, roots)

    def _apply(self, instruction: str, text: str, roots: Mapping[str, Path]) -> None:
        if instruction == "ENV":
            for pair in shlex.split(text):
                name, value = pair.split("=", 1)
                self.environment[name] = re.sub(r"\$(\w+)", lambda found: self.environment[found[1]], value)
        elif instruction == "WORKDIR":
            self.folder = text
            self._inside(text).mkdir(parents=True, exist_ok=True)
        elif instruction == "USER":
            self.user = text
        elif instruction == "COPY":
            self._copy(text.split(), roots)
        elif instruction == "RUN":
            self.run(["sh", "-c", text])

    def _copy(self, words: list[str], roots: Mapping[str, Path]) -> None:
        source = roots[words.pop(0).removeprefix("--from=")] if words[0].startswith("--from=") else ROOT
        *paths, target = words
        place = self._inside(target)
        for path in paths:
            found = source / path.lstrip("/")
            if found.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "node_modules")
                shutil.copytree(found, place, symlinks=True, dirs_exist_ok=True, ignore=ignored)
            else:
                copy = place / found.name if target.endswith("/") else place
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(found, copy)

    def _inside(self, path: str) -> Path:
        return self.root / os.path.normpath(os.path.join(self.folder, path)).lstrip("/")  # noqa: PTH118  not of here

    def run(self, command: Sequence[str], **more: Any) -> dict[str, Any]:
        """
        Run a command in the image, as its user; the keys of the answer are those of tests/deploy/contained.py.

        Args:
            more: As there.
        """
        order = {
            "root": str(self.root),
            "folder": self.folder,
            "user": self.user,
            "environment": self.environment,
            "command": list(command),
            **more,
        }
        spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *(["--net"] if "health" in more else [])]
        program = [sys.executable, "-m", "tests.deploy.contained", json.dumps(order)]
        done = subprocess.run([*spaces, *program], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
