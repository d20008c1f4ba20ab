"""Settings: code before environment before default, and a clear sentence for what cannot be used."""

from __future__ import annotations

import logging

import pytest
import walltime
from walltime.settings import _VARIABLES, Settings


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("OTEL_SDK_DISABLED", "true", "enabled", False),
        ("OTEL_SERVICE_NAME", "shop", "service_name", "shop"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/", "endpoint", "http://c:4318/v1/traces"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/own", "endpoint", "https://c/own"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,b=x%20y", "headers", {"a": "1", "b": "x y"}),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "gzip", True),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "3", "timeout_s", 3.0),
        ("OTEL_BSP_SCHEDULE_DELAY", "250", "export_delay_s", 0.25),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "100", "max_queue", 100),
        ("OTEL_TRACES_SAMPLER_ARG", "0.5", "sample_probability", 0.5),
        ("WALLTIME_MAX_PENDING_BYTES", "1000", "max_pending_bytes", 1000),
        ("WALLTIME_EXIT_TIMEOUT", "0.5", "exit_timeout_s", 0.5),
        ("WALLTIME_ERRORS_PER_MINUTE", "5", "errors_per_minute", 5),
        ("WALLTIME_SQL_COMMENT", "off", "sql_comment", False),
        ("WALLTIME_RAW_MEMCACHE_KEYS", "1", "raw_memcache_keys", True),
        ("WALLTIME_KEY_SALT", "salt", "key_salt", "salt"),
    ],
)
def test_each_variable_sets_its_setting(variable: str, text: str, name: str, value: object) -> None:
    assert getattr(Settings.from_env({variable: text}), name) == value
    assert getattr(Settings.from_env({variable: ""}), name) == getattr(Settings(), name)


def test_every_setting_has_a_variable() -> None:
    assert set(_VARIABLES) == set(Settings.__dataclass_fields__)


def test_what_code_says_goes_before_the_environment() -> None:
    assert Settings.from_env({"OTEL_SERVICE_NAME": "env"}, service_name="code").service_name == "code"


@pytest.mark.parametrize(
    ("environ", "given", "says"),
    [
        ({"OTEL_TRACES_SAMPLER_ARG": "lots"}, {}, "OTEL_TRACES_SAMPLER_ARG='lots'"),
        ({"WALLTIME_SQL_COMMENT": "maybe"}, {}, "say true or false"),
        ({"OTEL_EXPORTER_OTLP_HEADERS": "nonsense"}, {}, "name=value"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "brotli"}, {}, "gzip or none"),
        ({}, {"endpoint": "collector:4318"}, "http://host:4318"),
        ({}, {"endpoint": "http://c:99999"}, "http://host:4318"),
        ({}, {"sample_probability": 2}, "between 0 and 1"),
        ({}, {"max_queue": -1}, "negative"),
        ({}, {"sample_rate": 0.1}, "unknown setting 'sample_rate'"),
    ],
)
def test_a_value_that_cannot_be_used_is_a_clear_sentence(
    environ: dict[str, str], given: dict[str, object], says: str
) -> None:
    with pytest.raises(walltime.SettingsError, match=says):
        Settings.from_env(environ, **given)


def test_a_broken_environment_does_not_stop_an_application_that_configures_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "lots")
    with caplog.at_level(logging.WARNING), walltime.transaction("job"):
        pass
    assert "OTEL_TRACES_SAMPLER_ARG" in caplog.text
