"""An invalid setting stops the start with one sentence that names its source: option, variable, or file and key."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import tomli
import trustme
from click.testing import CliRunner
from walltime_collector.cli import app
from walltime_collector.clickhouse.opening import open_engine
from walltime_collector.clickhouse.server.client import ClientTls, address
from walltime_collector.config.file import configure
from walltime_collector.config.settings import SECRETS, Settings
from walltime_collector.config.settings import address as port
from walltime_collector.config.tls import Tls
from walltime_collector.errors import SettingsRefused
from walltime_collector.http.authentication import Access
from walltime_collector.spool.directory import make_private

NAMES = [name for name in Settings.model_fields if name != "crashpoint"]
PORTS = ("grpc", "http", "web", "clickhouse_http")
HOSTILE = (
    "abc", "maybe", "-1", "0", "1.5", "nan", "inf", "1e300", "9" * 400, "", " ", ",", "=", "http://", "http://a..b:1",
    "http://me:s3cret@host:99999", "0.0.0.0:1", "[::1", "localhost:65536", "localhost:²", "/no/such/file", "/dev/null",
    "../..", "x" * 5000, "%", "${X}", "tru", "a b", "ümläut", "a\nb",
)  # fmt: skip
IN_A_FILE = (
    "true", "1", "-1", "1.5", "nan", "inf", "-inf", "1e300", "9" * 30, "9" * 6000, "[]", "[1]", '["a", 1]', "{}",
    "{a = 1}", "''", r'"a\u0000b"', '"abc"', '"\\n"', "1979-05-27", "[[[]]]", "[" * 3000 + "]" * 3000,
    "0x", "'/no/such/file'",
)  # fmt: skip


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.upper().startswith("WALLTIME_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def judge(settings: Settings) -> None:
    """What `serve` looks at before it opens a port or a file of its own."""
    Access(settings)
    Tls(settings)
    for name in PORTS:
        if getattr(settings, name):
            port(getattr(settings, name), name, is_guarded=False, guard="a token", where=settings.where(name))
    if settings.clickhouse:
        address(settings.clickhouse, settings.where("clickhouse"))
        settings.secret("clickhouse_password")
        ClientTls(settings.clickhouse_ca, True, settings.clickhouse_certificate, settings.clickhouse_key)
    if "/dev/null/" in str(settings.data):
        make_private(settings.data, settings.where("data"))


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", NAMES)
def test_the_message_names_the_source_of_a_bad_value(
    name: str, every: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By day with every sixth text, not the same for settings that follow each other."""
    first = NAMES.index(name) % every
    variable = f"WALLTIME_{name.upper()}"
    beside = {"tls_key": "tls_certificate", "ingest_client_ca": "tls_certificate", "read_client_ca": "tls_certificate"}
    if name in beside:
        ca = trustme.CA()
        ca.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "own.pem"))
        monkeypatch.setenv(f"WALLTIME_{beside[name].upper()}", str(tmp_path / "own.pem"))
    for text in HOSTILE[first::every]:
        monkeypatch.setenv(variable, text)
        _judged(None, variable, text)
    monkeypatch.delenv(variable)
    for toml in IN_A_FILE[first::every]:
        path = written(tmp_path / "w.toml", f"{name} = {toml}\n")
        _judged(path, str(path), toml)


def _judged(path: Path | None, where: str, text: str) -> None:
    message = refusal(path)
    if message:
        assert message.startswith(where) or f", {where}" in message, (text, message)  # a certificate and its key
        assert "\n" not in message.replace(text, ""), message
        assert "s3cret" not in message or "cannot be read" in message  # a path is shown
        if path is not None and "not TOML" not in message:
            assert f"{path}: " in message


def refusal(path: Path | None) -> str:
    """Why the collector does not start; empty when it does."""
    try:
        judge(configure({}, path).settings)
    except SettingsRefused as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("name", SECRETS)
def test_a_bad_secret_is_not_repeated(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if name == "clickhouse_password":
        return  # any text is one
    for text in ("hush", "hush hush hush hush hush", "hush\n" * 5):
        monkeypatch.setenv(f"WALLTIME_{name.upper()}", text)
        message = refusal(None)
        assert "hush" not in message
        assert message.startswith(f"WALLTIME_{name.upper()}: not a token") or not message


def test_the_message_about_a_certificate_names_the_file_that_sets_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The message once named a variable that was not set."""
    bad = written(tmp_path / "bad.pem", "no certificate")
    good = tmp_path / "good.pem"
    trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(good))
    path = written(tmp_path / "w.toml", f'tls_certificate = "{bad}"\n')
    for arguments in (["--config", str(path)], []):
        if not arguments:
            monkeypatch.setenv("WALLTIME_CONFIG", str(path))
        answer = CliRunner().invoke(app, ["serve", *arguments, "--data", str(tmp_path / "data"), *FREE])
        assert isinstance(answer.exception, SettingsRefused)
        assert str(answer.exception).startswith(f"{path}: tls_certificate {bad}: not a usable PEM file")
        assert "WALLTIME_" not in str(answer.exception)
    monkeypatch.setenv("WALLTIME_TLS_CERTIFICATE", str(bad))
    with pytest.raises(SettingsRefused, match=f"^WALLTIME_TLS_CERTIFICATE {bad}: not a usable PEM"):
        judge(configure({}, path).settings)
    monkeypatch.delenv("WALLTIME_TLS_CERTIFICATE")
    written(path, f'tls_certificate = "{good}"\n')
    monkeypatch.setenv("WALLTIME_TLS_KEY", str(tmp_path / "none.key"))
    with pytest.raises(SettingsRefused, match=f"^WALLTIME_TLS_KEY {tmp_path / 'none.key'}: cannot be read: No such"):
        judge(configure({}, path).settings)
    monkeypatch.setenv("WALLTIME_TLS_KEY", str(bad))
    with pytest.raises(SettingsRefused, match=f"^{path}: tls_certificate {good}, WALLTIME_TLS_KEY {bad}: not a usable"):
        judge(configure({}, path).settings)


FREE = [text for name in ("grpc", "http", "web") for text in (f"--{name}", "127.0.0.1:0")]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ('tls_key = "/no/key"', "tls_key: of no use without TLS"),
        ('tls_certificate = "/no/such.pem"', "tls_certificate /no/such.pem: cannot be read: No such file"),
        ('read_token_file = "/no/such"', "read_token_file /no/such: cannot be read"),
        ('ingest_token = "short"', "ingest_token: not a token"),
        ('clickhouse = "host:8123"', "clickhouse host:8123: not an address"),
        ('clickhouse_http = "8123"', "clickhouse_http 8123: not an address"),
        ('web = "0.0.0.0:0"', "web 0.0.0.0:0: other machines could reach it"),
        ('data = "/dev/null/x"', "data /dev/null/x: cannot make this directory"),
        ("segment_age_s = 1e300", "segment_age_s: is more than 1,000,000"),
        ("max_connections = true", "max_connections: is true or false; write a number"),
    ],
)
def test_the_message_has_file_and_key(setting: str, expected: str, tmp_path: Path) -> None:
    path = written(tmp_path / "w.toml", setting + "\n")
    assert refusal(path).startswith(f"{path}: {expected}")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ('data = "a?b"', "data {}/a?b/chdb: no database can be in a path with a `?`"),
        ('clickhouse = "https://h"\nclickhouse_ca = "/no/ca"', "clickhouse_ca: cannot be used"),
        ('clickhouse = "host:8123"', "clickhouse host:8123: not an address"),
    ],
)
def test_a_file_that_the_database_cannot_use_has_file_and_key_in_its_message(
    setting: str, expected: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "w.toml", setting + "\n")
    with pytest.raises(SettingsRefused) as refused:
        open_engine(configure({}, path).settings)
    assert str(refused.value).startswith(f"{path}: {expected.format(tmp_path)}")


def test_serve_names_the_option_the_variable_or_the_file_of_an_address_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        path = written(tmp_path / "w.toml", f'grpc = "{address}"\n')
        ways: list[tuple[list[str], dict[str, str], str]] = [
            (["--grpc", address], {}, "--grpc"),
            ([], {"WALLTIME_GRPC": address}, "WALLTIME_GRPC"),
            (["--config", str(path)], {}, f"{path}: grpc"),
        ]
        for arguments, environ, where in ways:
            answer = CliRunner(env=environ).invoke(app, ["serve", *arguments])
            assert isinstance(answer.exception, SettingsRefused)
            assert str(answer.exception).startswith(f"{where} {address}: cannot listen there: Address already in use")


def test_a_start_in_a_hostile_environment_is_one_sentence_and_no_traceback(tmp_path: Path) -> None:
    for variable, text in (("WALLTIME_DRAIN_S", "abc"), ("WALLTIME_DATA", "\udcff\udcfe"), ("WALLTIME_GRPC", "a..b:1")):
        environ = {**os.environb, variable.encode(): os.fsencode(text)}
        command = [sys.executable, "-c", "from walltime_collector.cli import main; main()", "serve", "--print-config"]
        done = subprocess.run(command, env=environ, capture_output=True, timeout=60, check=False, cwd=tmp_path)
        assert b"Traceback" not in done.stderr, done.stderr
        assert variable.encode() in done.stderr or done.returncode == 0
        if done.returncode == 0:
            tomli.loads(done.stdout.decode())


def test_an_empty_path_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TLS_CERTIFICATE", "TLS_KEY", "READ_TOKEN_FILE", "DATA"):
        monkeypatch.setenv(f"WALLTIME_{name}", "")
    settings = configure({}, None).settings
    assert (settings.tls_certificate, settings.read_token_file, settings.data) == (None, None, Settings().data)
    assert settings.data != Path()


def test_a_variable_in_small_letters_works_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("walltime_drain_s", "abc")
    with pytest.raises(SettingsRefused, match=r"^walltime_drain_s: Input should be a valid number"):
        configure({}, None)
