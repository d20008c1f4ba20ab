"""Who holds a lock on other versions of the servers."""

from __future__ import annotations

import pytest
from shop.services import OBSERVED, MariaDB

from tests.collector.observe.lock_checks import SCENARIOS, check, deadlocks, happened
from tests.server_folder import server_folder
from tests.servers import Collector
from tests.unpacked import MARIADB, preferred


@pytest.mark.nightly
@pytest.mark.parametrize("name", MARIADB)
def test_the_request_that_holds_the_lock_is_named_by_other_versions(name: str) -> None:
    with server_folder() as folder, preferred(name), MariaDB(folder / "mariadb", **OBSERVED) as database:
        address = f"mysql://admin@{database.address}"
        with Collector(folder / "data", mysql=address, mysql_password=database.admin_password) as collector:
            every = happened(collector, database, ",".join((*SCENARIOS, "deadlock")), 1)
            for scenario in SCENARIOS:
                check(collector, [each for each in every if each["scenario"] == scenario])
            deadlocks(collector, [each for each in every if each["scenario"] == "deadlock"])
