"""Where the shop's servers are: the only reader of the SHOP_* variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Addresses and the database account; see `from_environment` for the variables."""

    mysql_host: str
    mysql_port: int
    mysql_user: str
    mysql_password: str
    mysql_database: str
    memcached: tuple[str, ...]
    """`host:port` of every cache server; a key always lives on the same one."""
    supplier: str
    """Address of the supplier's service, without a slash at the end."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        return cls(
            mysql_host=environment.get("SHOP_MYSQL_HOST", "127.0.0.1"),
            mysql_port=int(environment.get("SHOP_MYSQL_PORT", "3306")),
            mysql_user=environment.get("SHOP_MYSQL_USER", "shop"),
            mysql_password=environment.get("SHOP_MYSQL_PASSWORD", ""),
            mysql_database=environment.get("SHOP_MYSQL_DATABASE", "shop"),
            memcached=tuple(environment.get("SHOP_MEMCACHED", "127.0.0.1:11211").split(",")),
            supplier=environment.get("SHOP_SUPPLIER", "http://127.0.0.1:8001"),
        )
