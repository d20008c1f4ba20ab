"""A data folder that cannot be written: a message with what to do, no traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.servers import Collector, CollectorDied
from tests.small_disk import small_disk


@pytest.mark.parametrize("has_data", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_read_only_data_folder_is_a_message(tmp_path: Path, has_data: bool) -> None:
    with small_disk(tmp_path / "disk", 128 * 1024 * 1024) as disk:
        if has_data:
            Collector(disk).stop()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(CollectorDied) as died:
            Collector(disk)
    message = str(died.value)
    assert "Traceback" not in message
    assert str(disk) in message
    assert "Read-only file system" in message
    assert "choose another" in message
