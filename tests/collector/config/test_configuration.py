"""The sources of the settings and their precedence, messages for invalid ones, and masked secrets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import tomli
import walltime_collector
from click.testing import CliRunner
from pydantic import SecretStr
from walltime.settings.neighbours import NEIGHBOURS as SDKS_NEIGHBOURS
from walltime.settings.settings import Settings as SdkSettings
from walltime_collector.cli import app
from walltime_collector.config.file import configure, misspelled, shown
from walltime_collector.config.neighbours import NEIGHBOURS as COLLECTORS_NEIGHBOURS
from walltime_collector.config.settings import Settings
from walltime_collector.errors import SettingsRefused

OF_THE_SDK = {
    variable
    for each in fields(SdkSettings)
    for variable in each.metadata["variables"]
    if variable.startswith("WALLTIME_")
}
OF_THE_COMMAND_LINE = {f"WALLTIME_{name}" for name in ("URL", "TOKEN", "TOKEN_FILE", "CONFIG", "CLIENT_CERTIFICATE")}
SECRET = "s3cret-which-nobody-may-see"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("WALLTIME_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_the_command_line_wins_over_the_environment_the_file_and_the_default_in_this_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "w.toml", 'web = "127.0.0.1:1"\nhttp = "127.0.0.1:1"\ndrain_s = 1\nslow_log = ["a", "b"]')
    monkeypatch.setenv("WALLTIME_WEB", "127.0.0.1:2")
    monkeypatch.setenv("WALLTIME_HTTP", "127.0.0.1:2")
    configuration = configure({"web": "127.0.0.1:3"}, path)
    settings = configuration.settings
    assert (settings.web, settings.http, settings.drain_s) == ("127.0.0.1:3", "127.0.0.1:2", 1.0)
    assert settings.slow_log == ("a", "b")
    assert settings.database == "walltime"
    assert configuration.sources == {
        "web": "--web",
        "http": "WALLTIME_HTTP",
        "drain_s": str(path),
        "slow_log": str(path),
    }


def test_the_file_is_the_named_one_or_the_first_of_the_default_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert configure({}, None).settings.database == "walltime"
    written(tmp_path / "home" / ".config" / "walltime" / "walltime.toml", 'database = "home"')
    assert configure({}, None).settings.database == "home"
    written(tmp_path / "walltime.toml", 'database = "here"')
    assert configure({}, None).settings.database == "here"
    monkeypatch.setenv("WALLTIME_CONFIG", str(written(tmp_path / "other.toml", 'database = "other"')))
    assert configure({}, None).settings.database == "other"
    assert configure({}, written(tmp_path / "named.toml", 'database = "named"')).settings.database == "named"
    with pytest.raises(SettingsRefused, match=r"nowhere\.toml: cannot be read: No such file"):
        configure({}, tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('htpp = "127.0.0.1:1"', "no setting 'htpp'; is 'http' meant?"),
        ("retention-spans-days = 3", "is 'retention_spans_days' meant?"),
        ("colour = 3", "no setting 'colour'; docs/settings.md lists them"),
        ("[http]\nport = 3", "http is a table"),
        ("http = ", "not TOML"),
        ("drain_s = -1", "w.toml: drain_s: Input should be greater than or equal to 0"),
        ('log_format = "xml"', "w.toml: log_format: Input should be 'auto', 'json' or 'plain'"),
    ],
)
def test_an_unknown_setting_is_one_sentence_with_a_suggestion(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        configure({}, written(tmp_path / "w.toml", text))
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_others_can_write_or_read_secrets_from_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "w.toml", f'read_token = "{SECRET}"')
    path.chmod(0o602)
    with pytest.raises(SettingsRefused, match="others can write it"):
        configure({}, path)
    path.chmod(0o644)
    with pytest.raises(SettingsRefused, match="read_token is a secret") as refused:
        configure({}, path)
    assert SECRET not in str(refused.value)
    path.chmod(0o600)
    assert configure({}, path).settings.secret("read_token") == SECRET


def test_a_misspelled_variable_is_reported_and_those_of_the_sdk_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in OF_THE_SDK | OF_THE_COMMAND_LINE:
        monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("WALLTIME_COLLECTOR_SERVICE_HOST", "10.0.0.1")  # as Kubernetes does for a service of that name
    monkeypatch.setenv("WALLTIME_COLLECTOR_PORT_4317_TCP_ADDR", "10.0.0.1")
    assert list(misspelled()) == []
    monkeypatch.setenv("WALLTIME_RETENTION_SPAN_DAYS", "1")
    assert list(misspelled()) == [("WALLTIME_RETENTION_SPAN_DAYS", "WALLTIME_RETENTION_SPANS_DAYS")]
    monkeypatch.setenv("WALLTIME_HASH_USERS_IDS", "1")
    monkeypatch.setenv("WALLTIME_ZEBRA", "1")
    monkeypatch.setenv("walltime_datta", "1")
    assert list(misspelled())[:1] + list(misspelled())[2:] == [
        ("WALLTIME_HASH_USERS_IDS", "WALLTIME_HASH_USER_IDS"),
        ("WALLTIME_ZEBRA", ""),
        ("walltime_datta", "WALLTIME_DATA"),
    ]


def test_sdk_and_collector_know_each_others_variables() -> None:
    """Neither may warn of them. A new setting goes into the other's neighbours.py."""
    mine = {f"WALLTIME_{name.upper()}" for name in Settings.model_fields}
    assert OF_THE_SDK | OF_THE_COMMAND_LINE <= COLLECTORS_NEIGHBOURS
    assert mine | OF_THE_COMMAND_LINE <= SDKS_NEIGHBOURS
    of_grafana = {f"WALLTIME_CLICKHOUSE_{name}" for name in ("HOST", "PORT", "DATABASE")}
    assert of_grafana == COLLECTORS_NEIGHBOURS - OF_THE_SDK - OF_THE_COMMAND_LINE
    assert SDKS_NEIGHBOURS - mine - OF_THE_COMMAND_LINE == of_grafana
    cli = "".join(path.read_text() for path in (Path(walltime_collector.__file__).parent / "cli").glob("*.py"))
    named = set(re.findall(r"\bWALLTIME_[A-Z_]+[A-Z]\b", cli)) - mine
    assert named == OF_THE_COMMAND_LINE


def test_printed_settings_are_toml_that_gives_the_same_settings_without_the_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLTIME_READ_TOKEN", SECRET)
    monkeypatch.setenv("WALLTIME_DATA", 'a"b\\c\x7f')
    path = written(tmp_path / "w.toml", 'slow_log = ["db=/x, y"]\nsegment_age_s = 0.5')
    printed = shown(configure({"web": "127.0.0.1:1"}, path))
    document = tomli.loads(printed)
    assert SECRET not in printed
    assert document["read_token"] == "********"
    assert "# WALLTIME_READ_TOKEN" in printed
    assert 'web = "127.0.0.1:1"  # --web\n' in printed
    assert "retention_spans_days = 7  # default\n" in printed
    assert "# tls_certificate is not set\n" in printed
    monkeypatch.delenv("WALLTIME_DATA")
    again = configure({}, written(tmp_path / "again.toml", printed)).settings
    assert again.model_copy(update={"read_token": ""}) == Settings(
        data=Path('a"b\\c\x7f'), web="127.0.0.1:1", slow_log=("db=/x, y",), segment_age_s=0.5
    ).model_copy(update={"read_token": ""})


def test_print_config_prints_and_exits(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["serve", "--print-config", "--data", str(tmp_path / "data")])
    assert answer.exit_code == 0
    assert tomli.loads(answer.stdout)["data"] == str(tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_the_file_of_a_secret_wins_and_an_unusable_one_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "token", f"{SECRET}\n")
    assert Settings(read_token=SecretStr("other"), read_token_file=path).secret("read_token") == SECRET
    with pytest.raises(SettingsRefused, match=r"WALLTIME_READ_TOKEN_FILE .*: is empty"):
        Settings(read_token_file=written(path, "\n")).secret("read_token")
    with pytest.raises(SettingsRefused, match=r"WALLTIME_READ_TOKEN_FILE .*No such file"):
        Settings(read_token_file=tmp_path / "nowhere").secret("read_token")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems show no /proc/PID/environ")
def test_a_forgotten_variable_is_neither_in_the_environment_nor_in_proc() -> None:
    program = (
        "import os; from walltime_collector.config.environment import forget;"
        "forget(['WALLTIME_READ_TOKEN', 'WALLTIME_NONE']);"
        "print(os.environ.get('WALLTIME_READ_TOKEN'), os.environ['WALLTIME_OTHER']);"
        "print(open('/proc/self/environ').read());"
        "import subprocess; print(subprocess.run(['env'], capture_output=True, text=True, check=True).stdout)"
    )
    environment = {**os.environ, "WALLTIME_READ_TOKEN": SECRET, "WALLTIME_OTHER": "stays"}
    output = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert output.startswith("None stays\n")
    assert f"WALLTIME_READ_TOKEN={'*' * len(SECRET)}" in output
    assert output.count("WALLTIME_OTHER=stays") == 2
    assert SECRET not in output
