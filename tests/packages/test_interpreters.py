"""The SDK passes its tests on every supported Python; tests of servers that are not installed there are skipped."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.interpreters import VERSIONS, bare

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
OTHERS = [version for version in VERSIONS if version != f"{sys.version_info[0]}.{sys.version_info[1]}"]
LEAST_PASSED = 1000
# mysqlclient is compiled
TO_COMPILE = ("gcc", "libc6-dev", "libmariadb-dev", "pkg-config")


@pytest.mark.parametrize("version", OTHERS)
def test_the_sdk_passes_its_tests_on_every_python(version: str, tmp_path: Path) -> None:
    made = bare(version, tmp_path, f"python{version}-dev", *TO_COMPILE)
    repository = "srv/walltime"
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    folder = (tmp_path if made.root == Path("/") else made.root) / repository
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    inside = str(folder) if made.root == Path("/") else f"/{repository}"
    install = ["python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    made.run(*install, *(f"--requirement={inside}/requirements/{name}.txt" for name in ("dev", "integrations")))
    made.run(*install, "--no-deps", "--editable", f"{inside}/sdk", "--editable", f"{inside}/collector")
    options = ["-n2", "-m", "not nightly and not alone", "-W", "default", "--rootdir", inside, f"{inside}/tests/sdk"]
    passed = re.search(r"^(\d+) passed", made.run("python", "-m", "pytest", *options).splitlines()[-1])
    assert passed is not None
    assert int(passed[1]) > LEAST_PASSED
    if made.root != Path("/"):
        subprocess.run(["rm", "-rf", made.root], check=True)  # 900 MB
