"""The collector's settings, the only reader of WALLTIME_* variables; other modules receive a Settings."""

from __future__ import annotations

import ipaddress
import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ..errors import SettingsRefused

MIB = 1024 * 1024
_MAX_SECONDS = 1_000_000
_MAX_COUNT = 2**63 - 1
NO_SECRET = SecretStr("")
Days = Annotated[int, Field(ge=1, le=3650)]
Words = Annotated[tuple[str, ...], NoDecode]
"""Comma-separated in the environment, a list in the file."""


def default_data_dir() -> Path:
    """$XDG_DATA_HOME/walltime or ~/.local/share/walltime."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "walltime"


class Settings(BaseSettings):
    """
    Each field is WALLTIME_<FIELD> in the environment and a key of the file. Port 0 is a free port.

    Sizes are bytes, times are seconds unless the name has another unit.
    """

    model_config = SettingsConfigDict(env_prefix="WALLTIME_", frozen=True, allow_inf_nan=False)

    data: Path = Field(default_factory=default_data_dir)
    """directory of the spool and the embedded database"""
    grpc: str = "127.0.0.1:4317"
    """address of OTLP/gRPC"""
    http: str = "127.0.0.1:4318"
    """address of OTLP/HTTP"""
    web: str = "127.0.0.1:8464"
    """address of pages, API and /healthz"""
    insecure: bool = False
    """allow addresses that other machines can reach without a token"""
    allowed_hosts: Words = ()
    """names of this machine that browsers may use for the web port, comma-separated; loopback names always work, and so
    does any IP address where other machines can reach the port"""
    ingest_token: SecretStr = NO_SECRET
    """token for sending OTLP; empty: none is required"""
    ingest_token_file: Path | None = None
    """or the file that contains it"""
    read_token: SecretStr = NO_SECRET
    """token for pages, API, SQL and /metrics; empty: none is required"""
    read_token_file: Path | None = None
    """or the file that contains it"""
    admin_token: SecretStr = NO_SECRET
    """token for changes, such as retrying dead letters; it also permits reading"""
    admin_token_file: Path | None = None
    """or the file that contains it"""
    tls_certificate: Path | None = None
    """file of the certificate (PEM, with its chain); with it, all ports use TLS only"""
    tls_key: Path | None = None
    """file of its key (PEM), if it is not in the same file"""
    ingest_client_ca: Path | None = None
    """file of the CA certificates (PEM) that must have signed the client certificates of OTLP senders; needs TLS"""
    read_client_ca: Path | None = None
    """the same for clients of the web port and the ClickHouse HTTP interface"""
    log_format: Literal["auto", "json", "plain"] = "auto"
    """`json`: one JSON object per line; `plain`: text; `auto`: plain on a terminal"""
    database: str = Field(default="walltime", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """database of the tables"""
    clickhouse: str = ""
    """address of a ClickHouse server to store in, `http://host:8123`; empty: the embedded one"""
    clickhouse_user: str = "default"
    """its user"""
    clickhouse_password: SecretStr = NO_SECRET
    """the user's password"""
    clickhouse_password_file: Path | None = None
    """or the file that contains it"""
    clickhouse_http: str = ""
    """address of a read-only ClickHouse HTTP interface, for Grafana and ClickHouse clients; empty: off"""
    clickhouse_http_token: SecretStr = NO_SECRET
    """password for it; empty: the `read_token`"""
    clickhouse_http_token_file: Path | None = None
    """or the file that contains it"""
    clickhouse_timeout_s: PositiveInt = 60
    """longest wait for a response of the server"""
    clickhouse_ca: Path | None = None
    """file of the CA certificates (PEM) to trust when its address is https"""
    clickhouse_verify: bool = True
    """false: do not verify the certificate of the server"""
    clickhouse_certificate: Path | None = None
    """file of the client certificate (PEM) for the server; without a password it identifies the user"""
    clickhouse_key: Path | None = None
    """file of its key (PEM), if it is not in the same file"""
    clickhouse_compression: Literal["none", "gzip", "zstd"] = "none"
    """compression of data to the server: less network, more CPU"""
    clickhouse_insert_quorum: str = Field(default="", pattern=r"^(|auto|[1-9][0-9]*)$")
    """number of replicas that must have data before it counts as stored, or `auto`; empty: one"""
    cluster: str = Field(default="", pattern=r"^[A-Za-z0-9_.-]*$")
    """name of the ClickHouse cluster that `clickhouse` is a node of; empty: no cluster"""
    retention_spans_days: Days = 7
    """days that kept calls and other spans are stored"""
    retention_transactions_days: Days = 30
    """days that transactions and slow-log entries are stored"""
    retention_minutes_days: Days = 400
    """days that sums per minute are stored"""
    when_disk_full: Literal["refuse", "drop_oldest_day"] = "refuse"
    """for the embedded database, when its disk has only the reserve left: `refuse` accepts no data until there is
    space; `drop_oldest_day` deletes the oldest stored day, then the next, before their retention ends"""
    slow_log: Words = ()
    """slow logs of MySQL, MariaDB or Percona Server to follow, comma-separated: `PATH` or `NAME=PATH`"""
    slow_log_always_write_s: NonNegativeFloat = 10.0
    """`slow_query_log_always_write_time` of Percona Server: with `log_slow_rate_limit` = n, a slow-log entry counts for
    n statements, from so many seconds on for itself only, because such statements are always logged"""
    mysql: Words = ()
    """MySQL and MariaDB servers to ask for statements, locks and load, comma-separated:
    `[NAME=]mysql://user@host:3306`; NAME is their address as the applications use it, when it is another"""
    mysql_password: SecretStr = NO_SECRET
    """password for them"""
    mysql_password_file: Path | None = None
    """or the file that contains it; a server of its own: `mysql://user@host?password_file=PATH`"""
    mysql_setup: bool = False
    """switch on in these servers what is off and needed; otherwise the collector's log has the statements for it"""
    mysql_explain: bool = False
    """look for changed plans in these servers: EXPLAIN the SELECTs that take the most time, at most 20 a minute; their
    values stay in memory"""
    memcached: Words = ()
    """memcached servers to ask for their counters, comma-separated: `[NAME=]host:11211`"""
    redis: Words = ()
    """Redis and Valkey servers to ask for their counters, comma-separated: `[NAME=]redis://[user@]host:6379`"""
    redis_password: SecretStr = NO_SECRET
    """password for them"""
    redis_password_file: Path | None = None
    """or the file that contains it"""
    discover_caches: bool = False
    """ask the caches that bills name as well, up to 32 of them and without a password: whoever may send bills chooses
    the hosts and ports that the collector connects to"""
    incidents: bool = True
    """look for incidents: kinds that became slower, fail more or call more than usual"""
    incident_look_s: float = Field(default=30.0, ge=5, le=60)
    """time between two looks; an incident is opened after the second one in which a kind is not as usual"""
    incident_slower: float = Field(default=1.5, gt=1, le=100)
    """an incident: the time or the calls of a kind are the usual ones times this, or more"""
    incident_errors: float = Field(default=0.05, gt=0, le=1)
    """an incident: this share of a kind's transactions fails in addition to the usual share"""
    incident_webhook: SecretStr = NO_SECRET
    """URL to which messages about incidents are posted; empty: none are. https is verified"""
    incident_webhook_file: Path | None = None
    """or the file that contains it"""
    incident_webhook_format: Literal["alertmanager", "slack"] = "alertmanager"
    """`alertmanager`: as Alertmanager sends to its webhook receivers; `slack`: for an incoming webhook of Slack"""
    web_url: str = ""
    """address of the pages as people reach them, for links in messages; empty: where the web port listens"""
    cors_allowed_origins: Words = ()
    """origins whose pages may send OTLP/HTTP from a browser, comma-separated: `https://shop.example.com`,
    `https://*.example.com`, or `*` for all; empty: none"""
    max_request_bytes: PositiveInt = 20 * MIB
    """largest request body, also after decompression"""
    request_deadline_s: PositiveFloat = 30.0
    """a request that is not complete by then is refused"""
    max_in_flight_bytes: PositiveInt = 256 * MIB
    """bytes of request bodies in memory at once; beyond this: 503"""
    header_deadline_s: PositiveFloat = 10.0
    """a connection whose headers are not complete by then is closed"""
    max_connections: PositiveInt = 512
    """open OTLP connections; more are refused with 503"""
    max_connections_per_address: PositiveInt = 64
    """of them, from one address; no limit where only this machine can reach the OTLP ports"""
    max_read_connections: PositiveInt = 256
    """open connections of the web and ClickHouse ports together"""
    max_read_connections_per_address: PositiveInt = 64
    """of them, from one address; no limit where only this machine can reach these ports"""
    max_spool_bytes: PositiveInt = 2048 * MIB
    """size of the spool; beyond this: 503"""
    segment_bytes: PositiveInt = 20 * MIB
    """a spool segment is sealed and loaded at this size"""
    segment_age_s: PositiveFloat = 1.0
    """or at this age"""
    derived_window_s: int = Field(default=10, ge=1, le=3600)
    """spans of other OpenTelemetry SDKs that are stored within this many seconds become transactions together"""
    derived_settle_s: int = Field(default=10, ge=0, le=3600)
    """seconds that such a window waits for late spans"""
    crashpoint: str = ""
    """for tests: exit at this place, as by kill -9"""
    drain_s: NonNegativeFloat = 5.0
    """on SIGTERM: seconds for loading the spool; the rest stays on disk"""

    @field_validator("slow_log", "mysql", "memcached", "redis", "allowed_hosts", "cors_allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("*", mode="before")
    @classmethod
    def _check(cls, value: object, info: ValidationInfo) -> object:
        """Refuse what would fail later or be misread: NUL in a path, true as a number."""
        field = cls.model_fields[str(info.field_name)]
        is_secret = field.annotation is SecretStr
        if isinstance(value, str) and not is_secret and any(letter < " " for letter in value):
            raise ValueError("has a line break, a tab or another control character in it")
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise ValueError("is not valid UTF-8")
        if isinstance(value, bool) and type(field.default) in (int, float):
            raise ValueError("is true or false; write a number")
        if value == "" and field.annotation == Path | None:
            return None
        return default_data_dir() if value == "" and field.annotation is Path else value

    @field_validator("*", mode="after")
    @classmethod
    def _limit(cls, value: object, info: ValidationInfo) -> object:
        maximum = _MAX_SECONDS if str(info.field_name).endswith("_s") else _MAX_COUNT
        if isinstance(value, (int, float)) and value > maximum:
            raise ValueError(f"is more than {maximum:,}")
        return value

    @cached_property
    def sources(self) -> dict[str, str]:
        """The source of each setting that is no default: an option, a variable, or a file and its key."""
        return {}

    def where(self, name: str, otherwise: str = "") -> str:
        """The source of a setting, for messages; of a default: `otherwise`, or its variable."""
        return self.sources.get(name) or otherwise or f"WALLTIME_{name.upper()}"

    def secret(self, name: str) -> str:
        """
        The secret of that name, from its file where one is set; empty when there is none.

        Raises:
            SettingsRefused: Its file cannot be read, or is empty.
        """
        path: Path | None = getattr(self, f"{name}_file")
        if path is None:
            value: SecretStr = getattr(self, name)
            return value.get_secret_value()
        where = f"{self.where(f'{name}_file')} {path}"
        try:
            secret = path.read_text("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", "not text")
            raise SettingsRefused(f"{where}: cannot be read: {reason}; let the collector's user read it") from error
        if not secret:
            raise SettingsRefused(f"{where}: is empty; write the secret into it, or leave the setting out")
        return secret


SECRETS = tuple(name for name, field in Settings.model_fields.items() if isinstance(field.default, SecretStr))
"""Settings that are never printed."""


def address(setting: str, name: str, *, is_guarded: bool, guard: str, where: str = "") -> tuple[str, int]:
    """
    Split `host:port`.

    Args:
        where: The source of the setting, for messages; without it, the option of that name.
        is_guarded: Whether a token or a client certificate is required, or --insecure is set.
        guard: The setting that would make it so.

    Raises:
        SettingsRefused: It is not host:port, or other machines could reach it and it is not guarded.
    """
    host, colon, port = setting.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    where = where or f"--{name}"
    if not colon or not host or not (port.isascii() and port.isdecimal()) or len(port) > 5 or int(port) > 65535:
        raise SettingsRefused(
            f"{where} {setting.rpartition('@')[2]}: not an address; write host:port, as in 127.0.0.1:4318"
        )
    if not is_guarded and not is_loopback(host):
        raise SettingsRefused(
            f"{where} {setting}: other machines could reach it and nothing asks them for a token; "
            f"set {guard}, use 127.0.0.1, or say --insecure if the network is trusted"
        )
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
