"""`walltime mcp` with the official client, over stdio and HTTP, in front of a real collector that has a read token."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlencode

import click
import httpx2
import pytest
from jsonschema import Draft202012Validator
from walltime_collector.cli.client import Client as HttpClient
from walltime_collector.cli.mcp.serve import serve_http
from walltime_collector.cli.mcp.tools import TOOLS
from walltime_collector.pages.shared_answers import Explanations
from walltime_collector.web.answers import answer_routes
from walltime_collector.web.incidents import incident_routes

from tests.by_day import by_day
from tests.collector.health.incidents.stored import slower, with_incidents
from tests.collector.traffic import Sent, Shop, export_request
from tests.servers import Collector, over_http

if TYPE_CHECKING:  # every test worker imports this module, and the client takes 0.6 s of CPU
    from mcp import Client
    from mcp_types import CallToolResult, Tool

WALLTIME = Path(sys.executable).with_name("walltime")
READ = "the-read-token-of-this-test-0123456789"
KIND = "GET /product/{id}"
INCIDENT = slower(KIND)
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
Ask = Callable[["Client"], Coroutine[Any, Any, Any]]


@dataclass
class Served:
    """A collector, what it has stored, and the address of `walltime mcp --http` in front of it."""

    collector: Collector
    sent: list[Sent]
    url: str

    def api(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {READ}"}
        return over_http("GET", f"{self.collector.web_url}{path}", headers=headers).json()

    def stdio(self, token: str = READ) -> AbstractAsyncContextManager[Client]:
        from mcp import Client, StdioServerParameters

        command = StdioServerParameters(
            command=str(WALLTIME), args=["mcp", "--url", self.collector.web_url], env={"WALLTIME_TOKEN": token}
        )
        return Client(command)

    @asynccontextmanager
    async def http(self, token: str = READ) -> AsyncIterator[Client]:
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        headers = {"authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers) as http_client,
            Client(streamable_http_client(self.url, http_client=http_client)) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    shop, first_ns = Shop(seed=3), time.time_ns() - 300_000_000_000
    sent = [each for at in range(100) for each in shop.visit(first_ns + at * 2_500_000_000)]
    with Collector(with_incidents(tmp_path_factory.mktemp("mcp") / "data", INCIDENT), read_token=READ) as collector:
        assert collector.send(export_request(sent)).status_code == 200
        headers = {"authorization": f"Bearer {READ}"}
        while over_http("GET", f"{collector.web_url}/healthz", headers=headers).json()["spans"]["stored"] < len(sent):
            time.sleep(0.05)
        # its own token is not for those who connect
        command: list[str | Path] = [
            WALLTIME,
            "mcp",
            "--url",
            collector.web_url,
            "--http",
            "127.0.0.1:0",
            "--token-file",
            "/dev/null",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            yield Served(collector, sent, process.stdout.readline().split()[1])
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) in (0, -signal.SIGTERM)


def ask(client: AbstractAsyncContextManager[Client], question: Ask) -> Any:
    async def asked() -> Any:
        async with client as connected:
            return await question(connected)

    return asyncio.run(asked())


def call(client: AbstractAsyncContextManager[Client], name: str, **params: Any) -> CallToolResult:
    from mcp_types import CallToolResult

    result = ask(client, lambda connected: connected.call_tool(name, params))
    assert isinstance(result, CallToolResult)
    return result


def said(result: CallToolResult) -> str:
    return "".join(getattr(each, "text", "") for each in result.content)


def calls_of(served: Served) -> dict[str, dict[str, Any]]:
    trace = next(each for each in served.sent if each.kept and len(each.calls) > 2)
    return {
        "top": {"since": "1h", "by": "p95", "limit": 3},
        "show": {"trace_id": trace.trace_id, "calls": 2},
        "why": {"kind": KIND, "slowest": "10"},
        "profile": {"kind": KIND, "state": "computing"},
        "digest": {"since": "1h"},
        "find": {"kind": KIND, "where": "duration > 1ms", "sort": "mysql.time", "limit": 2},
        "diff": {"when": "mysql.query.calls > 1", "limit": 3},
        "advise": {"since": "1h", "limit": 3},
        "incidents": {"since": "1h", "limit": 1},
        "incident": {"id": INCIDENT.id},
        "sql": {"sql": "SELECT count() AS n FROM transactions"},
    }


@pytest.mark.parametrize("transport", by_day(["stdio", "http"], 2))
def test_every_tool_has_a_description_and_a_typed_answer(served: Served, transport: str) -> None:
    async def every(client: Client) -> dict[str, tuple[Tool, CallToolResult]]:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        return {name: (tools[name], await client.call_tool(name, given)) for name, given in calls_of(served).items()}

    answers = ask(getattr(served, transport)(), every)
    assert set(answers) == {"sql", *(each.name for each in TOOLS)}
    for tool, result in answers.values():
        assert not result.is_error, said(result)
        assert tool.description
        assert all(each["description"] for each in tool.input_schema["properties"].values())
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.output_schema is not None
        Draft202012Validator(tool.output_schema).validate(result.structured_content)
    top = answers["top"][1].structured_content
    assert (top["transactions"], len(top["kinds"]), top["by"]) == (len(served.sent), 3, "p95")
    assert answers["sql"][1].structured_content["rows"] == [[len(served.sent)]]
    shown = answers["show"][1].structured_content
    api = served.api(f"/api/transactions/{shown['trace_id']}")
    assert [len(bill["calls"]) for bill in shown["transactions"]] == [
        min(2, len(bill["calls"])) for bill in api["transactions"]
    ]
    assert answers["why"][1].structured_content["name"] == KIND
    assert answers["profile"][1].structured_content["lines"]
    assert answers["digest"][1].structured_content["statements"]
    assert len(answers["find"][1].structured_content["matches"]) == 2
    assert len(answers["advise"][1].structured_content["advice"]) <= 3
    assert [each["id"] for each in answers["incidents"][1].structured_content["incidents"]] == [INCIDENT.id]
    assert answers["incident"][1].structured_content["headline"] == INCIDENT.headline


MOVING = {"since", "until", "next", "window_s", "per_minute", "per_hour_ns", "per_s", "took_ms", "computed_at", "sql"}
"""Of a window that ends now."""


def steady(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: steady(each) for name, each in answer.items() if name not in MOVING}
    return [steady(each) for each in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize("transport", by_day(["http", "stdio"], 2))
def test_every_tool_answers_as_the_api(served: Served, transport: str) -> None:
    asked = {name: dict(params) for name, params in calls_of(served).items() if name != "sql"}
    asked["show"]["calls"] = 10_000
    paths = {each.name: each.path for each in TOOLS}

    async def every(client: Client) -> dict[str, Any]:
        return {name: (await client.call_tool(name, params)).structured_content for name, params in asked.items()}

    for name, answer in ask(getattr(served, transport)(), every).items():
        params = {key: value for key, value in asked[name].items() if f"{{{key}}}" not in paths[name]}
        params.pop("calls", None)
        api = served.api(f"{paths[name].format(**asked[name])}?{urlencode(params)}")
        assert steady(answer) == steady(api), name


@pytest.mark.parametrize("transport", by_day(["http", "stdio"], 2))
def test_every_tool_refuses_wrong_arguments_with_a_sentence(served: Served, transport: str) -> None:
    wrong: dict[str, dict[str, Any]] = {name: {key: [] for key in params} for name, params in calls_of(served).items()}

    async def every(client: Client) -> list[tuple[str, CallToolResult]]:
        return [(name, await client.call_tool(name, params)) for name, params in wrong.items()]

    for name, result in ask(getattr(served, transport)(), every):
        assert result.is_error, name
        assert said(result), name
        assert "Traceback" not in said(result), name


def test_tools_take_the_parameters_of_the_api_with_their_defaults(served: Served) -> None:
    document = served.api("/api/openapi.json")

    async def listed(client: Client) -> dict[str, Tool]:
        return {each.name: each for each in (await client.list_tools()).tools}

    tools = ask(served.stdio(), listed)
    for tool in TOOLS:
        properties = tools[tool.name].input_schema["properties"]
        params = document["paths"][tool.path]["get"]["parameters"]
        assert set(properties) == {each["name"] for each in params} | set(tool.more)
        for each in params:
            assert properties[each["name"]]["description"] == each["description"]
            assert properties[each["name"]].get("default") == each["schema"].get(
                "default", None if each["required"] else ""
            )


def test_every_question_of_the_api_is_a_tool() -> None:
    engine: Any = None
    routes = (*answer_routes(engine, Explanations(engine)), *incident_routes(engine))
    assert {each.path for each in routes} | {"/api/advice"} == {each.path for each in TOOLS}


@pytest.mark.parametrize(("transport", "token"), [("stdio", ""), ("http", ""), ("http", "wrong-0123456789-0123456789")])
def test_without_the_read_token_nothing_is_answered(served: Served, transport: str, token: str) -> None:
    result = call(getattr(served, transport)(token), "top")
    assert result.is_error
    assert "token" in said(result)
    assert KIND not in said(result)


def test_the_guard_and_limits_of_the_api_hold(served: Served) -> None:
    async def refusals(client: Client) -> list[CallToolResult]:
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("sql", {"sql": "SELECT * FROM system.users"}),
            ("sql", {"sql": "DROP TABLE transactions"}),
            ("sql", {"sql": "SELECT sleep(1)"}),
            ("top", {"since": "yesterday"}),
            ("top", {"limit": 100_000}),
            ("top", {"by": "name"}),
            ("why", {"kind": "no such kind"}),
            ("show", {"trace_id": "e" * 32}),
            ("show", {"trace_id": "../status"}),
            ("incident", {"id": "../status"}),
        ]
        return [await client.call_tool(name, given) for name, given in wrong]

    results = ask(served.http(), refusals)
    assert [result.is_error for result in results] == [True] * len(results)
    assert "system.users" in said(results[0])
    assert "write 90s, 15m, 2h or 7d" in said(results[3])
    assert all("Traceback" not in said(result) for result in results)


def message(number: int, arguments: str = "{}", name: str = "sql") -> str:
    params = f'{{"name": "{name}", "arguments": {arguments}}}'
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}'


HALF = "\\ud83d"
# A line, and the code of the error of its response; 0 for a result.
ODD: list[tuple[str | bytes, int]] = [
    (message(1, f'{{"sql": "SELECT \'{HALF}\'"}}'), PARSE_ERROR),
    (message(2, f'{{"{HALF}": 1}}', "top"), PARSE_ERROR),
    (message(3, name=HALF), PARSE_ERROR),
    (message(4, f'{{"where": "{"a" * 100_000}"}}', "find"), 0),
    (message(5, f'{{"kind": "{"a" * 100_000}"}}', "why"), 0),
    (message(6, f'{{"sql": "SELECT \'{"a" * 300_000}\'"}}'), 0),
    (message(7, f'{{"limit": {"9" * 5_000}}}', "find"), PARSE_ERROR),
    (message(8, '{"limit": 1e999}', "find"), 0),
    (message(9, '{"slowest": NaN}', "why"), 0),
    (message(10, "[" * 5_000 + "]" * 5_000), PARSE_ERROR),
    (message(11, '{"a":' * 5_000 + "1" + "}" * 5_000), PARSE_ERROR),
    (message(12).encode()[:-1] + b', "x": "\xff\xfe"}', 0),
    (message(13, '{"id": "' + HALF + '"}', "incident"), PARSE_ERROR),
    (message(14)[:-1], PARSE_ERROR),
    (message(15).replace('"2.0"', '"1.0"'), INVALID_REQUEST),
    ('{"jsonrpc": "2.0", "id": 16, "method": "tools/call", "params": []}', INVALID_REQUEST),
    ('{"jsonrpc": "2.0", "id": 17, "method": "no/such"}', METHOD_NOT_FOUND),
    (message(18, name="no_such_tool"), 0),
    (message(19, '{"sql": "SELECT 1"}') + "\n" + message(20, '{"sql": "SELECT 1"}'), 0),
]
NO_ID: list[tuple[str, int]] = [
    ("hello", PARSE_ERROR),
    ("5", INVALID_REQUEST),
    ("[" + message(1) + "]", INVALID_REQUEST),
    ('{"jsonrpc": "2.0", "id": "' + HALF + '", "method": "ping"}', PARSE_ERROR),
    ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST),
    ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID_REQUEST),
    ("[" * 100_000, PARSE_ERROR),
]


@contextmanager
def over_stdio(served: Served) -> Iterator[subprocess.Popen[bytes]]:
    """`walltime mcp`, initialized."""
    command = [str(WALLTIME), "mcp", "--url", served.collector.web_url]
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"WALLTIME_TOKEN": READ}
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin}).encode())
        process.stdin.write(b'\n{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 0
        yield process


def test_every_message_over_stdio_gets_a_response(served: Served) -> None:
    """The server answers in any order; a line without a response would end this test at its time limit."""
    with over_stdio(served) as process:
        assert process.stdin
        assert process.stdout
        writer = threading.Thread(target=_write_all, args=(process.stdin, [line for line, _ in (*ODD, *NO_ID)]))
        writer.start()
        responses = [json.loads(process.stdout.readline()) for _ in range(len(ODD) + 1 + len(NO_ID))]
        writer.join()
        process.stdin.close()
        assert process.wait(30) == 0
    codes = {each["id"]: each.get("error", {}).get("code", 0) for each in responses if each["id"]}
    assert codes == {at: code for at, (_, code) in enumerate(ODD, 1)} | {20: 0}
    assert sorted(each["error"]["code"] for each in responses if each["id"] is None) == sorted(
        code for _, code in NO_ID
    )


def test_it_ends_when_nobody_reads_its_responses(served: Served) -> None:
    with over_stdio(served) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(message(1).encode() + b"\n")
        process.stdin.flush()
        assert process.wait(30) == 0
        assert b"Traceback" not in process.stderr.read()


def _write_all(stdin: IO[bytes], lines: Sequence[str | bytes]) -> None:
    for line in lines:
        stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
        stdin.flush()


def test_other_hosts_and_pages_of_other_sites_are_refused(served: Served) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {READ}"}
    for name, value, status in (("host", "evil.example", 421), ("origin", "http://evil.example", 403)):
        answer = over_http("POST", served.url, json=body, headers={**headers, name: value})
        assert answer.status_code == status


@pytest.mark.parametrize("address", ["0.0.0.0:8465", "192.0.2.1:8465", "8465", "127.0.0.1", "[::]:8465"])
def test_only_loopback_addresses_are_listened_on(address: str) -> None:
    with pytest.raises(click.BadParameter, match="loopback"):
        serve_http(HttpClient("http://127.0.0.1:8464"), address)
