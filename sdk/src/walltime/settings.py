"""The SDK's settings: the only place that reads OTEL_* and WALLTIME_* variables."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from walltime.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What `walltime.configure` takes. All have a default; the environment goes before it, arguments before both."""

    enabled: bool = True
    """False leaves the application as it is (OTEL_SDK_DISABLED=true)."""
    service_name: str = ""
    """OTEL_SERVICE_NAME; empty leaves it to OTEL_RESOURCE_ATTRIBUTES, else `unknown_service`."""
    endpoint: str = "http://localhost:4318/v1/traces"
    """OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces behind it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every export, `name=value,…` (OTEL_EXPORTER_OTLP_HEADERS)."""
    gzip: bool = False
    """OTEL_EXPORTER_OTLP_COMPRESSION=gzip."""
    timeout_s: float = 10.0
    """For one export (OTEL_EXPORTER_OTLP_TIMEOUT, in seconds as OpenTelemetry for Python reads it)."""
    export_delay_s: float = 1.0
    """Longest wait of a finished transaction for its export (OTEL_BSP_SCHEDULE_DELAY, in ms)."""
    max_queue: int = 2048
    """Finished transactions that may wait; what comes then is lost and counted (OTEL_BSP_MAX_QUEUE_SIZE)."""
    max_pending_bytes: int = 8 * 1024 * 1024
    """Encoded transactions kept while the collector cannot be reached; the oldest go first."""
    exit_timeout_s: float = 1.5
    """Longest delay of the process's exit for the last export (WALLTIME_EXIT_TIMEOUT)."""
    sample_probability: float = 0.01
    """Share of transactions whose calls are kept, by trace id (OTEL_TRACES_SAMPLER_ARG)."""
    errors_per_minute: int = 60
    """Failed transactions whose calls are kept (WALLTIME_ERRORS_PER_MINUTE)."""
    sql_comment: bool = True
    """Tag every SQL statement with the request id (WALLTIME_SQL_COMMENT)."""
    raw_memcache_keys: bool = False
    """Send memcache keys as they are (WALLTIME_RAW_MEMCACHE_KEYS); otherwise prefix and keyed hash."""
    key_salt: str = ""
    """Key of that hash (WALLTIME_KEY_SALT); by default one of the process, so hashes do not compare across restarts."""

    def __post_init__(self) -> None:
        if not _is_http_address(self.endpoint):
            raise SettingsError(
                f"endpoint {self.endpoint!r} is not an http(s) address; give http://host:4318/v1/traces"
            )
        if not 0.0 <= self.sample_probability <= 1.0:
            raise SettingsError(f"sample_probability {self.sample_probability} is not between 0 and 1")
        for name in ("timeout_s", "export_delay_s", "max_queue", "max_pending_bytes", "exit_timeout_s"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} {getattr(self, name)} is negative")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **given: Any) -> Settings:
        """
        Return the settings of the environment, with `given` arguments before it.

        Raises:
            SettingsError: a value cannot be used, or `given` has an unknown name.
        """
        environ = os.environ if environ is None else environ
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(given) - known):
            raise SettingsError(f"unknown setting {unknown[0]!r}; there are {', '.join(sorted(known))}")
        values: dict[str, Any] = {}
        for name, (variable, parse) in _VARIABLES.items():
            text = environ.get(variable, "").strip()
            if text and name not in given:
                try:
                    values[name] = parse(text)
                except ValueError as error:
                    raise SettingsError(f"{variable}={text!r}: {error}") from None
        base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
        if base and "endpoint" not in values:
            values["endpoint"] = base.rstrip("/") + "/v1/traces"
        return cls(**{**values, **given})


def _is_http_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port beyond 65535, half an IPv6 address
        return False


def _flag(text: str) -> bool:
    if text.lower() in {"true", "1", "yes", "on"}:
        return True
    if text.lower() in {"false", "0", "no", "off"}:
        return False
    raise ValueError("say true or false")


def _not(text: str) -> bool:
    return not _flag(text)


def _compression(text: str) -> bool:
    if text.lower() in {"gzip", "none"}:
        return text.lower() == "gzip"
    raise ValueError("say gzip or none")


def _pairs(text: str) -> dict[str, str]:
    pairs = {}
    for item in filter(None, text.split(",")):
        name, equals, value = item.partition("=")
        if not equals:
            raise ValueError("say name=value,name=value")
        pairs[unquote(name.strip())] = unquote(value.strip())
    return pairs


def _seconds_of_ms(text: str) -> float:
    return float(text) / 1000


_VARIABLES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "enabled": ("OTEL_SDK_DISABLED", _not),
    "service_name": ("OTEL_SERVICE_NAME", str),
    "endpoint": ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", str),
    "headers": ("OTEL_EXPORTER_OTLP_HEADERS", _pairs),
    "gzip": ("OTEL_EXPORTER_OTLP_COMPRESSION", _compression),
    "timeout_s": ("OTEL_EXPORTER_OTLP_TIMEOUT", float),
    "export_delay_s": ("OTEL_BSP_SCHEDULE_DELAY", _seconds_of_ms),
    "max_queue": ("OTEL_BSP_MAX_QUEUE_SIZE", int),
    "max_pending_bytes": ("WALLTIME_MAX_PENDING_BYTES", int),
    "exit_timeout_s": ("WALLTIME_EXIT_TIMEOUT", float),
    "sample_probability": ("OTEL_TRACES_SAMPLER_ARG", float),
    "errors_per_minute": ("WALLTIME_ERRORS_PER_MINUTE", int),
    "sql_comment": ("WALLTIME_SQL_COMMENT", _flag),
    "raw_memcache_keys": ("WALLTIME_RAW_MEMCACHE_KEYS", _flag),
    "key_salt": ("WALLTIME_KEY_SALT", str),
}
