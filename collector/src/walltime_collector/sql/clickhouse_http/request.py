"""A request as a question: the statement, the values of its parameters, and how its answer is to be written."""

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
class Packing:
    """
    How a response body is compressed: first in blocks, then as HTTP does; each of them empty for no.

    Args:
        blocks: The method of ClickHouse's own blocks.
        encoding: The Content-Encoding.
    """

    blocks: blocks.Method | None = None
    encoding: str = ""


@dataclass(frozen=True)
class Question:
    """
    A statement that was asked.

    Args:
        values: Of `{name:Type}`.
        seconds: `max_execution_time`; 0 is no wish.
        settings: The other parameters of the request; the guard knows which of them are settings that it allows.
        is_framed: The client reads the answer to its greeting in the framing of `client_protocol_version`.
    """

    sql: str
    values: Mapping[str, str]
    format_name: str
    seconds: float
    settings: Mapping[str, str]
    is_framed: bool


def parameters_of(query_string: bytes) -> dict[str, str]:
    """
    The parameters in the URL.

    Raises:
        Refused: They are not UTF-8, or too many.
    """
    try:
        return dict(
            parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
        )
    except ValueError as error:
        raise refused(SYNTAX_ERROR, "the parameters in the URL are not UTF-8, or too many") from error


def packing_of(headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> Packing:
    """How the response body is compressed, also that of an error."""
    method = _METHODS.get(parameters.get("network_compression_method", "").lower(), "lz4")
    is_zipped = parameters.get("enable_http_compression") in _TRUE
    return Packing(
        method if parameters.get("compress") in _TRUE else None,
        encodings.chosen(headers.get(b"accept-encoding", "")) if is_zipped else "",
    )


def query_id_of(headers: Mapping[bytes, str], parameters: Mapping[str, str]) -> str:
    """The id that the client gave its question, or a new one; it can stand in a header."""
    given = parameters.get("query_id") or headers.get(b"x-clickhouse-query-id", "")
    return given if given.isascii() and given.isprintable() and 0 < len(given) <= _QUERY_ID_CHARACTERS else _new_id()


def question_of(
    method: str, body: bytes, headers: Mapping[bytes, str], parameters: Mapping[str, str], database: str
) -> Question:
    """
    The question that the request asks.

    Args:
        database: The one there is; clients that ask for `default` get it.

    Raises:
        Refused: It cannot be read, or asks another database.
        RequestRefused: Its body is not compressed as it says.
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
    wanted = headers.get(b"x-clickhouse-database") or parameters.get("database", "")
    if wanted not in ("", "default", database):
        raise refused(UNKNOWN_DATABASE, f"there is no database {printable(wanted)[:80]}; use {database}")
    return Question(
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


def _new_id() -> str:
    return str(uuid.uuid4())
