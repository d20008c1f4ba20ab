"""`walltime.configure`, with a parameter for every setting."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Literal

from walltime import runtime

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from typing import ParamSpec

    from walltime.settings.settings import Settings

    P = ParamSpec("P")


def _known_settings_only(function: Callable[P, Settings]) -> Callable[P, Settings]:
    """Make an unknown name a SettingsError: after it nothing is measured, which a TypeError would not see to."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> Settings:
        return function(*args, **given) if known.keys() >= given.keys() else runtime.configure(given)

    return call


@_known_settings_only
def configure(
    *,
    enabled: bool | None = None,
    service_name: str | None = None,
    exporters: str | Iterable[str] | None = None,
    endpoint: str | None = None,
    protocol: str | None = None,
    headers: str | Mapping[str, str] | None = None,
    gzip: bool | None = None,
    timeout_s: float | None = None,
    certificate: str | os.PathLike[str] | None = None,
    client_certificate: str | os.PathLike[str] | None = None,
    client_key: str | os.PathLike[str] | None = None,
    export_delay_s: float | None = None,
    max_queue: int | None = None,
    max_pending_bytes: int | None = None,
    exit_timeout_s: float | None = None,
    json_lines: str | os.PathLike[str] | None = None,
    summary: bool | None = None,
    metrics: bool | None = None,
    sample_probability: float | None = None,
    random_per_minute: int | None = None,
    upstream_per_minute: int | None = None,
    forced_per_minute: int | None = None,
    errors_per_minute: int | None = None,
    slow_per_minute: int | None = None,
    sample_hz: float | None = None,
    sql_comment: Literal["full", "static", "off"] | bool | None = None,
    sql_comment_keys: str | Iterable[str] | None = None,
    sql_comment_position: Literal["append", "prepend"] | None = None,
    sql_text_bytes: int | None = None,
    force_secret: str | None = None,
    server_timing: bool | None = None,
    disabled_components: str | Iterable[str] | None = None,
    context_threads: bool | None = None,
    python_gc: bool | None = None,
    cpu_wait: bool | None = None,
    loop_times: bool | None = None,
    raw_keys: bool | None = None,
    raw_session_ids: bool | None = None,
    hash_user_ids: bool | None = None,
    denied_annotations: str | Iterable[str] | None = None,
    propagate_to: str | Iterable[str] | None = None,
    key_salt: str | None = None,
) -> Settings:
    """
    Set Walltime up with the environment and the given settings, which go before it; return what is in force.

    May be called again: the transactions until then are sent with the settings they were made under. A variable of
    the environment that cannot be used is a warning and costs no other. None leaves a setting to the environment.

    Args:
        enabled: False switches Walltime off. `OTEL_SDK_DISABLED=true` does the same
        service_name: name of the service. Default: `service.name` in `OTEL_RESOURCE_ATTRIBUTES`, else
            `unknown_service`
        exporters: where transactions are sent: `otlp`, `console` (lines of JSON on stderr, see `json_lines`),
            both with a comma between, or `none`
        endpoint: address of the collector; empty sends nothing. `/v1/traces` is appended to
            `OTEL_EXPORTER_OTLP_ENDPOINT`
        protocol: the only supported protocol; another value logs a warning
        headers: headers of every export, `name=value,…`
        gzip: compress exports. The variables take `gzip` or `none`
        timeout_s: longest wait for the response to one export, in seconds
        certificate: file of certificate authorities (PEM) that are trusted for a collector at https://.
            Default: those of the system
        client_certificate: file of a client certificate (PEM), for a collector that requires one
        client_key: file of the client certificate's key (PEM), unless it is in the same file
        export_delay_s: longest wait of a finished transaction for its export. The variable is in milliseconds
        max_queue: finished transactions that may wait for export; more are dropped and counted
        max_pending_bytes: encoded transactions that are kept while the collector does not answer; the oldest
            are dropped first
        exit_timeout_s: longest delay of the process's exit for the last export, in seconds
        json_lines: file to which every transaction is appended as a line of JSON (docs/logs.md); `-` is stderr.
            `console` in `exporters` writes to stderr when this is empty
        summary: log the bill of each transaction in one line, to the logger `walltime.summary` at level INFO
        metrics: record the duration of requests and of their components in OpenTelemetry's metrics, for the
            application's MeterProvider to export (docs/instrumentation.md)
        sample_probability: share of transactions whose calls are kept one by one, chosen by trace id.
            `OTEL_TRACES_SAMPLER` takes `always_on`, `always_off` or `traceidratio` (with or without
            `parentbased_`); its default argument is 0.01
        random_per_minute: limit for calls kept by the fair sample, in transactions a minute. A process that
            reaches it has an unfair sample: lower the probability first
        upstream_per_minute: limit for calls kept because the caller's `traceparent` is sampled, in transactions
            a minute. 0 when the sampler has no `parentbased_`
        forced_per_minute: limit for calls kept because of `force_secret` or `walltime.current().keep()`, in
            transactions a minute
        errors_per_minute: limit for calls kept because the transaction failed, in transactions a minute
        slow_per_minute: limit for calls kept because the transaction was slower than 99 % of the recent ones of
            its name, in transactions a minute
        sample_hz: looks a second at what transactions do outside of measured calls, from 1 to 1000; 0 switches the
            sampler off
        sql_comment: comment on every SQL statement: `full` includes the request id, `static` only what is the
            same in every request (for a query cache), `off` adds none. True means `full`, False means `off`
        sql_comment_keys: contents of the SQL comment, the most important first: `traceparent`, `route`,
            `service` (or `application`), `user`, the caller's `file`, `line`, `function`; any other name is an
            annotation
        sql_comment_position: position of the SQL comment: `append` (before a final semicolon) or `prepend`
        sql_text_bytes: `performance_schema_max_sql_text_length` of the server: a comment that would be cut off
            there goes in front
        force_secret: a request whose header `X-Walltime-Force` has this value (at least 16 characters) gets its
            calls kept and its bill in the response header `Server-Timing`
        server_timing: send the bill in the response header `Server-Timing` of every response, readable by every
            client
        disabled_components: components of frameworks that are not measured: `middleware`, `view`,
            `template.render`, `serialize`, `orm.compile`, `orm.load`, `session`, `auth`
        context_threads: bill work in threads, thread pools and greenlets to the transaction that started it
        python_gc: bill pauses of the garbage collector as the component `python.gc`
        cpu_wait: record the time for which the transaction's thread waited for a CPU; 3 µs a transaction
        loop_times: record the time of asyncio transactions on the event loop, and their CPU time; 0.6 µs a step
        raw_keys: send memcache and redis keys unchanged, instead of prefix and keyed hash
        raw_session_ids: send the value of `set_session` unchanged, instead of a keyed hash
        hash_user_ids: send the value of `set_user` as a keyed hash
        denied_annotations: words whose annotations are sent as `(redacted)`, in addition to password, secret,
            token, api_key, cookie, …; `*` redacts all annotations
        propagate_to: hosts to which HTTP requests carry `traceparent` and baggage: patterns such as
            `*.shop.internal`, or `none`
        key_salt: key of the keyed hashes. Default: a random key for each process, so hashes of two processes
            cannot be compared

    Raises:
        SettingsError: a given value cannot be used. What was in force stays; with nothing, nothing is measured.
    """
    return runtime.configure({name: value for name, value in locals().items() if value is not None})
