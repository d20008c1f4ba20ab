"""deploy/systemd/walltime.service, as far as systemd's own tools and the kernel check it where systemd does not run."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from walltime_collector.config.settings import Settings

from tests.collector.clickhouse.spans import request, span
from tests.servers import Collector

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "systemd" / "walltime.service"
PROGRAM = Path(sys.executable).with_name("walltime")


def service() -> dict[str, list[str]]:
    """The options of [Service]; one may be there several times."""
    lines = UNIT.read_text().partition("[Service]\n")[2].partition("\n[")[0].splitlines()
    options: dict[str, list[str]] = defaultdict(list)
    for name, _, value in (line.partition("=") for line in lines if "=" in line and not line.startswith("#")):
        options[name].append(value)
    return options


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with the program of this environment."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/walltime/bin/walltime", str(PROGRAM)))
    return copy


def test_systemd_verifies_the_unit(unit: Path) -> None:
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystem=very"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "Failed to parse protect system value" in done.stderr


def test_systemd_rates_its_exposure_below_2(unit: Path) -> None:
    rate = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", str(unit)]
    done = subprocess.run(rate, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:]


def test_its_variables_are_settings_and_its_directory_is_the_data() -> None:
    options = service()
    variables = dict(pair.split("=", 1) for line in options["Environment"] for pair in line.split())
    assert {name.removeprefix("WALLTIME_").lower() for name in variables} <= set(Settings.model_fields)
    assert variables["WALLTIME_DATA"] == f"/var/lib/{options['StateDirectory'][0]}"
    credentials = {line.partition(":")[0] for line in options["LoadCredential"]}
    assert {value for name, value in variables.items() if name.endswith("_FILE")} == {
        f"%d/{name}" for name in credentials
    }
    assert int(options["TimeoutStopSec"][0]) > Settings.model_fields["drain_s"].default


class Filtered(Collector):
    launcher = (sys.executable, "-m", "tests.deploy.filtered", *service()["SystemCallFilter"])


@pytest.mark.nightly
def test_the_collector_works_with_the_system_calls_of_the_unit(tmp_path: Path) -> None:
    refused = [sys.executable, "-c", "import os; os.sched_yield(); os.chroot('/')"]
    ended = subprocess.run([*Filtered.launcher, *refused], cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"[Errno {errno.EPERM}]" in ended.stderr
    directory = Path.cwd()
    os.chdir(ROOT)  # for the launcher
    try:
        with Filtered(tmp_path / "data") as collector:
            body = request(*[span({"walltime.schema": 1}) for _ in range(7)])
            assert collector.send(body.SerializeToString()).status_code == 200
            collector.wait_until_loaded(7)
            assert collector.stop() == 0
            assert "EPERM" not in collector.log()
            assert "not permitted" not in collector.log()
    finally:
        os.chdir(directory)
