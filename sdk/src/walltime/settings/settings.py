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
        "False switches Walltime off. `OTEL_SDK_DISABLED=true` does the same",
        safe=False,
        OTEL_SDK_DISABLED=parsing.negated,
    )
    service_name: str = setting(
        "",
        "name of the service. Default: `service.name` in `OTEL_RESOURCE_ATTRIBUTES`, else `unknown_service`",
        fault=valid.text,
        OTEL_SERVICE_NAME=parsing.text,
    )

    # ---- export ----
    exporters: tuple[str, ...] = setting(
        ("otlp",),
        "where transactions are sent: `otlp`, `console` (lines of JSON on stderr, see `json_lines`), both with a "
        "comma between, or `none`",
        fault=valid.exporters,
        safe=(),
        OTEL_TRACES_EXPORTER=parsing.exporters,
    )
    endpoint: str = setting(
        "http://localhost:4318/v1/traces",
        "address of the collector; empty sends nothing. `/v1/traces` is appended to `OTEL_EXPORTER_OTLP_ENDPOINT`",
        fault=valid.address,
        safe="",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=parsing.text,
        OTEL_EXPORTER_OTLP_ENDPOINT=parsing.base_endpoint,
    )
    protocol: str = setting(
        "http/protobuf",
        "the only supported protocol; another value logs a warning",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=parsing.protocol,
        OTEL_EXPORTER_OTLP_PROTOCOL=parsing.protocol,
    )
    headers: Mapping[str, str] = setting(
        {},
        "headers of every export, `name=value,…`",
        is_secret=True,
        fault=valid.headers,
        safe={},
        OTEL_EXPORTER_OTLP_TRACES_HEADERS=parsing.pairs,
        OTEL_EXPORTER_OTLP_HEADERS=parsing.pairs,
    )
    gzip: bool = setting(
        False,
        "compress exports. The variables take `gzip` or `none`",
        OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=parsing.compression,
        OTEL_EXPORTER_OTLP_COMPRESSION=parsing.compression,
    )
    timeout_s: float = setting(
        10.0,
        "longest wait for the response to one export, in seconds",
        fault=valid.above_zero,
        OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=parsing.number,
        OTEL_EXPORTER_OTLP_TIMEOUT=parsing.number,
    )
    certificate: str = setting(
        "",
        "file of certificate authorities (PEM) that are trusted for a collector at https://. Default: those of the "
        "system",
        OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=parsing.text,
        OTEL_EXPORTER_OTLP_CERTIFICATE=parsing.text,
    )
    client_certificate: str = setting(
        "",
        "file of a client certificate (PEM), for a collector that requires one",
        OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE=parsing.text,
        OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=parsing.text,
    )
    client_key: str = setting(
        "",
        "file of the client certificate's key (PEM), unless it is in the same file",
        OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY=parsing.text,
        OTEL_EXPORTER_OTLP_CLIENT_KEY=parsing.text,
    )
    export_delay_s: float = setting(
        1.0,
        "longest wait of a finished transaction for its export. The variable is in milliseconds",
        OTEL_BSP_SCHEDULE_DELAY=parsing.milliseconds,
    )
    max_queue: int = setting(
        2048,
        "finished transactions that may wait for export; more are dropped and counted",
        OTEL_BSP_MAX_QUEUE_SIZE=parsing.count,
    )
    max_pending_bytes: int = setting(
        8 * 1024 * 1024,
        "encoded transactions that are kept while the collector does not answer; the oldest are dropped first",
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
        "file to which every transaction is appended as a line of JSON (docs/logs.md); `-` is stderr. `console` in "
        "`exporters` writes to stderr when this is empty",
        WALLTIME_JSON_LINES=parsing.text,
    )
    summary: bool = setting(
        False,
        "log the bill of each transaction in one line, to the logger `walltime.summary` at level INFO",
        safe=False,
        WALLTIME_SUMMARY=parsing.flag,
    )

    # ---- detail ----
    sample_probability: float = setting(
        0.01,
        "share of transactions whose calls are kept one by one, chosen by trace id. `OTEL_TRACES_SAMPLER` takes "
        "`always_on`, `always_off` or `traceidratio` (with or without `parentbased_`); its default argument is 0.01",
        fault=valid.share,
        OTEL_TRACES_SAMPLER=parsing.sampler,
        OTEL_TRACES_SAMPLER_ARG=parsing.number,
    )
    random_per_minute: int = setting(
        60_000,
        "limit for calls kept by the fair sample, in transactions a minute. A process that reaches it has an unfair "
        "sample: lower the probability first",
        WALLTIME_RANDOM_PER_MINUTE=parsing.count,
    )
    upstream_per_minute: int = setting(
        6_000,
        "limit for calls kept because the caller's `traceparent` is sampled, in transactions a minute. 0 when the "
        "sampler has no `parentbased_`",
        WALLTIME_UPSTREAM_PER_MINUTE=parsing.count,
        OTEL_TRACES_SAMPLER=parsing.sampled_upstream,
    )
    forced_per_minute: int = setting(
        600,
        "limit for calls kept because of `force_secret` or `walltime.current().keep()`, in transactions a minute",
        WALLTIME_FORCED_PER_MINUTE=parsing.count,
    )
    errors_per_minute: int = setting(
        60,
        "limit for calls kept because the transaction failed, in transactions a minute",
        WALLTIME_ERRORS_PER_MINUTE=parsing.count,
    )
    slow_per_minute: int = setting(
        60,
        "limit for calls kept because the transaction was slower than 99 % of the recent ones of its name, in "
        "transactions a minute",
        WALLTIME_SLOW_PER_MINUTE=parsing.count,
    )

    # ---- SQL comments ----
    sql_comment: str = setting(
        "full",
        "comment on every SQL statement: `full` includes the request id, `static` only what is the same in every "
        "request (for a query cache), `off` adds none. True means `full`, False means `off`",
        choices=("full", "static", "off"),
        safe="off",
        WALLTIME_SQL_COMMENT=parsing.sql_comment,
    )
    sql_comment_keys: tuple[str, ...] = setting(
        ("traceparent", "route", "service"),
        "contents of the SQL comment, the most important first: `traceparent`, `route`, `service` (or "
        "`application`), `user`, the caller's `file`, `line`, `function`; any other name is an annotation",
        fault=valid.words,
        safe=(),
        WALLTIME_SQL_COMMENT_KEYS=parsing.words,
    )
    sql_comment_position: str = setting(
        "append",
        "position of the SQL comment: `append` (before a final semicolon) or `prepend`",
        choices=("append", "prepend"),
        WALLTIME_SQL_COMMENT_POSITION=parsing.position,
    )
    sql_text_bytes: int = setting(
        1024,
        "`performance_schema_max_sql_text_length` of the server: a comment that would be cut off there goes in front",
        WALLTIME_SQL_TEXT_BYTES=parsing.count,
    )

    # ---- servers ----
    force_secret: str = setting(
        "",
        "a request whose header `X-Walltime-Force` has this value (at least 16 characters) gets its calls kept and "
        "its bill in the response header `Server-Timing`",
        is_secret=True,
        fault=valid.secret,
        safe="",
        WALLTIME_FORCE_SECRET=parsing.text,
    )
    server_timing: bool = setting(
        False,
        "send the bill in the response header `Server-Timing` of every response, readable by every client",
        safe=False,
        WALLTIME_SERVER_TIMING=parsing.flag,
    )

    # ---- threads and the interpreter ----
    context_threads: bool = setting(
        True,
        "bill work in threads, thread pools and greenlets to the transaction that started it",
        safe=False,
        WALLTIME_CONTEXT_THREADS=parsing.flag,
    )
    python_gc: bool = setting(
        True,
        "bill pauses of the garbage collector as the component `python.gc`",
        safe=False,
        WALLTIME_PYTHON_GC=parsing.flag,
    )

    # ---- redaction ----
    raw_keys: bool = setting(
        False,
        "send memcache and redis keys unchanged, instead of prefix and keyed hash",
        safe=False,
        WALLTIME_RAW_KEYS=parsing.flag,
    )
    raw_session_ids: bool = setting(
        False,
        "send the value of `set_session` unchanged, instead of a keyed hash",
        safe=False,
        WALLTIME_RAW_SESSION_IDS=parsing.flag,
    )
    hash_user_ids: bool = setting(
        False,
        "send the value of `set_user` as a keyed hash",
        safe=True,
        WALLTIME_HASH_USER_IDS=parsing.flag,
    )
    denied_annotations: tuple[str, ...] = setting(
        (),
        "words whose annotations are sent as `(redacted)`, in addition to password, secret, token, api_key, cookie, "
        "…; `*` redacts all annotations",
        fault=valid.words,
        safe=("*",),
        WALLTIME_DENIED_ANNOTATIONS=parsing.words,
    )
    propagate_to: tuple[str, ...] = setting(
        ("*",),
        "hosts to which HTTP requests carry `traceparent` and baggage: patterns such as `*.shop.internal`, or `none`",
        fault=valid.words,
        safe=("none",),
        WALLTIME_PROPAGATE_TO=parsing.words,
    )
    key_salt: str = setting(
        "",
        "key of the keyed hashes. Default: a random key for each process, so hashes of two processes cannot be "
        "compared",
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
