"""`walltime.configure`, with a parameter for every setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from walltime import runtime

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from walltime.settings.settings import Settings


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
    sample_probability: float | None = None,
    random_per_minute: int | None = None,
    upstream_per_minute: int | None = None,
    forced_per_minute: int | None = None,
    errors_per_minute: int | None = None,
    slow_per_minute: int | None = None,
    sql_comment: Literal["full", "static", "off"] | bool | None = None,
    sql_comment_keys: str | Iterable[str] | None = None,
    sql_comment_position: Literal["append", "prepend"] | None = None,
    sql_text_bytes: int | None = None,
    force_secret: str | None = None,
    server_timing: bool | None = None,
    context_threads: bool | None = None,
    python_gc: bool | None = None,
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
        enabled: False leaves the application as it is; the variable says the opposite, true switches off
        service_name: name of the service; without it what `OTEL_RESOURCE_ATTRIBUTES` says, else
            `unknown_service`
        exporters: where transactions go: `otlp`, `console` (lines of JSON, see `json_lines`), both with a
            comma, or `none`
        endpoint: the collector, empty: nothing is sent; the second variable is the address that `/v1/traces` is
            put behind
        protocol: the only one there is; for another one a warning is logged
        headers: sent with every export, `name=value,…`
        gzip: compress exports; the variables say `gzip` or `none`
        timeout_s: longest wait for the answer to one export; in seconds, as OpenTelemetry for Python reads it
        certificate: file of the authorities (PEM) that a collector at https:// is trusted by; without it those
            of the system
        client_certificate: file of our own certificate (PEM), for a collector that asks for one
        client_key: file of its key (PEM), where it is not in the same file
        export_delay_s: longest wait of a finished transaction for its export; the variable is in milliseconds
        max_queue: finished transactions that may wait; beyond, they are lost and counted
        max_pending_bytes: encoded transactions kept while the collector cannot be reached; the oldest go first
        exit_timeout_s: longest delay of the process's exit for the last export, in seconds
        json_lines: file that every transaction is appended to as a line of JSON (docs/logs.md), `-` for stderr;
            `console` among the `exporters` writes to stderr without it
        summary: log the bill of each transaction in one line, to the logger `walltime.summary` at INFO
        sample_probability: share of transactions whose calls are kept, by trace id; `OTEL_TRACES_SAMPLER` says
            `always_on`, `always_off` or `traceidratio` (with or without `parentbased_`), whose argument is 0.01
            unless it is said
        random_per_minute: transactions of the fair sample whose calls are kept; a process that reaches this has
            an unfair sample, so lower the probability before it does
        upstream_per_minute: transactions whose calls are kept because the caller's `traceparent` says sampled;
            none when the sampler is one without `parentbased_`
        forced_per_minute: transactions whose calls are kept because a header with the secret or
            `walltime.current().keep()` asked for it
        errors_per_minute: failed transactions whose calls are kept
        slow_per_minute: transactions slower than 99 % of the recent ones of their name whose calls are kept
        sql_comment: what every SQL statement is tagged with: `full` the request id too, `static` only what is
            the same in every request (for a query cache), `off` nothing; True and False are full and off
        sql_comment_keys: what the comment says, the important first: `traceparent`, `route`, `service` (or
            `application`), `user`, the caller's `file`, `line`, `function`, and any other name is that of an
            annotation
        sql_comment_position: where the comment goes: `append` (before a final semicolon) or `prepend`
        sql_text_bytes: the server's `performance_schema_max_sql_text_length`: where the comment would be cut
            off, it goes in front
        force_secret: a request whose header `X-Walltime-Force` has this text, of 16 characters or more, has its
            calls kept (`forced`) and its bill in the answer's `Server-Timing`
        server_timing: every answer has its bill in the header `Server-Timing`, for everybody to see
        context_threads: work that a transaction hands to threads, thread pools and greenlets is billed to it
        python_gc: pauses of the garbage collector have a line of their own, `python.gc`
        raw_keys: send the keys of memcache and redis as they are, not as prefix and keyed hash
        raw_session_ids: send what `set_session` was given as it is, not as a keyed hash
        hash_user_ids: send what `set_user` was given as a keyed hash
        denied_annotations: words whose annotations are sent as `(redacted)`, beside ours: password, secret,
            token, api_key, cookie, …; `*` for all annotations
        propagate_to: hosts whose HTTP requests carry `traceparent` (and baggage): patterns such as
            `*.shop.internal`, or `none`
        key_salt: key of the hashes that stand for keys; without it one of the process, so hashes of two do not
            compare

    Raises:
        SettingsError: a given value cannot be used. What was in force stays; with nothing, nothing is measured.
    """
    return runtime.configure({name: value for name, value in locals().items() if value is not None})
