"""Errors in ClickHouse's form: a number, a name and a text, which clients parse."""

from __future__ import annotations

import re

_STATUS = {46: 404, 47: 404, 60: 404, 62: 400, 81: 404, 159: 408, 202: 429, 271: 400, 497: 403, 516: 401}
_NAMES = {
    48: "NOT_IMPLEMENTED",
    62: "SYNTAX_ERROR",
    81: "UNKNOWN_DATABASE",
    191: "REQUEST_TOO_LARGE",
    202: "TOO_MANY_SIMULTANEOUS_QUERIES",
    210: "NETWORK_ERROR",
    271: "CANNOT_DECOMPRESS",
    497: "ACCESS_DENIED",
    516: "AUTHENTICATION_FAILED",
    1002: "UNKNOWN_EXCEPTION",
}

_NAME_AT_THE_END = re.compile(r"\([A-Z][A-Z0-9_]+\)$")

NOT_IMPLEMENTED, SYNTAX_ERROR, UNKNOWN_DATABASE, REQUEST_TOO_LARGE, TOO_MANY_QUERIES = 48, 62, 81, 191, 202
NETWORK_ERROR, CANNOT_DECOMPRESS, ACCESS_DENIED, AUTHENTICATION_FAILED, UNKNOWN = 210, 271, 497, 516, 1002


class Refused(Exception):
    """The response is an error; its text is the response body. HTTP's status 0: the usual one of this code."""

    def __init__(self, code: int, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.code, self.status = code, status or _STATUS.get(code, 500)


def refused(code: int, text: str, status: int = 0) -> Refused:
    """An error of the collector in ClickHouse's form."""
    return Refused(code, f"Code: {code}. DB::Exception: {text}. ({_NAMES[code]})", status)


def failed(code: int, text: str) -> Refused:
    """An error of ClickHouse; clients need its name at the end, which is missing when the text was cut."""
    text = text[max(text.find("Code: "), 0) :].strip()
    if not _NAME_AT_THE_END.search(text) and code in _NAMES:
        text = f"{text.rstrip('. ')}. ({_NAMES[code]})"
    return Refused(code, text)


def clickhouse_wording(status: int, message: str) -> tuple[str, bytes]:
    """The content type and body of an error of a request that did not reach the endpoint."""
    code = {503: TOO_MANY_QUERIES, 414: REQUEST_TOO_LARGE, 431: REQUEST_TOO_LARGE}.get(status, SYNTAX_ERROR)
    return "text/plain; charset=UTF-8", f"{refused(code, message)}\n".encode()
