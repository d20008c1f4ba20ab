"""The tools: the questions of the HTTP API, with its descriptions, parameters and typed answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Annotated, Any, cast
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field, TypeAdapter
from starlette.requests import Request

from ...clickhouse.engine import Engine
from ...errors import CollectorError
from ...http.authentication import Access
from ...pages.shared_answers import Explanations
from ...query.answers import Selected, Trace
from ...web.advice import advice_routes
from ...web.answers import answer_routes
from ...web.incidents import incident_routes
from ...web.openapi import ApiRoute, Param
from ..client import Client
from ..output import read_as

INSTRUCTIONS = """\
Walltime knows, of every request and job of instrumented applications, where its wall time went: a bill with time and
calls by component (mysql.query, memcache.get, …) and server, whose parts add up to the duration exactly. Times that end
in _ns are nanoseconds. A kind is a service and the name of its transactions.
Begin with `top` for what takes the time. `why` explains why a kind became slower: give it the slow time as `during`.
Its findings have `evidence`: a statement for `sql` that yields their numbers, and transactions for `show`.
`profile` says which lines of the application compute or wait where no call was measured.
`diff` compares all kinds of two times or versions. `incidents` lists when kinds were not as usual, which Walltime
noticed by itself; `incident` has one with its cause. `find` lists single requests by any condition, and `show` has one.
`digest` ranks SQL statements. `advise` says what to change. `sql` is for what the other tools do not answer."""

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@dataclass(frozen=True)
class Tool:
    """
    A question of the API.

    Args:
        more: Further parameters, which `finish` takes.
        finish: Makes the tool's answer from that of the API.
    """

    name: str
    path: str
    more: Mapping[str, Param] = field(default_factory=dict)
    finish: Callable[..., Any] = lambda answer: answer


def _with_fewer_calls(trace: Trace, calls: int) -> Trace:
    return replace(trace, transactions=tuple(replace(each, calls=each.calls[:calls]) for each in trace.transactions))


TOOLS = (
    Tool("top", "/api/top"),
    Tool(
        "show",
        "/api/transactions/{trace_id}",
        {
            "calls": Param(
                "At most so many kept calls of each transaction.", "60", Annotated[int, Field(ge=0, le=10_000)]
            )
        },
        _with_fewer_calls,
    ),
    Tool("why", "/api/why"),
    Tool("profile", "/api/profile"),
    Tool("diff", "/api/diff"),
    Tool("digest", "/api/digest"),
    Tool("find", "/api/find"),
    Tool("advise", "/api/advice"),
    Tool("incidents", "/api/incidents"),
    Tool("incident", "/api/incidents/{id}"),
)


def make_server(client: Client, *, is_http: bool = False) -> MCPServer:
    """
    Return the server of the tools.

    Args:
        is_http: The collector gets the bearer token of each request instead of the client's.
    """
    server = MCPServer(
        "walltime", instructions=INSTRUCTIONS, version=version("walltime-collector"), log_level="WARNING"
    )

    def asking(context: Context) -> Client:
        if not is_http:
            return client
        request = cast(Request, context.request_context.request)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return replace(client, token=token.strip() if scheme.lower() == "bearer" else "")

    def sql(
        context: Context,
        sql: Annotated[str, Field(description="A SELECT in ClickHouse's dialect, SHOW TABLES or DESCRIBE a table.")],
    ) -> Selected:
        """Run one read-only SQL statement over Walltime's tables; a guard limits its time, memory and result."""
        answer: Selected = _read(Selected, lambda: asking(context).post("/api/sql", {"sql": sql}))
        return answer

    # the engine and the tokens are for answers, and here the routes only describe
    engine, access = cast(Engine, None), cast(Access, None)
    described = (*answer_routes(engine, Explanations(engine)), *advice_routes(engine, access), *incident_routes(engine))
    routes = {each.path: each for each in described}
    for tool in TOOLS:
        route = routes[tool.path]
        server.add_tool(_function(tool, route, asking), tool.name, annotations=_READS, structured_output=True)
    server.add_tool(sql, "sql", annotations=_READS, structured_output=True)
    return server


def _function(tool: Tool, route: ApiRoute, asking: Callable[[Context], Client]) -> Callable[..., Any]:
    """Return a function with the signature that the parameters describe."""

    def ask(context: Context, **given: Any) -> Any:
        more = {name: given.pop(name) for name in tool.more}
        in_path = {name: quote(given.pop(name), safe="") for name in list(given) if f"{{{name}}}" in route.path}
        path = route.path.format(**in_path)
        return tool.finish(_read(route.answer, lambda: asking(context).get(path, **given)), **more)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [_parameter(name, param, route.path) for name, param in {**route.params, **tool.more}.items()]
    ask.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # the tool's schema is made of it
        [inspect.Parameter("context", keyword, annotation=Context), *own], return_annotation=route.answer
    )
    ask.__name__, ask.__doc__ = tool.name, route.description
    return ask


def _parameter(name: str, param: Param, path: str) -> inspect.Parameter:
    is_required = param.is_required or f"{{{name}}}" in path
    default = TypeAdapter(param.type).validate_strings(param.default)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if is_required else default,
        annotation=Annotated[param.type, Field(description=param.description)],
    )


def _read(answer: Any, ask: Callable[[], Any]) -> Any:
    """What the collector answers; its refusal is the tool's, for the assistant to read and correct."""
    try:
        return read_as(answer, ask())
    except CollectorError as error:
        raise ToolError(str(error)) from error
