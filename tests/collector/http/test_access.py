"""Authentication: every route of every port requires its token, and no token is ever shown."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from click.testing import CliRunner
from pydantic import SecretStr
from starlette.routing import Route
from walltime_collector.cli import app
from walltime_collector.config.settings import Settings, address, is_loopback
from walltime_collector.errors import SettingsRefused
from walltime_collector.health.counters import Health
from walltime_collector.http.authentication import Access, Credential
from walltime_collector.spool.spool import Spool
from walltime_collector.web.application import make_app
from walltime_collector.web.dead_letters import dead_letter_routes

from tests.collector.clickhouse.spans import request, span
from tests.servers import PROTOBUF, Collector, Program, eventually, over_http

INGEST, READ, ADMIN = "ingest-9f1c0de5aa77", "read-2b7e151628aed2", "admin-a6abf7158809cf"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Anywhere(Program):
    """Open to other machines on every port, which only tokens allow."""

    options = ("--grpc", "0.0.0.0:0", "--http", "0.0.0.0:0", "--web", "0.0.0.0:0", "--clickhouse-http", "0.0.0.0:0")


@dataclass
class Guarded:
    collector: Collector
    clickhouse_url: str

    def ask(self, path: str, method: str = "GET", token: str = "", **headers: str) -> httpx.Response:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        fields |= {"authorization": f"Bearer {token}"} if token else {}
        return over_http(method, self.collector.web_url + path, headers=fields)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    directory = tmp_path_factory.mktemp("guarded")
    (directory / "read").write_text(f"{READ}\n")
    tokens: dict[str, str] = {"ingest_token": INGEST, "read_token_file": str(directory / "read"), "admin_token": ADMIN}
    with Anywhere(directory / "data", allowed_hosts="collector.example, other.example", **tokens) as collector:
        addresses = dict(part.split("=", 1) for part in collector.ready.removeprefix("ready ").split())
        yield Guarded(collector, f"http://{addresses['clickhouse']}")


def routes(directory: Path) -> list[tuple[str, str]]:
    """Every route of the web port with every method, those it does not take too, and paths that are none."""
    access = Access(Settings(read_token=SecretStr(READ)))
    nothing: Any = None
    spool = Spool(directory, max_bytes=1, segment_bytes=1, segment_age_s=1)
    pages = make_app(nothing, Health(), nothing, access, nothing, more=dead_letter_routes(spool, Health(), access))
    spool.close()
    paths = [re.sub(r"\{.*?\}", "e" * 32, cast(Route, route).path) for route in pages.routes]
    assert {"/api/top", "/api/sql", "/metrics", "/healthz", "/login"} <= set(paths)
    odd = ["/", "/nothing", "//healthz", "/healthz/", "/healthz/../api/top", "/%68ealthz/api", "/api/top;/healthz"]
    return [(path, method) for path in [*paths, *odd] for method in METHODS]


def test_without_a_token_every_route_answers_401_to_every_method(guarded: Guarded, tmp_path: Path) -> None:
    walked = 0
    with httpx.Client(base_url=guarded.collector.web_url, timeout=30) as client:
        for path, method in routes(tmp_path):
            for headers in ({}, {"authorization": f"Bearer {INGEST}"}, {"authorization": f"Basic {READ}"}):
                answer = client.request(method, path, headers=headers)
                if path not in ("/healthz", "/readyz", "/login"):
                    assert answer.status_code == 401, (method, path)
                    assert answer.headers["www-authenticate"] == "Bearer"
                walked += 1
    assert walked > 300


def test_without_a_token_health_is_only_whether_data_moves(guarded: Guarded) -> None:
    assert guarded.ask("/healthz").json() == {"ok": True}
    assert guarded.ask("/readyz").json() == {"ready": True, "troubles": []}
    reader, admin = guarded.ask("/healthz", token=READ).json(), guarded.ask("/healthz", token=ADMIN).json()
    assert set(reader) == set(admin) > {"spans", "counts", "error"}


def test_the_read_token_permits_reading_and_only_the_admin_token_changes(guarded: Guarded) -> None:
    assert guarded.ask("/api/top", token=READ).status_code == 200
    assert guarded.ask("/api/top", token=ADMIN).status_code == 200
    assert "walltime_received_spans_total" in guarded.ask("/metrics", token=READ).text
    url = f"{guarded.collector.web_url}/api/deadletters/drop"
    for token, status in ((READ, 403), (INGEST, 401), (ADMIN, 200)):
        headers = {"authorization": f"Bearer {token}"}
        assert over_http("POST", url, json={"all": True}, headers=headers).status_code == status
    assert guarded.ask("/api/top", token=READ[:-1]).status_code == 401
    assert guarded.ask("/api/top", token=READ + "x").status_code == 401
    assert guarded.ask("/api/top", authorization=f"bearer  {READ}").status_code == 200


def test_spans_need_the_ingest_token(guarded: Guarded) -> None:
    body = request(span({"walltime.schema": 1})).SerializeToString()
    send = guarded.collector.send
    assert send(body).status_code == 401
    assert send(body, authorization=f"Bearer {READ}").status_code == 401
    assert send(body, authorization=f"Bearer {INGEST}").status_code == 200
    for path in ("/v1/metrics", "/v1/logs", "/nothing", "/v1//traces"):
        other = guarded.collector.otlp_url.replace("/v1/traces", path)
        assert over_http("POST", other, content=body, headers=PROTOBUF).status_code in (401, 404)
    eventually(lambda: guarded.ask("/healthz", token=READ).json()["spans"]["stored"] == 1)


def test_the_commands_send_the_token_of_the_environment_or_of_a_file(guarded: Guarded, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{READ}\n")
    asks: list[tuple[list[str], dict[str, str], int]] = [
        ([], {}, 1),
        ([], {"WALLTIME_TOKEN": INGEST}, 1),
        ([], {"WALLTIME_TOKEN": READ}, 0),
        (["--token-file", str(path)], {"WALLTIME_TOKEN": INGEST}, 0),
        ([], {"WALLTIME_TOKEN_FILE": str(path)}, 0),
    ]
    for options, variables, code in asks:
        arguments = [*options, "top", "--json", "--url", guarded.collector.web_url]
        done = CliRunner().invoke(
            app, arguments, env={"WALLTIME_TOKEN": None, "WALLTIME_TOKEN_FILE": None, **variables}
        )
        assert done.exit_code == code
        assert ("wants a token; give WALLTIME_TOKEN or --token-file" in str(done.exception)) == bool(code)
        assert READ not in str(done.exception)


def test_the_read_token_is_the_password_of_the_clickhouse_interface(guarded: Guarded) -> None:
    for key, status in (("", 401), (INGEST, 401), (READ, 200), (ADMIN, 200)):
        answer = over_http("POST", guarded.clickhouse_url, content="SELECT 1", headers={"X-ClickHouse-Key": key})
        assert answer.status_code == status


def test_the_form_sets_a_cookie_that_permits_reading_only(guarded: Guarded) -> None:
    with httpx.Client(base_url=guarded.collector.web_url, timeout=30) as browser:
        page = browser.get("/api/top?since=1h", headers={"accept": "text/html"})
        assert page.status_code == 401
        assert 'name="next" value="/api/top?since=1h"' in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert browser.post("/login", data={"token": INGEST, "next": "/"}).status_code == 401
        signed = browser.post("/login", data={"token": READ, "next": "/api/top?since=1h"})
        assert (signed.status_code, signed.headers["location"]) == (303, "/api/top?since=1h")
        cookie = signed.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert READ not in cookie
        assert browser.get("/api/top").status_code == 200
        assert browser.post("/api/deadletters/drop", json={"all": True}).status_code == 403
        value = browser.cookies["walltime"]
        browser.cookies.clear()
        for forged in (value[:-1], "9" + value, value.replace(".", "x"), f"99999999999.{value.partition('.')[2]}"):
            assert browser.get("/api/top", headers={"cookie": f"walltime={forged}"}).status_code == 401
        assert browser.get("/api/top", headers={"cookie": f"walltime={value}"}).status_code == 200


@pytest.mark.parametrize(
    "beyond", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/a\r\nb"]
)
def test_sign_in_redirects_only_to_this_server(guarded: Guarded, beyond: str) -> None:
    answer = over_http("POST", f"{guarded.collector.web_url}/login", data={"token": READ, "next": beyond})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_other_host_names_are_refused_with_a_token_too(guarded: Guarded) -> None:
    for path in ("/api/top", "/healthz", "/login"):
        assert guarded.ask(path, token=READ, host="evil.example").status_code == 421
    for ours in ("10.1.2.3:8464", "collector.example", "OTHER.example:8464"):
        assert guarded.ask("/api/top", token=READ, host=ours).status_code == 200


def test_only_the_admin_gets_paths_and_messages_of_the_database(guarded: Guarded) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {READ}"}
    url = f"{guarded.collector.web_url}/api/sql"
    for sql in ("SELECT nothing FROM spans", "SELECT throwIf(1)", "SELECT", "SELECT 1 FROM nowhere", "SELECT '"):
        answer = over_http("POST", url, json={"sql": sql}, headers=headers)
        assert answer.status_code in (400, 403)
        for secret in ("Traceback", "/tmp/", "version 2", str(guarded.collector.directory)):  # noqa: S108
            assert secret not in answer.text


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_token_is_in_the_log_the_responses_the_environment_or_the_command_line(guarded: Guarded) -> None:
    texts = []
    for token in (INGEST, READ, ADMIN, "wrong"):
        for path in ("/healthz", "/metrics", "/api/top", "/api/top?since=x", "/nothing", f"/api/top?token={token}"):
            texts.append(guarded.ask(path, token=token).text)
        over_http("POST", guarded.clickhouse_url, content="SELECT x", headers={"X-ClickHouse-Key": token})
    texts.append(guarded.collector.log())
    pid = guarded.collector.process.pid
    tree = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    processes = [str(pid), *tree.stdout.split()]
    for each in processes:
        texts.append(Path(f"/proc/{each}/environ").read_text(errors="replace"))
        texts.append(Path(f"/proc/{each}/cmdline").read_text(errors="replace"))
    for text in texts:
        for token in (INGEST, READ, ADMIN):
            assert token not in text.replace(f"'token={token}'", "")


def test_short_or_unsendable_tokens_are_refused_without_repeating_them() -> None:
    for token in ("short", "with a space in the middle", "zeilen\numbruch-und-mehr", "ümläute-sind-keine-kopfzeile"):
        with pytest.raises(SettingsRefused, match="WALLTIME_READ_TOKEN: not a token") as refused:
            Access(Settings(read_token=SecretStr(token)))
        assert token not in str(refused.value)


def test_a_credential_without_tokens_accepts_all_and_one_with_tokens_no_other() -> None:
    assert Credential("", "").accepts(b"anything")
    credential = Credential("", "one", "two")
    assert [credential.accepts(token) for token in (b"one", b"two", b"", b"on", "öne".encode())] == [True, True] + [
        False
    ] * 3
    assert "one" not in repr(credential) + str(vars(Access(Settings())))


def test_by_default_every_port_is_loopback_only() -> None:
    settings = Settings()
    for each in (settings.grpc, settings.http, settings.web):
        assert is_loopback(each.rpartition(":")[0])
    assert settings.clickhouse_http == ""
    for elsewhere in ("0.0.0.0:1", "[::]:1", "192.0.2.1:1", "collector.example:1"):
        with pytest.raises(SettingsRefused, match=r"set WALLTIME_READ_TOKEN, use 127\.0\.0\.1, or say --insecure"):
            address(elsewhere, "web", is_guarded=False, guard="WALLTIME_READ_TOKEN")
        assert address(elsewhere, "web", is_guarded=True, guard="")[1] == 1
