"""
The SDK's settings: the only place that reads OTEL_* and WALLTIME_* variables.

Each has a row in docs/settings.md, with the text of its declaration, and a test marked with its name as `setting`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.resources import OTELResourceDetector

from walltime.errors import SettingsError, warn
from walltime.settings import parsing, valid
from walltime.settings.fields import read, setting, settle

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What `walltime.configure` takes. All have a default; the environment goes before it, arguments before both."""

    enabled: bool = setting(
        True,
        "False leaves the application as it is; the variable says the opposite, true switches off",
        safe=False,
        OTEL_SDK_DISABLED=parsing.negated,
    )
    service_name: str = setting(
        "",
        "name of the service; without it what `OTEL_RESOURCE_ATTRIBUTES` says, else `unknown_service`",
        fault=valid.text,
        OTEL_SERVICE_NAME=parsing.text,
    )

    # ---- export ----
    exporters: tuple[str, ...] = setting(
        ("otlp",),
        "where transactions go: `otlp`, `console` (lines of JSON, see `json_lines`), both with a comma, or `none`",
        fault=valid.exporters,
        safe=(),
        OTEL_TRACES_EXPORTER=parsing.exporters,
    )
    endpoint: str = setting(
        "http://localhost:4318/v1/traces",
        "the collector, empty: nothing is sent; the second variable is the address that `/v1/traces` is put behind",
        fault=valid.address,
        safe="",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=parsing.text,
        OTEL_EXPORTER_OTLP_ENDPOINT=parsing.base_endpoint,
    )
    protocol: str = setting(
        "http/protobuf",
        "the only one there is; for another one a warning is logged",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=parsing.protocol,
        OTEL_EXPORTER_OTLP_PROTOCOL=parsing.protocol,
    )
    headers: Mapping[str, str] = setting(
        {},
        "sent with every export, `name=value,…`",
        is_secret=True,
        fault=valid.headers,
        safe={},
        OTEL_EXPORTER_OTLP_TRACES_HEADERS=parsing.pairs,
        OTEL_EXPORTER_OTLP_HEADERS=parsing.pairs,
    )
    gzip: bool = setting(
        False,
        "compress exports; the variables say `gzip` or `none`",
        OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=parsing.compression,
        OTEL_EXPORTER_OTLP_COMPRESSION=parsing.compression,
    )
    timeout_s: float = setting(
        10.0,
        "longest wait for the answer to one export; in seconds, as OpenTelemetry for Python reads it",
        fault=valid.above_zero,
        OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=parsing.number,
        OTEL_EXPORTER_OTLP_TIMEOUT=parsing.number,
    )
    certificate: str = setting(
        "",
        "file of the authorities (PEM) that a collector at https:// is trusted by; without it those of the system",
        OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=parsing.text,
        OTEL_EXPORTER_OTLP_CERTIFICATE=parsing.text,
    )
    client_certificate: str = setting(
        "",
        "file of our own certificate (PEM), for a collector that asks for one",
        OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE=parsing.text,
        OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=parsing.text,
    )
    client_key: str = setting(
        "",
        "file of its key (PEM), where it is not in the same file",
        OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY=parsing.text,
        OTEL_EXPORTER_OTLP_CLIENT_KEY=parsing.text,
    )
    export_delay_s: float = setting(
        1.0,
        "longest wait of a finished transaction for its export; the variable is in milliseconds",
        OTEL_BSP_SCHEDULE_DELAY=parsing.milliseconds,
    )
    max_queue: int = setting(
        2048,
        "finished transactions that may wait; beyond, they are lost and counted",
        OTEL_BSP_MAX_QUEUE_SIZE=parsing.count,
    )
    max_pending_bytes: int = setting(
        8 * 1024 * 1024,
        "encoded transactions kept while the collector cannot be reached; the oldest go first",
        WALLTIME_MAX_PENDING_BYTES=parsing.count,
    )
    exit_timeout_s: float = setting(
        1.5,
        "longest delay of the process's exit for the last export, in seconds",
        WALLTIME_EXIT_TIMEOUT=parsing.number,
    )

    # ---- beside the collector ----
    json_lines: str = setting(
        "",
        "file that every transaction is appended to as a line of JSON (docs/logs.md), `-` for stderr; `console` among "
        "the `exporters` writes to stderr without it",
        WALLTIME_JSON_LINES=parsing.text,
    )
    summary: bool = setting(
        False,
        "log the bill of each transaction in one line, to the logger `walltime.summary` at INFO",
        safe=False,
        WALLTIME_SUMMARY=parsing.flag,
    )

    # ---- detail ----
    sample_probability: float = setting(
        0.01,
        "share of transactions whose calls are kept, by trace id; `OTEL_TRACES_SAMPLER` says `always_on`, `always_off` "
        "or `traceidratio` (with or without `parentbased_`), whose argument is 0.01 unless it is said",
        fault=valid.share,
        OTEL_TRACES_SAMPLER=parsing.sampler,
        OTEL_TRACES_SAMPLER_ARG=parsing.number,
    )
    random_per_minute: int = setting(
        60_000,
        "transactions of the fair sample whose calls are kept; a process that reaches this has an unfair sample, so "
        "lower the probability before it does",
        WALLTIME_RANDOM_PER_MINUTE=parsing.count,
    )
    upstream_per_minute: int = setting(
        6_000,
        "transactions whose calls are kept because the caller's `traceparent` says sampled; none when the sampler is "
        "one without `parentbased_`",
        WALLTIME_UPSTREAM_PER_MINUTE=parsing.count,
        OTEL_TRACES_SAMPLER=parsing.sampled_upstream,
    )
    forced_per_minute: int = setting(
        600,
        "transactions whose calls are kept because a header with the secret or `walltime.current().keep()` asked for "
        "it",
        WALLTIME_FORCED_PER_MINUTE=parsing.count,
    )
    errors_per_minute: int = setting(
        60,
        "failed transactions whose calls are kept",
        WALLTIME_ERRORS_PER_MINUTE=parsing.count,
    )
    slow_per_minute: int = setting(
        60,
        "transactions slower than 99 % of the recent ones of their name whose calls are kept",
        WALLTIME_SLOW_PER_MINUTE=parsing.count,
    )

    # ---- SQL comments ----
    sql_comment: str = setting(
        "full",
        "what every SQL statement is tagged with: `full` the request id too, `static` only what is the same in every "
        "request (for a query cache), `off` nothing; True and False are full and off",
        choices=("full", "static", "off"),
        safe="off",
        WALLTIME_SQL_COMMENT=parsing.sql_comment,
    )
    sql_comment_keys: tuple[str, ...] = setting(
        ("traceparent", "route", "service"),
        "what the comment says, the important first: `traceparent`, `route`, `service` (or `application`), `user`, the "
        "caller's `file`, `line`, `function`, and any other name is that of an annotation",
        fault=valid.words,
        safe=(),
        WALLTIME_SQL_COMMENT_KEYS=parsing.words,
    )
    sql_comment_position: str = setting(
        "append",
        "where the comment goes: `append` (before a final semicolon) or `prepend`",
        choices=("append", "prepend"),
        WALLTIME_SQL_COMMENT_POSITION=parsing.position,
    )
    sql_text_bytes: int = setting(
        1024,
        "the server's `performance_schema_max_sql_text_length`: where the comment would be cut off, it goes in front",
        WALLTIME_SQL_TEXT_BYTES=parsing.count,
    )

    # ---- servers ----
    force_secret: str = setting(
        "",
        "a request whose header `X-Walltime-Force` has this text, of 16 characters or more, has its calls kept "
        "(`forced`) and its bill in the answer's `Server-Timing`",
        is_secret=True,
        fault=valid.secret,
        safe="",
        WALLTIME_FORCE_SECRET=parsing.text,
    )
    server_timing: bool = setting(
        False,
        "every answer has its bill in the header `Server-Timing`, for everybody to see",
        safe=False,
        WALLTIME_SERVER_TIMING=parsing.flag,
    )

    # ---- threads and the interpreter ----
    context_threads: bool = setting(
        True,
        "work that a transaction hands to threads, thread pools and greenlets is billed to it",
        safe=False,
        WALLTIME_CONTEXT_THREADS=parsing.flag,
    )
    python_gc: bool = setting(
        True,
        "pauses of the garbage collector have a line of their own, `python.gc`",
        safe=False,
        WALLTIME_PYTHON_GC=parsing.flag,
    )

    # ---- redaction ----
    raw_keys: bool = setting(
        False,
        "send the keys of memcache and redis as they are, not as prefix and keyed hash",
        safe=False,
        WALLTIME_RAW_KEYS=parsing.flag,
    )
    raw_session_ids: bool = setting(
        False,
        "send what `set_session` was given as it is, not as a keyed hash",
        safe=False,
        WALLTIME_RAW_SESSION_IDS=parsing.flag,
    )
    hash_user_ids: bool = setting(
        False,
        "send what `set_user` was given as a keyed hash",
        safe=True,
        WALLTIME_HASH_USER_IDS=parsing.flag,
    )
    denied_annotations: tuple[str, ...] = setting(
        (),
        "words whose annotations are sent as `(redacted)`, beside ours: password, secret, token, api_key, cookie, …; "
        "`*` for all annotations",
        fault=valid.words,
        safe=("*",),
        WALLTIME_DENIED_ANNOTATIONS=parsing.words,
    )
    propagate_to: tuple[str, ...] = setting(
        ("*",),
        "hosts whose HTTP requests carry `traceparent` (and baggage): patterns such as `*.shop.internal`, or `none`",
        fault=valid.words,
        safe=("none",),
        WALLTIME_PROPAGATE_TO=parsing.words,
    )
    key_salt: str = setting(
        "",
        "key of the hashes that stand for keys; without it one of the process, so hashes of two do not compare",
        is_secret=True,
        fault=valid.text,
        safe="",
        WALLTIME_KEY_SALT=parsing.text,
    )

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
