"""Virtual environments of every supported CPython, with nothing in them but pip."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_SID = "Debian's unstable distribution"


class InterpreterMissingError(Exception):
    """It is neither on the path nor to be had from Debian."""


@dataclass(frozen=True)
class Bare:
    """A virtual environment; in `root`, a Debian of its own, where this machine has no such interpreter."""

    root: Path
    bin: str

    def run(self, *command: str, environment: Mapping[str, str] | None = None, timeout_s: float = 600) -> str:
        """Run a program of the environment; returns its stdout and stderr."""
        program, *arguments = command
        prefix = [] if self.root == Path("/") else ["chroot", str(self.root)]
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("WALLTIME_", "OTEL_", "PYTHON"))
        }
        done = subprocess.run(
            [*prefix, f"{self.bin}/{program}", *arguments],
            env={**kept, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def place(self, file: Path) -> str:
        """Copy a file to where the environment's programs find it; returns the path that they see."""
        if self.root == Path("/"):
            return str(file)
        shutil.copy(file, self.root / "srv" / file.name)
        return f"/srv/{file.name}"


def bare(version: str, folder: Path, *packages: str) -> Bare:
    """
    Make an environment in `folder`; what it needs for an interpreter that is not there takes 300 MB and a minute.

    Args:
        packages: More of Debian's, for an interpreter that comes from there.
    """
    interpreter = _found(version)
    if interpreter is None:
        root = _debian(version, folder / "debian", packages)
        subprocess.run(["chroot", root, f"python{version}", "-m", "venv", "/srv/venv"], check=True)
        return Bare(root, "/srv/venv/bin")
    subprocess.run([interpreter, "-m", "venv", folder / "venv"], check=True)
    return Bare(Path("/"), str(folder / "venv" / "bin"))


def _found(version: str) -> Path | None:
    """On the path, or among those of pyenv, whose names on the path are programs that may refuse."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    on_path = [Path(folder) / f"python{version}" for folder in os.environ["PATH"].split(os.pathsep)]
    for candidate in [*pyenv.glob(f"{version}.*/bin/python{version}"), *on_path]:
        asked = [str(candidate), "-c", "import ensurepip, sys; print(sys.version_info[:2])"]
        if candidate.exists():
            answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
            if answer == str(tuple(map(int, version.split(".")))):
                return candidate
    return None


def _debian(version: str, root: Path, packages: tuple[str, ...]) -> Path:
    program = shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None or os.geteuid() != 0:
        raise InterpreterMissingError(f"install python{version}; or, as root, debootstrap, which gets that of {_SID}")
    include = ",".join((f"python{version}-venv", "ca-certificates", *packages))
    made = subprocess.run(
        [program, "--variant=minbase", f"--include={include}", "sid", root], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise InterpreterMissingError(f"{_SID} gave no python{version}: {made.stdout[-2000:]}{made.stderr}")
    for each in ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(Path("/") / each, root / each)
    return root
