"""The packages as they are installed: every file of the source is inside, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from zipfile import ZipFile

import pytest
import walltime
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from twine.commands.check import check

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "collector" / "src" / "walltime_collector" / "pages" / "static" / "vendor"
LICENSES = {"sdk": {"LICENSE"}, "collector": {"LICENSE", "NOTICE"}}
NEEDED = {
    "walltime": {"py.typed", "__main__.py"},
    "walltime_collector": {
        "py.typed",
        "clickhouse/schema/001_transactions.sql",
        "clickhouse/schema/otlp_traces.proto",
        "receive/messages.binpb",
        "query/queries/kinds/top.sql",
        "query/condition/condition.lark",
        "pages/templates/overview.html",
        "pages/static/walltime.css",
        "pages/static/vendor/uplot-LICENSE.txt",
        "statements/sql_lexer/__init__.py",  # a link into the SDK's source
    },
}
"""Some that the packages cannot work without, so that a change of the source's layout is noticed."""


@pytest.fixture(scope="module", params=["sdk", "collector"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """The folder in the repository, its wheel and its source distribution."""
    folder = str(tmp_path_factory.mktemp("dist"))
    source = str(ROOT / request.param)
    (wheel,) = WheelBuilder(source).build(directory=folder, versions=["standard"])
    (sdist,) = SdistBuilder(source).build(directory=folder, versions=["standard"])
    return request.param, Path(wheel), Path(sdist)


def files_of(package: str) -> set[str]:
    """Below src/; also those in a linked folder, which `Path.rglob` does not follow."""

    def below(folder: Path) -> Iterator[Path]:
        for each in folder.iterdir():
            if each.is_dir() and each.name != "__pycache__":
                yield from below(each)
            elif each.is_file():
                yield each

    source = ROOT / package / "src"
    return {each.relative_to(source).as_posix() for each in below(source)}


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(archive.read(name))


def test_a_wheel_has_every_file_of_the_package_and_nothing_else(built: tuple[str, Path, Path]) -> None:
    package, wheel, _ = built
    about = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    described = {"METADATA", "RECORD", "WHEEL", "entry_points.txt"} | {f"licenses/{each}" for each in LICENSES[package]}
    assert set(ZipFile(wheel).namelist()) == files_of(package) | {f"{about}/{each}" for each in described}


def test_a_source_distribution_has_what_the_wheel_is_built_from_and_nothing_else(built: tuple[str, Path, Path]) -> None:
    package, _, sdist = built
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
        assert all(each.isfile() for each in archive.getmembers())  # no link that leads nowhere
    described = {".gitignore", "PKG-INFO", "README.md", "pyproject.toml"} | LICENSES[package]
    assert inside == {f"src/{each}" for each in files_of(package)} | described


def test_the_packages_have_what_they_cannot_work_without(built: tuple[str, Path, Path]) -> None:
    package, wheel, _ = built
    name = wheel.name.partition("-")[0]
    assert {f"{name}/{each}" for each in NEEDED[name]} <= set(ZipFile(wheel).namelist())
    assert {Path(each).suffix for each in files_of(package)} <= {
        *(".py", ".typed", ".sql", ".proto", ".binpb", ".lark", ".txt", ".html", ".css", ".js", ".svg"),
    }


def test_an_index_accepts_the_packages(built: tuple[str, Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert not check([str(each) for each in built[1:]], strict=True), capsys.readouterr().out


def test_both_packages_have_the_version_of_one_file(built: tuple[str, Path, Path]) -> None:
    package, wheel, sdist = built
    assert metadata(wheel)["Version"] == walltime.__version__
    assert sdist.name.endswith(f"-{walltime.__version__}.tar.gz")
    assert not re.search(r"^version = ", (ROOT / package / "pyproject.toml").read_text(), re.MULTILINE)


def test_the_sdk_depends_on_opentelemetry_and_nothing_else(built: tuple[str, Path, Path]) -> None:
    package, wheel, _ = built
    needed = {re.split(r"[<>=;\s]", each)[0] for each in metadata(wheel).get_all("Requires-Dist", [])}
    if package == "sdk":
        assert needed == {"opentelemetry-api", "opentelemetry-sdk"}
    else:
        assert not any(each.startswith("walltime") for each in needed)


def test_the_pages_of_both_packages_on_an_index_have_no_link_into_the_repository() -> None:
    """There is no repository around them."""
    for package in LICENSES:
        assert re.findall(r"\]\((?!https?:)[^)]*\)", (ROOT / package / "README.md").read_text()) == []


def test_the_libraries_of_the_pages_have_their_licenses_beside_them_and_are_named_in_the_notice() -> None:
    notice = (ROOT / "collector" / "NOTICE").read_text()
    libraries = {
        match[1]: match[2] for each in VENDOR.iterdir() if (match := re.match(r"(\w+)-([\d.]+)\.min\.", each.name))
    }
    assert set(libraries) == {"htmx", "uplot"}
    for name, version in libraries.items():
        assert (VENDOR / f"{name}-LICENSE.txt").stat().st_size > 500
        assert f"{name} {version}," in notice.lower()
        assert f"{name}-LICENSE.txt" in notice


def test_the_command_of_a_wheel_starts(built: tuple[str, Path, Path], tmp_path: Path) -> None:
    """Here with the libraries of this environment; test_install.py has environments of the wheels alone."""
    package, wheel, _ = built
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path)  # noqa: S202  our own
    module = "walltime_run" if package == "sdk" else "walltime_collector.cli"
    program = f"import {module} as package; print(package.__file__); package.main()"
    started = subprocess.run(
        [sys.executable, "-c", program, "--version"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    place, version = started.stdout.splitlines()
    assert place.startswith(str(tmp_path)), started.stderr
    assert version == f"walltime {walltime.__version__}"
