"""Builds and checks both packages, and shows what would be uploaded; with --upload, uploads it. `make release`."""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sdk", "collector")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upload", action="store_true", help="upload with twine; it reads ~/.pypirc or TWINE_…")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the packages are built; emptied")
    arguments = parser.parse_args()
    version = checked_version()
    built = build(arguments.dist)
    python("twine", "check", "--strict", *map(str, built))
    install(built, version)
    for each in built:
        digest = hashlib.sha256(each.read_bytes()).hexdigest()
        print(f"{each.name}  {each.stat().st_size:,} bytes  sha256 {digest}")
    if arguments.upload:
        python("twine", "upload", *map(str, built))
        print(f"uploaded; now: git tag v{version}, push it, and keep a folder of it: tests/upgrades/make.py")
    else:
        print(f"dry run: nothing was uploaded. `make release UPLOAD=1` uploads these {len(built)} files.")


def checked_version() -> str:
    """Return the version, after checks of the tree, the CHANGELOG and the tags."""
    if changes := run("git", "status", "--porcelain").strip():
        stop(f"the tree has changes; commit them first:\n{changes}")
    version: str = re.findall(r'^VERSION = "(.+)"', (ROOT / "sdk/src/walltime/version.py").read_text(), re.MULTILINE)[0]
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M):
        stop(f"CHANGELOG.md has no heading '## {version} (YYYY-MM-DD)'; rename 'Unreleased', or raise the version")
    if run("git", "tag", "--list", f"v{version}").strip():
        stop(f"the tag v{version} is there: {version} was released; raise VERSION in sdk/src/walltime/version.py")
    return version


def build(dist: Path) -> list[Path]:
    for each in dist.glob("walltime*-*"):
        each.unlink()
    for package in PACKAGES:  # with the pinned hatchling, the wheel from the source distribution
        python("build", "--no-isolation", "--outdir", str(dist), str(ROOT / package))
    return sorted(dist.glob("walltime*-*"))


def install(built: list[Path], version: str) -> None:
    """Install the wheels in a bare environment; both commands must start there."""
    with tempfile.TemporaryDirectory() as folder:
        python("venv", folder)
        bin_folder = Path(folder) / "bin"
        wheels = [str(each) for each in built if each.suffix == ".whl"]
        run(str(bin_folder / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wheels)
        for command in ("walltime", "walltime-run"):
            if (printed := run(str(bin_folder / command), "--version").strip()) != f"walltime {version}":
                stop(f"{command} --version of the wheels prints {printed!r}, not 'walltime {version}'")


def python(module: str, *arguments: str) -> None:
    run(sys.executable, "-m", module, *arguments)


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        stop(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout


def stop(reason: str) -> None:
    raise SystemExit(f"release: {reason}")


if __name__ == "__main__":
    main()
