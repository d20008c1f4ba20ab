"""The packages as they are installed: every file is inside, and the licences of what is inside."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "collector" / "src" / "walltime_collector" / "pages" / "static" / "vendor"


@pytest.mark.parametrize("package", ["sdk", "collector"])
def test_a_wheel_has_every_file_of_the_package_and_its_license(package: str, tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT / package)).build(directory=str(tmp_path), versions=["standard"])
    inside = set(ZipFile(wheel).namelist())
    source = ROOT / package / "src"
    files = {each.relative_to(source).as_posix() for each in source.rglob("*") if each.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    assert files
    assert files <= inside
    licenses = {Path(name).name for name in inside if "/licenses/" in name}
    assert licenses == ({"LICENSE", "NOTICE"} if package == "collector" else {"LICENSE"})


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
