"""
The SDK's settings: the only place that reads OTEL_* and WALLTIME_* variables.

`walltime.configure` says what each of them does. Each has a row in docs/settings.md and a test marked with its name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from walltime.errors import SettingsError, warn
from walltime.settings import parsing, valid
from walltime.settings.fields import read, setting, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _otlp(name: str, parse: Callable[[str], object]) -> dict[str, Any]:
    """Return the variables of OpenTelemetry for traces and for all signals; the first decides."""
    return {f"OTEL_EXPORTER_OTLP_TRACES_{name}": parse, f"OTEL_EXPORTER_OTLP_{name}": parse}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What `walltime.configure` takes. All have a default; the environment goes before it, arguments before both."""

    enabled: bool = setting(True, safe=False, OTEL_SDK_DISABLED=parsing.negated)
    service_name: str = setting("", fault=valid.text, OTEL_SERVICE_NAME=parsing.text)

    # ---- export ----
    exporters: tuple[str, ...] = setting(
        ("otlp",), fault=valid.exporters, safe=(), OTEL_TRACES_EXPORTER=parsing.exporters
    )
    endpoint: str = setting(
        "http://localhost:4318/v1/traces",
        fault=valid.address,
        safe="",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=parsing.text,
        OTEL_EXPORTER_OTLP_ENDPOINT=parsing.base_endpoint,
    )
    protocol: str = setting("http/protobuf", **_otlp("PROTOCOL", parsing.protocol))
    headers: Mapping[str, str] = setting(
        {}, is_secret=True, fault=valid.headers, safe={}, **_otlp("HEADERS", parsing.pairs)
    )
    gzip: bool = setting(False, **_otlp("COMPRESSION", parsing.compression))
    timeout_s: float = setting(10.0, fault=valid.above_zero, **_otlp("TIMEOUT", parsing.number))
    certificate: str = setting("", **_otlp("CERTIFICATE", parsing.text))
    client_certificate: str = setting("", **_otlp("CLIENT_CERTIFICATE", parsing.text))
    client_key: str = setting("", **_otlp("CLIENT_KEY", parsing.text))
    export_delay_s: float = setting(1.0, OTEL_BSP_SCHEDULE_DELAY=parsing.milliseconds)
    max_queue: int = setting(2048, OTEL_BSP_MAX_QUEUE_SIZE=parsing.count)
    max_pending_bytes: int = setting(8 * 1024 * 1024, WALLTIME_MAX_PENDING_BYTES=parsing.count)
    exit_timeout_s: float = setting(1.5, WALLTIME_EXIT_TIMEOUT=parsing.number)

    # ---- beside the collector ----
    json_lines: str = setting("", WALLTIME_JSON_LINES=parsing.text)
    summary: bool = setting(False, safe=False, WALLTIME_SUMMARY=parsing.flag)
    metrics: bool = setting(False, safe=False, WALLTIME_METRICS=parsing.flag)

    # ---- detail ----
    sample_probability: float = setting(
        0.01, fault=valid.share, OTEL_TRACES_SAMPLER=parsing.sampler, OTEL_TRACES_SAMPLER_ARG=parsing.number
    )
    random_per_minute: int = setting(60_000, WALLTIME_RANDOM_PER_MINUTE=parsing.count)
    upstream_per_minute: int = setting(
        6_000, WALLTIME_UPSTREAM_PER_MINUTE=parsing.count, OTEL_TRACES_SAMPLER=parsing.sampled_upstream
    )
    forced_per_minute: int = setting(600, WALLTIME_FORCED_PER_MINUTE=parsing.count)
    errors_per_minute: int = setting(60, WALLTIME_ERRORS_PER_MINUTE=parsing.count)
    slow_per_minute: int = setting(60, WALLTIME_SLOW_PER_MINUTE=parsing.count)

    # ---- samples ----
    sample_hz: float = setting(100.0, fault=valid.rate, safe=0.0, WALLTIME_SAMPLE_HZ=parsing.number)

    # ---- SQL comments ----
    sql_comment: str = setting(
        "full", choices=("full", "static", "off"), safe="off", WALLTIME_SQL_COMMENT=parsing.sql_comment
    )
    sql_comment_keys: tuple[str, ...] = setting(
        ("traceparent", "route", "service"), fault=valid.words, safe=(), WALLTIME_SQL_COMMENT_KEYS=parsing.words
    )
    sql_comment_position: str = setting(
        "append", choices=("append", "prepend"), WALLTIME_SQL_COMMENT_POSITION=parsing.position
    )
    sql_text_bytes: int = setting(1024, WALLTIME_SQL_TEXT_BYTES=parsing.count)

    # ---- servers ----
    force_secret: str = setting("", is_secret=True, fault=valid.secret, safe="", WALLTIME_FORCE_SECRET=parsing.text)
    server_timing: bool = setting(False, safe=False, WALLTIME_SERVER_TIMING=parsing.flag)

    # ---- frameworks, threads and the interpreter ----
    disabled_components: tuple[str, ...] = setting(
        (), fault=valid.components, safe=valid.COMPONENTS, WALLTIME_DISABLED_COMPONENTS=parsing.words
    )
    context_threads: bool = setting(True, safe=False, WALLTIME_CONTEXT_THREADS=parsing.flag)
    python_gc: bool = setting(True, safe=False, WALLTIME_PYTHON_GC=parsing.flag)
    cpu_wait: bool = setting(True, safe=False, WALLTIME_CPU_WAIT=parsing.flag)
    loop_times: bool = setting(True, safe=False, WALLTIME_LOOP_TIMES=parsing.flag)

    # ---- redaction ----
    raw_keys: bool = setting(False, safe=False, WALLTIME_RAW_KEYS=parsing.flag)
    raw_session_ids: bool = setting(False, safe=False, WALLTIME_RAW_SESSION_IDS=parsing.flag)
    hash_user_ids: bool = setting(False, safe=True, WALLTIME_HASH_USER_IDS=parsing.flag)
    denied_annotations: tuple[str, ...] = setting(
        (), fault=valid.words, safe=("*",), WALLTIME_DENIED_ANNOTATIONS=parsing.words
    )
    propagate_to: tuple[str, ...] = setting(
        ("*",), fault=valid.words, safe=("none",), WALLTIME_PROPAGATE_TO=parsing.words
    )
    key_salt: str = setting("", is_secret=True, fault=valid.text, safe="", WALLTIME_KEY_SALT=parsing.text)

    def __post_init__(self) -> None:
        if isinstance(self.sql_comment, bool):
            object.__setattr__(self, "sql_comment", "full" if self.sql_comment else "off")
        settle(self)

    @property
    def json_lines_path(self) -> str:
        """Where lines of JSON go; '' for nowhere."""
        return self.json_lines or ("-" if "console" in self.exporters else "")

    @cached_property
    def service(self) -> str:
        """The service's name: the setting, else what OTEL_RESOURCE_ATTRIBUTES says, else ''."""
        from opentelemetry.sdk.resources import OTELResourceDetector

        name = self.service_name or str(OTELResourceDetector().detect().attributes.get("service.name", ""))
        return name.encode("utf-8", "replace").decode()  # the environment's bytes may be no UTF-8

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **given: Any) -> Settings:
        """
        Return the settings of the environment, with `given` arguments before it: a check before a deployment.

        Raises:
            SettingsError: a value cannot be used, or `given` has an unknown name.
        """
        values, unusable = read(cls, os.environ if environ is None else environ, given)
        for each in unusable:
            if not each.is_only_unsupported:
                raise SettingsError(str(each))
            warn(each.variable, "walltime: %s", each)
        return cls(**values)


DEFAULTS: Final = Settings()
