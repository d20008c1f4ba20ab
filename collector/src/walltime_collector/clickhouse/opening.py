"""Opens the engine that the settings choose."""

from __future__ import annotations

from collections.abc import Callable

from ..config.settings import Settings
from .embedded.engine import EmbeddedEngine
from .engine import Engine


def open_engine(settings: Settings, count: Callable[[str], object] | None = None) -> Engine:
    """
    Open the engine that the settings choose: the server at `clickhouse`, or else the embedded one in `data`.

    This does not wait for the engine; its first method does.

    Args:
        count: Called with `engine_restarts` at each restart of the embedded engine's process, from any thread.

    Raises:
        SettingsRefused: The settings of the server cannot work.
        DirectoryInUse: Another process has the embedded one open.
    """
    if settings.clickhouse:
        # imported here: the server's client takes a sixth of the start's CPU, and the embedded engine needs none of it
        from .server.client import ClientTls, address
        from .server.engine import ServerEngine

        address(settings.clickhouse, settings.where("clickhouse", "--clickhouse"))
        files = ("clickhouse_ca", "clickhouse_certificate", "clickhouse_key")
        return ServerEngine(
            settings.clickhouse,
            user=settings.clickhouse_user,
            password=settings.secret("clickhouse_password"),
            database=settings.database,
            timeout_s=settings.clickhouse_timeout_s,
            tls=ClientTls(
                settings.clickhouse_ca,
                settings.clickhouse_verify,
                settings.clickhouse_certificate,
                settings.clickhouse_key,
                ", ".join(settings.where(name) for name in files if getattr(settings, name) is not None),
            ),
            compression=settings.clickhouse_compression,
            insert_quorum=settings.clickhouse_insert_quorum,
            cluster=settings.cluster,
        )
    where = settings.where("data", "--data")
    return EmbeddedEngine(settings.data / "chdb", settings.database, count, where)
