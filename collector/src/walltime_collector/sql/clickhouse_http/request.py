"""Reads a request: the statement, the values of its parameters, and the format and compression of its result."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

from python_multipart import parse_form
from python_multipart.exceptions import FormParserError

from ...errors import StatementRefused
from ...format import printable
from ..guard import MAX_STATEMENT_BYTES
from ..guard.allowed import FORMATS
from . import blocks, encodings
from .errors import CANNOT_DECOMPRESS, NOT_IMPLEMENTED, SYNTAX_ERROR, UNKNOWN_DATABASE, refused

MAX_BODY_BYTES = 2 * MAX_STATEMENT_BYTES
_MAX_FIELDS = 500
_METHODS: Mapping[str, blocks.Method] = {"lz4": "lz4", "lz4hc": "lz4", "zstd": "zstd", "none": "none"}
_QUERY_ID_CHARACTERS = 200
_TRUE = ("1", "true")


@dataclass(frozen=True)
class Compression:
    """How a response body is compressed: first in ClickHouse's own blocks, if any, then as in HTTP, if at all."""

    blocks: blocks.Method | None = None
    encoding: str = ""


@dataclass(frozen=True)
class QueryRequest:
    """
    A statement with its parameters.

    Args:
        values: Of `{name:Type}`.
        seconds: `max_execution_time`; 0 without one.
        settings: The other parameters; the guard takes those that are allowed settings.
        is_native_greeting: The client expects the response to its greeting in the form of `client_protocol_version`.
    """

    sql: str
    values: Mapping[str, str]
    format_name: str
    seconds: float
    settings: Mapping[str, str]
    is_native_greeting: bool


def parameters_of(query_string: bytes) -> dict[str, str]:
    """The parameters in the URL; raises Refused when they are not UTF-8, or too many."""
    try:
        text = query_string.decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS))
    except ValueError as error:
        raise refused(SYNTAX_ERROR, "the parameters in the URL are not UTF-8, or too many") from error


def compression_of(headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> Compression:
    """How the response body is compressed, that of an error too."""
    method = _METHODS.get(parameters.get("network_compression_method", "").lower(), "lz4")
    is_zipped = parameters.get("enable_http_compression") in _TRUE
    return Compression(
        method if parameters.get("compress") in _TRUE else None,
        encodings.chosen(headers.get(b"accept-encoding", "")) if is_zipped else "",
    )


def query_id_of(headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> str:
    """The client's id of its statement, or a new one; without characters that a header cannot carry."""
    given = parameters.get("query_id") or headers.get(b"x-clickhouse-query-id", "")
    is_allowed = given.isascii() and given.isprintable() and 0 < len(given) <= _QUERY_ID_CHARACTERS
    return given if is_allowed else str(uuid.uuid4())


def request_of(
    method: str, body: bytes, headers: Mapping[bytes, str], parameters: Mapping[str, str], database: str
) -> QueryRequest:
    """
    The statement of a request; `database` is the only one, and a client that requests `default` gets it too.

    Raises:
        Refused: It cannot be read, or requests another database.
        StatementRefused: The format is not allowed.
    """
    parameters = dict(parameters)
    sql = [parameters["query"]] if parameters.get("query") else []
    if method == "POST":
        content = _content(body, headers, parameters)
        if headers.get(b"content-type", "").lower().startswith("multipart/form-data"):
            fields = _fields(content, headers[b"content-type"])
            sql += [fields.pop("query")] if fields.get("query") else []
            parameters |= fields
        elif content:
            sql.append(_text(content, "the statement"))
    requested = headers.get(b"x-clickhouse-database") or parameters.get("database", "")
    if requested not in ("", "default", database):
        raise refused(UNKNOWN_DATABASE, f"there is no database {printable(requested)[:80]}; use {database}")
    return QueryRequest(
        "\n".join(sql),
        {name[6:]: value for name, value in parameters.items() if name.startswith("param_")},
        _format(headers.get(b"x-clickhouse-format") or parameters.get("default_format") or "TabSeparated"),
        _seconds(parameters.get("max_execution_time", "")),
        {name: value for name, value in parameters.items() if name not in ("max_execution_time", "password")},
        "client_protocol_version" in parameters,
    )


def _content(body: bytes, headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> bytes:
    content = encodings.decode(body, headers.get(b"content-encoding", ""), MAX_BODY_BYTES)
    if parameters.get("decompress") not in _TRUE:
        return content
    try:
        return blocks.decompress(content, MAX_BODY_BYTES)
    except blocks.BadBlocks as error:
        raise refused(CANNOT_DECOMPRESS, f"decompress=1, but {error}") from error


def _fields(content: bytes, content_type: str) -> dict[str, str]:
    """The fields of a form; external tables, which come as files, are refused."""
    fields: dict[str, str] = {}

    def take(field: Any) -> None:
        name = _text(field.field_name or b"", "the name of a field")
        fields[name] = _text(field.value or b"", f"the field {printable(name)[:80]}")
        if len(fields) > _MAX_FIELDS:
            raise refused(SYNTAX_ERROR, f"the form has more than {_MAX_FIELDS} fields")

    def refuse(file: Any) -> None:
        file.close()
        raise refused(NOT_IMPLEMENTED, "external tables are not allowed; write the values in the statement", 415)

    try:
        parse_form({"Content-Type": content_type.encode("latin-1")}, BytesIO(content), take, refuse)
    except FormParserError as error:
        raise refused(SYNTAX_ERROR, f"the body is not a form as its Content-Type says: {error}") from error
    return fields


def _text(content: bytes, what: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refused(SYNTAX_ERROR, f"{what} is not UTF-8 at byte {error.start}") from error


def _format(name: str) -> str:
    if name not in FORMATS:
        raise StatementRefused(f"the format {printable(name)[:40]} is not allowed", "use Native, JSON, CSV or TSV")
    return name


def _seconds(written: str) -> float:
    try:
        return max(float(written), 0) if written else 0
    except ValueError as error:
        raise refused(SYNTAX_ERROR, "max_execution_time is not a number of seconds") from error
