"""Which observed server an address of a bill means."""

from __future__ import annotations

import pytest
from walltime_collector.query.other_side import Observed, meant

KNOWN = [
    Observed("127.0.0.1:3306", "mysql"),
    Observed("db1", "mysql"),
    Observed("10.0.0.5:3307", "mysql"),
    Observed("[2001:db8::1]:3306", "mysql"),
    Observed("/run/mysqld.sock", "mysql"),
    Observed("127.0.0.1:11211", "memcached"),
    Observed("10.0.0.7:11211", "memcached"),
    Observed("10.0.0.7:11212", "memcached"),
]


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("127.0.0.1:3306", "127.0.0.1:3306"),
        ("localhost:3306", "127.0.0.1:3306"),
        ("[::1]:11211", "127.0.0.1:11211"),
        ("DB1:3306", "db1"),
        ("db1:3307", None),
        ("10.0.0.5:3307", "10.0.0.5:3307"),
        ("10.0.0.5:3306", None),
        ("10.0.0.7:11212", "10.0.0.7:11212"),
        ("[2001:DB8::1]:3306", "[2001:db8::1]:3306"),
        ("2001:db8::1", "[2001:db8::1]:3306"),
        ("/run/mysqld.sock", "/run/mysqld.sock"),
        ("/run/other.sock", None),
        ("", None),
    ],
)
def test_an_address_means_the_server_of_its_host_and_port(address: str, server: str | None) -> None:
    assert meant(address, KNOWN) == server


def test_an_address_that_two_servers_could_be_means_neither() -> None:
    twice = [Observed("127.0.0.1:3306", "mysql"), Observed("127.0.0.2:3306", "mysql")]
    assert meant("localhost:3306", twice) is None
    assert meant("127.0.0.2:3306", twice) == "127.0.0.2:3306"
