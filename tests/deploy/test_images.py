"""
Both Dockerfiles without Docker: their steps as they are written, in a Debian root, and what runs in the result.

Debian's own Python takes the place of the base image's. Needs root (chroot, mounts) and debootstrap.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import compose
from tests.deploy.image_root import Built, debian

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

IMAGES = {path.relative_to(compose.ROOT).as_posix(): image for path, image in compose.images().items()}
COLLECTOR, SHOP = IMAGES["collector/Dockerfile"], IMAGES["examples/shop/Dockerfile"]
WRITABLE = ["find", "/", "-xdev", "-writable", "-not", "-type", "l", "-not", "-path", "/proc/*"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if os.geteuid() or not shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin"):
        pytest.skip("needs root and debootstrap: sudo apt-get install debootstrap")
    release = COLLECTOR.runs.base.rpartition("-")[2]
    folder = debian(tmp_path_factory.mktemp("images") / "base", release)
    yield folder
    shutil.rmtree(folder.parent)


@pytest.fixture(scope="module")
def collector(base: Path) -> Built:
    return Built(COLLECTOR, base, base.parent / "collector")


@pytest.fixture(scope="module")
def shop(base: Path) -> Built:
    return Built(SHOP, base, base.parent / "shop")


def volume(built: Built, inside: str) -> dict[str, str]:
    """A new volume, which begins as the folder of the image."""
    outside = built.root.parent / f"volume{inside.replace('/', '-')}"
    subprocess.run(["cp", "--archive", built.root / inside.lstrip("/"), outside], check=True)
    return {inside: str(outside)}


def test_the_collector_runs_healthy_without_rights_in_a_read_only_root(collector: Built) -> None:
    health, data = COLLECTOR.health_command(), COLLECTOR.runs.last("VOLUME")
    stop, volumes = COLLECTOR.runs.last("STOPSIGNAL"), volume(collector, data)
    ended = collector.run(COLLECTOR.command(), health=health, volumes=volumes, stop=stop)
    assert ended["is_healthy"], ended["output"]
    assert ended["status"] == 0
    assert "ready grpc=0.0.0.0:4317 http=0.0.0.0:4318 web=0.0.0.0:8464" in ended["output"]
    stored = Path(volumes[data])
    assert {"chdb", "spool"} <= {each.name for each in stored.iterdir()}
    assert {each.lstat().st_uid for each in stored.rglob("*")} == {10001}


def test_the_health_check_fails_where_nobody_listens(collector: Built) -> None:
    with pytest.raises(AssertionError, match="refused"):
        collector.run(COLLECTOR.health_command())


@pytest.mark.parametrize("name", ["collector", "shop"])
def test_the_user_may_write_to_its_volume_and_no_more(name: str, request: pytest.FixtureRequest) -> None:
    built: Built = request.getfixturevalue(name)
    found = built.run(["sh", "-c", f"{' '.join(WRITABLE)} 2>/dev/null || true"])["output"].split()
    allowed = {"/data", "/tmp", "/var/tmp", "/run/lock", "/dev/shm"}  # noqa: S108  Debian's
    assert {path for path in found if not path.startswith(("/dev/", "/data/"))} <= allowed
    assert built.run(["id", "--user"])["output"].strip() == str({"collector": 10001, "shop": 10002}[name])


@pytest.mark.parametrize("name", ["collector", "shop"])
def test_no_build_tools_and_no_sources_are_left(name: str, request: pytest.FixtureRequest) -> None:
    built: Built = request.getfixturevalue(name)
    environment = next(iter((built.root / "opt").iterdir()))
    installed = {each.name.partition("-")[0].lower() for each in environment.glob("lib/python3*/site-packages/*-info")}
    assert not installed & {"pip", "setuptools", "wheel", "hatchling"}
    assert {"collector": "walltime_collector", "shop": "walltime"}[name] in installed
    assert not (built.root / "build").exists()
    assert not any(shutil.which(tool, path=str(built.root / "usr" / "bin")) for tool in ("gcc", "cc", "make"))


def test_the_shop_is_importable_by_its_user_in_a_read_only_root(shop: Built) -> None:
    check = ["python", "-c", "import shop.app, shop.supplier, shop.load, shop.create; print('imported')"]
    done = shop.run(["sleep", "60"], health=check, volumes={}, stop="SIGKILL")
    assert done["is_healthy"], done["output"]
