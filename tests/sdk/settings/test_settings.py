"""Settings: code before environment before default, and a clear sentence for what cannot be used."""

from __future__ import annotations

import logging
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import walltime
from walltime.settings.settings import Settings

from tests.sdk.settings.set_by import SET_BY


@pytest.mark.parametrize(("variable", "text", "name", "value"), SET_BY)
def test_each_variable_sets_its_setting(variable: str, text: str, name: str, value: object) -> None:
    assert getattr(Settings.from_env({variable: f" {text} "}), name) == value
    assert getattr(Settings.from_env({variable: ""}), name) == getattr(Settings(), name)


def test_each_variable_is_in_this_list() -> None:
    assert {variable for variable, *_ in SET_BY} == {
        variable for each in fields(Settings) for variable in each.metadata["variables"]
    }


def test_each_setting_has_a_test_of_what_it_does() -> None:
    """In tests/sdk, marked `@pytest.mark.setting("<name>")`, whichever part of the tests is run."""
    texts = [path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py")]
    marked = {name for text in texts for name in re.findall(r'pytest\.mark\.setting\("(\w+)"\)', text)}
    assert marked == {each.name for each in fields(Settings)}


def test_what_is_for_traces_alone_goes_before_what_is_for_all_signals() -> None:
    both = {"OTEL_EXPORTER_OTLP_HEADERS": "a=all", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=traces"}
    assert Settings.from_env(both).headers == {"a": "traces"}
    both = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://all", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces/x"}
    assert Settings.from_env(both).endpoint == "http://traces/x"


def test_what_code_says_goes_before_the_environment() -> None:
    assert Settings.from_env({"OTEL_SERVICE_NAME": "env"}, service_name="code").service_name == "code"
    assert Settings.from_env({"OTEL_TRACES_SAMPLER_ARG": "lots"}, sample_probability=0.5).sample_probability == 0.5


def test_a_samplers_argument_is_its_share() -> None:
    environ = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}
    assert Settings.from_env(environ).sample_probability == 0.25
    assert Settings.from_env({**environ, "OTEL_TRACES_SAMPLER": "always_on"}).sample_probability == 1.0


@pytest.mark.parametrize(
    ("environ", "given", "says"),
    [
        ({"OTEL_TRACES_SAMPLER_ARG": "lots"}, {}, "OTEL_TRACES_SAMPLER_ARG='lots': say a number"),
        ({"WALLTIME_ERRORS_PER_MINUTE": "1.5"}, {}, "say a whole number"),
        ({"WALLTIME_SUMMARY": "maybe"}, {}, "say true or false"),
        ({"WALLTIME_SQL_COMMENT": "maybe"}, {}, "say full, static or off"),
        ({"OTEL_EXPORTER_OTLP_HEADERS": "nonsense"}, {}, "name=value"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "brotli"}, {}, "gzip or none"),
        ({}, {"endpoint": "collector:4318"}, "http://host:4318"),
        ({}, {"endpoint": "http://c:99999"}, "http://host:4318"),
        ({}, {"sample_probability": 2}, "between 0 and 1"),
        ({}, {"sample_probability": "0.5"}, "is not a number"),
        ({}, {"max_queue": -1}, "negative"),
        ({}, {"max_queue": True}, "whole number"),
        ({}, {"timeout_s": float("nan")}, "no number at all"),
        ({}, {"enabled": "no"}, "is not a bool"),
        ({}, {"sample_rate": 0.1}, "unknown setting 'sample_rate'"),
    ],
)
def test_a_value_that_cannot_be_used_is_a_clear_sentence(
    environ: dict[str, str], given: dict[str, object], says: str
) -> None:
    with pytest.raises(walltime.SettingsError, match=says):
        Settings.from_env(environ, **given)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
    ],
)
def test_what_opentelemetry_has_and_we_have_not_is_a_warning(
    variable: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert Settings.from_env({variable: text}) == Settings()
    assert f"{variable}={text} is not supported" in caplog.text


def test_what_is_secret_is_in_no_message_and_no_repr() -> None:
    with pytest.raises(walltime.SettingsError) as raised:
        Settings.from_env({"OTEL_EXPORTER_OTLP_HEADERS": "s3cret"})
    assert "s3cret" not in str(raised.value)
    with pytest.raises(walltime.SettingsError) as raised:
        Settings(headers="s3cret")  # type: ignore[arg-type]  # what a mistake would be
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(Settings(headers={"authorization": "s3cret"}, key_salt="s3cret"))


def test_a_broken_environment_does_not_stop_an_application_that_configures_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "lots")
    with caplog.at_level(logging.WARNING), walltime.transaction("job"):
        pass
    assert "OTEL_TRACES_SAMPLER_ARG" in caplog.text


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("exporters", "otlp", ("otlp",)),
        ("exporters", " OTLP , console", ("otlp", "console")),
        ("exporters", ["console"], ("console",)),
        ("exporters", "none", ()),
        ("exporters", "", ()),
        ("exporters", (), ()),
        ("sql_comment_keys", "traceparent, file", ("traceparent", "file")),
        ("sql_comment_keys", ["service"], ("service",)),
        ("sql_comment_keys", (each for each in ("file", "line")), ("file", "line")),
        ("denied_annotations", "plate", ("plate",)),
        ("denied_annotations", {"plate"}, ("plate",)),
        ("headers", "a=1,b=x%20y", {"a": "1", "b": "x y"}),
        ("certificate", Path("/ca.pem"), "/ca.pem"),
    ],
)
def test_several_values_are_a_list_or_the_text_of_the_variable(name: str, given: Any, value: object) -> None:
    assert getattr(walltime.configure(**{name: given}), name) == value


@pytest.mark.parametrize(
    "given",
    [
        {"exporters": "zipkin"},
        {"exporters": ("otlp", "zipkin")},
        {"exporters": ("otlp", "none")},
        {"exporters": (1,)},
        {"exporters": 1},
        {"exporters": b"otlp"},
        {"exporters": {"otlp": True}},
        {"denied_annotations": (None,)},
        {"headers": {"a": "1\r\nx: y"}},
        {"headers": {"a b": "1"}},
        {"headers": {"a": 1}},
        {"timeout_s": 0},
        {"timeout_s": 1e300},
        {"max_queue": 10**400},
        {"endpoint": "http://a..b"},
        {"service_name": "\udcff"},
    ],
    ids=repr,
)
def test_what_cannot_be_used_in_code_is_an_error_that_names_the_setting(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(walltime.SettingsError, match=f"^{name}: "):
        walltime.configure(**given)
