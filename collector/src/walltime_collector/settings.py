"""The collector's settings: the only reader of WALLTIME_* variables here; everything else is handed a Settings."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from .errors import SettingsRefused

MIB = 1024 * 1024


def default_data_dir() -> Path:
    """Where a user's data belongs: $XDG_DATA_HOME/walltime or ~/.local/share/walltime."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "walltime"


class Settings(BaseSettings):
    """
    What `walltime serve` can be told; each field is also WALLTIME_<FIELD> in the environment.

    Sizes are bytes, times are seconds. Port 0 takes a free one.
    """

    model_config = SettingsConfigDict(env_prefix="WALLTIME_", frozen=True)

    data: Path = Field(default_factory=default_data_dir, description="directory of the spool and the embedded database")
    http: str = Field(default="127.0.0.1:4318", description="address of OTLP/HTTP")
    web: str = Field(default="127.0.0.1:8464", description="address of pages, API and /healthz")
    insecure: bool = Field(
        default=False, description="allow addresses that other machines can reach; there is no password yet"
    )
    database: str = Field(
        default="walltime", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="database the tables live in"
    )

    clickhouse: str = Field(
        default="",
        description="address of a ClickHouse server to store in, `http://host:8123`; empty: the embedded one",
    )
    clickhouse_user: str = Field(default="default", description="its user")
    clickhouse_password: SecretStr = Field(default=SecretStr(""), description="the user's password")
    clickhouse_password_file: Path | None = Field(default=None, description="or the file that holds it")
    clickhouse_http: str = Field(
        default="",
        description="address of a read-only ClickHouse HTTP interface, for Grafana and ClickHouse clients; empty: off",
    )
    clickhouse_http_token: SecretStr = Field(
        default=SecretStr(""), description="the password it asks for; with one, other machines may reach it"
    )
    clickhouse_timeout_s: int = Field(default=60, ge=1, description="longest wait for an answer of the server")

    slow_log: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="slow logs of MySQL, MariaDB or Percona Server to follow, comma-separated: `PATH` or `NAME=PATH`",
    )

    max_request_bytes: int = Field(default=20 * MIB, gt=0, description="largest request body, also after decompression")
    request_deadline_s: float = Field(
        default=30.0, gt=0, description="a request that has not arrived whole by then is refused"
    )
    max_in_flight_bytes: int = Field(
        default=256 * MIB, gt=0, description="bodies being received at once; beyond this: 503"
    )
    max_connections: int = Field(default=512, gt=0, description="open OTLP connections; more are refused with 503")
    max_spool_bytes: int = Field(default=2048 * MIB, gt=0, description="the spool answers 503 beyond this")
    segment_bytes: int = Field(default=20 * MIB, gt=0, description="a spool segment is sealed and loaded at this size")
    segment_age_s: float = Field(default=1.0, gt=0, description="or at this age")
    crashpoint: str = Field(default="", description="for tests: die at this place as by kill -9")
    drain_s: float = Field(
        default=5.0, ge=0, description="on SIGTERM: how long to load what is spooled; the rest waits on disk"
    )

    @field_validator("slow_log", mode="before")
    @classmethod
    def _split(cls, written: object) -> object:
        return tuple(filter(None, map(str.strip, written.split(",")))) if isinstance(written, str) else written

    def read_clickhouse_password(self) -> str:
        """
        The password itself, for the one who connects.

        Raises:
            SettingsRefused: The file that should hold it cannot be read.
        """
        if self.clickhouse_password_file is None:
            return self.clickhouse_password.get_secret_value()
        try:
            return self.clickhouse_password_file.read_text("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsRefused(
                f"WALLTIME_CLICKHOUSE_PASSWORD_FILE {self.clickhouse_password_file}: cannot be read: "
                f"{getattr(error, 'strerror', 'not text')}; let the collector's user read it"
            ) from error


def address(setting: str, name: str, *, insecure: bool) -> tuple[str, int]:
    """
    Split `host:port`.

    Raises:
        SettingsRefused: It is not host:port, or other machines could reach it and `insecure` is not set.
    """
    host, colon, port = setting.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise SettingsRefused(f"--{name} {setting}: not an address; write host:port, as in 127.0.0.1:4318")
    if not insecure and not _is_loopback(host):
        raise SettingsRefused(
            f"--{name} {setting}: other machines could reach it and nothing asks them for a password; "
            "use 127.0.0.1, or say --insecure if the network is trusted"
        )
    return host, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
