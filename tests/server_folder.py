"""Where the servers of a test keep their files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shop.services import ProgramMissingError, fast_folder


@contextmanager
def server_folder() -> Iterator[Path]:
    """A new folder, removed at the end; where the program of a server is missing, the test is skipped."""
    folder = fast_folder()
    try:
        yield folder
    except ProgramMissingError as missing:
        pytest.skip(str(missing))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
