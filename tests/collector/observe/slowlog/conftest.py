"""A MariaDB that writes every statement to its slow log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from shop.services import MariaDB

from tests.server_folder import server_folder


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    with server_folder() as folder, MariaDB(folder, slow_log_s=0.0) as server:
        yield server
