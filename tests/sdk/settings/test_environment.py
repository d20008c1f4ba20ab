"""A variable that cannot be used costs no other, switches nothing on and shows nothing more; the host never notices."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import walltime
from hypothesis import given
from hypothesis import strategies as st
from walltime.settings import valid
from walltime.settings.fields import read
from walltime.settings.settings import Settings
from walltime_collector.config.settings import Settings as CollectorSettings

from tests.by_day import by_day
from tests.sdk.settings.set_by import SET_BY
from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[3]
FIELDS = {each.name: each for each in fields(Settings)}
SETTING = {variable: each.name for each in fields(Settings) for variable in each.metadata["variables"]}
GOOD = {variable: text for variable, text, *_ in SET_BY if variable != "OTEL_TRACES_EXPORTER"}
GOOD |= {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
GOOD |= {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/traces"}
HOSTILE = (
    "abc", "maybe", "-1", "1.5", "0", "nan", "inf", "1e300", "9" * 400, "1,2", ";", "=", ",", "a=b\r\nx: y",
    "a=1%0d%0ax:1", "a b=1", "http://", "http://a..b:1", "http://127.0.0.1:1/ü", "https://me:s3cret@c:99999/",
    "collector:4318", "none,otlp", "zipkin", "[::1", "x" * 100_000, "a\udcffb", "\udc80", "%", "${X}", "'true'",
    "falsch", "/no/such/file",
)  # fmt: skip
SAFER: dict[str, object] = {
    "enabled": False,
    "summary": False,
    "metrics": False,
    "server_timing": False,
    "raw_keys": False,
    "raw_session_ids": False,
    "hash_user_ids": True,
    "sql_comment": "off",
    "context_threads": False,
    "python_gc": False,
    "disabled_components": valid.COMPONENTS,
    "cpu_wait": False,
    "loop_times": False,
}


def usable(environ: dict[str, str]) -> tuple[Settings, set[str]]:
    values, unusable = read(Settings, environ, {})
    return Settings(**values), {each.variable for each in unusable}


WARNED = "walltime: OTEL_BSP_MAX_QUEUE_SIZE='abc': say a whole number. Instead, max_queue is 2048"


def job() -> None:
    with walltime.transaction("job") as transaction:
        transaction.set_user("alice")


def test_one_bad_variable_does_not_switch_on_what_is_off(
    sink: Sink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As found: the application was measured although it was switched off, with users in clear."""
    environ = {
        "OTEL_SDK_DISABLED": "true",
        "WALLTIME_HASH_USER_IDS": "true",
        "OTEL_BSP_MAX_QUEUE_SIZE": "abc",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint,
    }
    program = "import walltime\nfrom walltime.instrumentation.libraries import _chosen\n"
    program += "with walltime.transaction('job'): pass\nprint(bool(_chosen))"
    run_by = [sys.executable, "-m", "walltime", "-c", program]
    done = subprocess.run(run_by, env={**os.environ, **environ}, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("False\n", WARNED + "\n")
    for variable, text in environ.items():
        monkeypatch.setenv(variable, text)
    job()
    walltime.configure(service_name="shop")
    job()
    assert walltime.flush(5)
    assert sink.transactions() == []
    monkeypatch.delenv("OTEL_SDK_DISABLED")
    walltime.configure()
    job()
    assert sink.transaction().attributes["user.id"].startswith("#")
    assert caplog.messages == [WARNED]


def run(program: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    bytes_ = {key: os.fsencode(value) for key, value in environ.items()}
    whole = {**{key: os.fsencode(value) for key, value in os.environ.items()}, **bytes_}
    return subprocess.run(
        [sys.executable, "-c", program], env=whole, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )


@pytest.mark.parametrize("variable", sorted(SETTING))
def test_a_bad_variable_costs_no_other(variable: str) -> None:
    rest = {each: text for each, text in GOOD.items() if each != variable}
    expected, none = usable(rest)
    assert not none
    mine = {each.name for each in fields(Settings) if variable in each.metadata["variables"]}
    for text in HOSTILE:
        got, unusable = usable({**rest, variable: text})
        assert unusable <= {variable}
        for name in FIELDS.keys() - mine:
            assert getattr(got, name) == getattr(expected, name), (text, name)
        if unusable:
            for name in mine & FIELDS.keys():
                allowed = [getattr(expected, name)]
                if "safe" in FIELDS[name].metadata:
                    allowed = [FIELDS[name].metadata["safe"]]
                if variable == "OTEL_TRACES_EXPORTER":
                    allowed.append(("otlp",))  # an exporter that OpenTelemetry has and Walltime has not
                assert getattr(got, name) in allowed, (text, name)


@pytest.mark.parametrize(("name", "safer"), SAFER.items())
def test_what_is_switched_or_shown_is_safe_when_it_cannot_be_read(name: str, safer: object) -> None:
    (variable,) = FIELDS[name].metadata["variables"]
    for text in ("maybe", "tru", "-", "\udcff", "1.0", "enabled"):
        got, unusable = usable({variable: text})
        assert unusable == {variable}
        assert getattr(got, name) == safer


@given(
    st.dictionaries(
        st.sampled_from(sorted(SETTING)),
        st.one_of(st.sampled_from(HOSTILE), st.sampled_from(sorted(GOOD.values())), st.text(max_size=30)),
    )
)
def test_any_environment_gives_what_its_usable_variables_give(environ: dict[str, str]) -> None:
    environ = {name: text.replace("\0", "") for name, text in environ.items()}
    got, unusable = usable(environ)
    alone, none = usable({name: text for name, text in environ.items() if name not in unusable})
    spoiled = {
        each.name for each in fields(Settings) if "safe" in each.metadata and unusable & {*each.metadata["variables"]}
    }
    assert {SETTING[variable] for variable in none} <= spoiled  # the second variable of one that has a safe value
    for name in FIELDS.keys() - spoiled:
        assert getattr(got, name) == getattr(alone, name), name
    assert Settings(**{name: getattr(got, name) for name in FIELDS}) == got, "it can be given in code as well"


@pytest.mark.parametrize("text", HOSTILE)
def test_configure_takes_any_environment_with_one_warning_for_each_variable(
    text: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WALLTIME_TESTING_RAISE", "1")
    for variable in SETTING:
        monkeypatch.setenv(variable, text)
    _, unusable = usable(dict(os.environ))
    with caplog.at_level(logging.WARNING):
        settings = walltime.configure()
        walltime.instrument("pymysql")
        with walltime.transaction("job") as transaction:
            transaction.annotate("note", "n")
    logged = [record.getMessage() for record in caplog.records if "Instead, " in record.getMessage()]
    for variable in unusable:
        assert len([line for line in logged if re.match(rf"walltime: {variable}[ =]", line)]) == 1, variable
    for line in logged:
        assert "s3cret" not in line
        assert len(line) < 400
    assert settings.enabled is False or "OTEL_SDK_DISABLED" not in unusable


def test_secrets_are_in_no_warning(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("WALLTIME_FORCE_SECRET", "s3cret")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization: s3cret")
    monkeypatch.setenv("WALLTIME_KEY_SALT", "s3cret\udcff")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "htp://me:s3cret@collector/?key=s3cret")
    walltime.configure()
    assert "WALLTIME_FORCE_SECRET" in caplog.text
    assert "OTEL_EXPORTER_OTLP_HEADERS" in caplog.text
    assert "WALLTIME_KEY_SALT" in caplog.text
    assert "OTEL_EXPORTER_OTLP_ENDPOINT='htp://collector/'" in caplog.text
    assert "s3cret" not in caplog.text


def test_an_address_that_cannot_be_used_sends_nothing_elsewhere(
    sink: Sink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not to the default, nor to the address of all signals: headers with tokens would go along."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.endpoint.removesuffix("/v1/traces"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector.example:4318")
    with walltime.transaction("job"):
        pass
    assert walltime.flush(5)
    assert "nothing is sent until it is corrected" in caplog.text
    assert walltime.counters()["lost_unreachable"] == 1
    assert sink.transactions() == []


def test_files_of_tls_that_cannot_be_used_are_no_exception_and_trust_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/no/such/ca.pem")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/no/such/key.pem")
    monkeypatch.setenv("WALLTIME_HASH_USER_IDS", "true")
    assert walltime.configure().hash_user_ids
    assert "OTEL_EXPORTER_OTLP_CERTIFICATE '/no/such/ca.pem' cannot be used" in caplog.text
    assert "no collector is trusted" in caplog.text
    assert "OTEL_EXPORTER_OTLP_CLIENT_KEY '/no/such/key.pem' has no client_certificate" in caplog.text
    with pytest.raises(walltime.SettingsError, match=r"certificate '/no/such/other\.pem' cannot be used"):
        walltime.configure(certificate="/no/such/other.pem")
    assert walltime.configure(endpoint="http://127.0.0.1:1").hash_user_ids


def test_code_that_is_wrong_is_told_and_nothing_is_measured_until_it_is_right(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment alone would measure, with users in clear, what the code meant to hash or switch off."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", sink.endpoint)
    for wrong in ({"max_queue": "abc"}, {"sample_rate": 1.0}, {"endpoint": "nonsense"}):
        with pytest.raises(walltime.SettingsError):
            walltime.configure(hash_user_ids=True, **wrong)
        with walltime.transaction("job") as transaction:
            transaction.set_user("alice")
    assert sink.transactions() == []
    walltime.configure(hash_user_ids=True)
    with walltime.transaction("job") as transaction:
        transaction.set_user("alice")
    with pytest.raises(walltime.SettingsError):
        walltime.configure(hash_user_ids=False, max_queue="abc")  # type: ignore[arg-type]
    with walltime.transaction("job") as transaction:
        transaction.set_user("alice")
    assert [each.attributes["user.id"][0] for each in sink.wait_for(2)] == ["#", "#"]


@pytest.mark.parametrize(
    "environ",
    by_day(
        [
            {"OTEL_PROPAGATORS": "nonsense"},
            {"OTEL_PROPAGATORS": "tracecontext,b4"},
            {"OTEL_RESOURCE_ATTRIBUTES": "nonsense,service.name=a\udcffb,x=%zz"},
            {"OTEL_SERVICE_NAME": "a\udcffb"},
            {
                "OTEL_EXPORTER_OTLP_TIMEOUT": "1e300",
                "OTEL_BSP_SCHEDULE_DELAY": "1e300",
                "WALLTIME_EXIT_TIMEOUT": "1e300",
            },
            {"OTEL_BSP_SCHEDULE_DELAY": "0"},
            {"OTEL_EXPORTER_OTLP_HEADERS": "a=1%0d%0ax:1"},
            {"OTEL_ATTRIBUTE_COUNT_LIMIT": "abc"},
            {"WALLTIME_KEY_SALT": "\udcff"},
            {"WALLTIME_JSON_LINES": "/no/such/\udcff"},
        ],
        2,
    ),
    ids=repr,
)
def test_an_application_runs_and_is_billed_in_a_hostile_environment(environ: dict[str, str], sink: Sink) -> None:
    program = """
import json, walltime
walltime.instrument()
with walltime.transaction("job") as transaction: transaction.annotate("password", "x")
walltime.flush(10)
print(json.dumps(walltime.counters()))
"""
    done = run(program, {**environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint})
    assert done.returncode == 0, done.stderr
    counters: dict[str, Any] = json.loads(done.stdout)
    assert counters["sent"] == 1
    assert not [name for name in counters if name.startswith("failed_")], counters
    assert sink.transaction().span.name == "job"
    for variable in environ.keys() - {"OTEL_ATTRIBUTE_COUNT_LIMIT"}:
        if variable not in ("OTEL_RESOURCE_ATTRIBUTES", "WALLTIME_JSON_LINES") and environ[variable] != "0":
            assert f"walltime: {variable}" in done.stderr


def test_without_a_readable_list_all_annotations_are_redacted(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLTIME_DENIED_ANNOTATIONS", "plate,\udcff")
    walltime.configure(endpoint=sink.endpoint)
    with walltime.transaction("job") as transaction:
        transaction.annotate("plate", "B-XY 1234")
        transaction.annotate("note", 3)
    told = sink.transaction().attributes
    assert (told["plate"], told["note"]) == ("(redacted)", "(redacted)")


def test_an_unknown_variable_is_warned_of_with_what_may_be_meant(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for variable, meant in (
        ("WALLTIME_HASH_USERS_IDS", "is WALLTIME_HASH_USER_IDS meant?"),
        ("WALLTIME_RAW_KEY", "is WALLTIME_RAW_KEYS meant?"),
        ("walltime_summary", "is WALLTIME_SUMMARY meant?"),
        ("WALLTIME_SERVICE_NAME", "is OTEL_SERVICE_NAME meant?"),
        ("WALLTIME_ENDPOINT", "is OTEL_EXPORTER_OTLP_TRACES_ENDPOINT meant?"),
        ("WALLTIME_ZEBRA", "docs/settings.md lists all settings"),
    ):
        monkeypatch.setenv(variable, "s3cret")
        walltime.configure()
        assert f"walltime: {variable} is no variable of Walltime and does nothing; {meant}" in caplog.text
    assert "s3cret" not in caplog.text


def test_variables_of_others_are_not_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in CollectorSettings.model_fields:
        monkeypatch.setenv(f"WALLTIME_{name.upper()}", "x")
    for name in ("URL", "TOKEN", "TOKEN_FILE", "CONFIG", "CLIENT_CERTIFICATE"):  # of the command line
        monkeypatch.setenv(f"WALLTIME_{name}", "x")
    for service in ("WALLTIME", "WALLTIME_COLLECTOR"):  # as Kubernetes does for services of these names
        monkeypatch.setenv(f"{service}_SERVICE_HOST", "10.0.0.1")
        for name in ("SERVICE_PORT", "SERVICE_PORT_OTLP_GRPC", "PORT", "PORT_4317_TCP", "PORT_4317_TCP_ADDR"):
            monkeypatch.setenv(f"{service}_{name}", "x")
    walltime.configure()
    assert "is no variable of Walltime" not in caplog.text
    monkeypatch.setenv("WALLTIME_HTTP_PORT", "4318")
    walltime.configure()
    assert "WALLTIME_HTTP_PORT is no variable of Walltime" in caplog.text
