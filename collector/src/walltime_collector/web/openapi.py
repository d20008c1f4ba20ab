"""The routes under /api/ with their parameters and answers; the source of /api/openapi.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple, get_type_hints

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..http.parameters import query_params
from ..http.responses import json_response


class Param(NamedTuple):
    """A parameter of a route: of its path if the path names it, otherwise of its query."""

    description: str
    default: str = ""
    type: Any = str
    is_required: bool = False


class ApiRoute(Route):
    """
    A route with its description.

    Args:
        description: What it answers: the first sentence is the summary.
        answer: The type of the JSON document of status 200.
        body: The type of the JSON document of a POST; None for GET.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[[Request], Any],
        description: str,
        answer: Any,
        params: Mapping[str, Param] | None = None,
        *,
        body: Any = None,
    ) -> None:
        if not description:
            raise ValueError(f"{path} has no description")
        super().__init__(path, endpoint, methods=["GET" if body is None else "POST"])
        self.description, self.answer, self.params, self.body = description, answer, params or {}, body


def answer_route(
    path: str, answer: Callable[[dict[str, str]], Any], params: Mapping[str, Param] | None = None
) -> ApiRoute:
    """
    Return the route of a question.

    Args:
        answer: Returns the typed answer for the texts of the parameters; Starlette runs it in its thread pool. Its
            docstring is the route's description.
    """
    params = params or {}
    defaults = {name: param.default for name, param in params.items() if f"{{{name}}}" not in path}

    def endpoint(request: Request) -> Response:
        return json_response(asdict(answer({**request.path_params, **query_params(request, defaults)})))

    return ApiRoute(path, endpoint, answer.__doc__ or "", get_type_hints(answer)["return"], params)


@dataclass(frozen=True)
class Problem:
    """What is wrong, and what to do."""

    where: str
    """The parameter, or the part of the collector."""
    what: str
    what_now: str


@dataclass(frozen=True)
class ErrorResponse:
    """The document of every status but 200."""

    error: Problem


def openapi_route(routes: Iterable[ApiRoute]) -> ApiRoute:
    """Return the route of the document, which describes itself too."""

    @cache
    def response() -> JSONResponse:
        return json_response(describe([*routes, route]))

    description = "This document."
    route = ApiRoute("/api/openapi.json", lambda _: response(), description, dict[str, Any])
    return route


def describe(routes: Iterable[ApiRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes."""
    routes = list(routes)
    types = {ErrorResponse: None}
    for route in routes:
        used = (route.answer, route.body, *(param.type for param in route.params.values()))
        types.update((each, None) for each in used if each is not None)
    # of a tuple: only there does pydantic allow a configuration, which the dataclasses inside inherit
    adapter: TypeAdapter[Any] = TypeAdapter(tuple[tuple(types)], config=ConfigDict(use_attribute_docstrings=True))  # type: ignore[arg-type, misc]
    made = adapter.json_schema(
        mode="serialization", ref_template="#/components/schemas/{model}", schema_generator=_AnswerSchema
    )
    schemas = dict(zip(types, made["prefixItems"], strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        for method in sorted((route.methods or set()) - {"HEAD"}):
            paths.setdefault(route.path, {})[method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Walltime",
            "version": version("walltime-collector"),
            "description": "Questions to a collector. Times that end in `_ns` are nanoseconds. Fields may be added.",
        },
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": made["$defs"],
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The read token, where the collector has one; the admin token for changes.",
                }
            },
        },
    }


class _AnswerSchema(GenerateJsonSchema):
    """An answer has all its fields, also those with a default."""

    def field_is_required(self, *_: Any, **__: Any) -> bool:
        return True


def _operation(route: ApiRoute, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    def content(of: Any) -> dict[str, Any]:
        return {"application/json": {"schema": schemas[of]}}

    operation = {
        "summary": route.description.strip().partition("\n")[0],
        "description": " ".join(route.description.split()),
        "parameters": [
            {
                "name": name,
                "in": "path" if f"{{{name}}}" in route.path else "query",
                "required": param.is_required or f"{{{name}}}" in route.path,
                "description": param.description,
                "schema": {**schemas[param.type], **({"default": _typed(param)} if param.default else {})},
            }
            for name, param in route.params.items()
        ],
        "responses": {
            "200": {"description": "The answer.", "content": content(route.answer)},
            "default": {"description": "An error.", "content": content(ErrorResponse)},
        },
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": content(route.body)}
    return operation


def _typed(param: Param) -> Any:
    """The default as a value of the parameter's type."""
    return TypeAdapter(param.type).validate_strings(param.default)
