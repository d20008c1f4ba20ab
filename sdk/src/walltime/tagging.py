"""
SQL comments: the request id in every statement, so that the database's own log can be glued to the request.

The format is sqlcommenter's (https://google.github.io/sqlcommenter/spec/): ` /*key='value',…*/`, keys sorted, values
percent-encoded, which leaves nothing that could end the comment early.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

if TYPE_CHECKING:
    from walltime.hotpath import Strand, Transaction

MAX_VALUE_CHARS: Final = 256
_ENDS: Final = frozenset(b"; \t\r\n")

Sql = TypeVar("Sql", str, bytes, bytearray)

service = ""
"""The service's name in the comments; set by `configure`."""
enabled = True


def tag(strand: Strand, sql: Sql) -> Sql:
    """
    Return the statement with the transaction's comment at its end, before a final semicolon.

    Behind the semicolon the server would take the comment for a second statement.
    """
    transaction = strand.transaction
    comment = transaction.sql_comment
    if comment is None:
        comment = transaction.sql_comment = _comment(transaction)
    if not isinstance(sql, str):
        if sql and sql[-1] in _ENDS:
            body = sql.rstrip(b"; \t\r\n")
            return body + comment + sql[len(body) :]
        return sql + comment
    body_text = sql.rstrip("; \t\r\n")
    return body_text + comment.decode() + sql[len(body_text) :]


def _comment(transaction: Transaction) -> bytes:
    if not enabled:
        return b""
    context = transaction.span_context
    traceparent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return f"{_constant_part(transaction.name, transaction.method, service)}traceparent='{traceparent}'*/".encode()


@lru_cache(maxsize=1024)
def _constant_part(name: str, method: str, service: str) -> str:
    route = name.removeprefix(method).strip() if method else name
    pairs = (("route", route), ("service", service))  # sorted, and before "traceparent"
    return " /*" + "".join(f"{key}='{_encoded(value)}'," for key, value in pairs if value)


def _encoded(value: str) -> str:
    encoded = quote(value.encode("utf-8", "replace"), safe="")
    if len(encoded) <= MAX_VALUE_CHARS:
        return encoded
    cut = encoded[:MAX_VALUE_CHARS]
    return cut[: cut.rindex("%")] if "%" in cut[-2:] else cut
