"""
One fingerprint for a statement, from the application's template and from the server's log.

Literals are removed first (`redact`): nothing of a statement is stored before. The rest becomes its fingerprint.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import md5
from typing import Final

from .sql_lexer.lexer import lex

MAX_SAMPLE_CHARS: Final = 4_096
MAX_SQL_CHARS: Final = 16_384
"""Of a statement of another SDK's span, as of the SDK's own."""
ADMINISTRATOR: Final = "administrator command: "
"""The log's text for commands that are no statements: Quit, Ping, Init DB …"""

# a placeholder may stand for NULL as well as for a number; PyMySQL writes %% where the server sees %
_VALUE: Final = re.compile(r"(`(?:[^`]|``)*(?:`|\Z))|%\(\w+\)s|%s\b|(%)%+|\b(?:null|true|false)\b")
_SIGN: Final = re.compile(
    r"((?:^|[(,=<>!*/%|&^~]|(?<![-+])(?<![-+]\s)[-+]|\b(?:select|distinct|when|then|else|case|and|or|not|xor|between|in|like|is|where|having"
    r"|on|set|by|limit|offset|values|interval|return|div|mod|as))\s*)(?:[-+]\s?)+(?=\?)"
)
_SIGNED: Final = re.compile(r"[-+] ?\?")
_LIST: Final = r"\([\s?,]*\)"
_CUT: Final = r"(?:[\s,]*\([\s?,]*$|[\s,]+$)?"  # where a statement that is too long ends
_LISTS: Final = re.compile(
    rf"\b(in|values?)(?:\s*\((?:[\s,]*{_LIST})+\s*\)|(?:[\s,]*{_LIST})+){_CUT}"  # in ((?, ?), (?, ?)), values (?), (?)
    r"|\b(in) \?"  # a driver may write the whole list for one placeholder
    r"|\b(in|values?)[\s,]*\([\s?,()]*$"
)
_ASCENDING: Final = re.compile(r"(`(?:[^`]|``)*(?:`|\Z))| asc\b")  # it is the default order
_LIMIT: Final = re.compile(r"\blimit \?(?: ?, ?\?| offset \?)")
_ROWS: Final = re.compile(r"\bvalues? ?(?=\()")


def redact(sql: str) -> str:
    """Return the statement without its literals and comments, see `lexer`; white space folds, placeholders stay."""
    return lex(sql).redacted


@lru_cache(maxsize=2_048)
def redacted_text(sql: str) -> str:
    """`redact` of at most MAX_SQL_CHARS, as long as a stored statement may be; in a size-bounded cache."""
    return lex(sql[:MAX_SQL_CHARS], is_cut=len(sql) >= MAX_SQL_CHARS).redacted[:MAX_SAMPLE_CHARS]


def fingerprint(sql: str) -> str:
    """Return the fingerprint of a statement, of a template with placeholders, or of either one redacted."""
    return of_redacted(redact(sql))


def of_redacted(sql: str) -> str:
    """Return the fingerprint of a statement that has been through `redact`."""
    if sql.startswith(ADMINISTRATOR):
        return sql
    text = _VALUE.sub(_value, sql.lower()).rstrip("; ")
    if _SIGNED.search(text):
        text = _SIGN.sub(r"\1", text)
    text = _LISTS.sub(lambda match: f"{match[1] or match[2] or match[3]}(?+)", text)
    before, order_by, keys = text.partition("order by ")
    if order_by:
        text = before + order_by + _ASCENDING.sub(r"\1", keys)
    return _LIMIT.sub("limit ?", _equal_rows(text))


def _value(match: re.Match[str]) -> str:
    return match[1] or match[2] or "?"


def _equal_rows(text: str) -> str:
    """`values (?, now()), (?, now())` is `values (?, now())`: the number of rows makes no other statement."""
    values = _ROWS.search(text)
    if not values:
        return text
    kept: dict[str, None] = {}
    at = end = values.end()
    depth = 0
    for position in range(at, len(text)):
        letter = text[position]
        if letter == "(":
            if depth == 0:
                at = position
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                kept[text[at : position + 1]] = None
                end = position + 1
            elif depth < 0:
                break
        elif depth == 0 and letter not in ", ":
            break
    return text[: values.end()] + ", ".join(kept) + text[end:] if kept else text


@lru_cache(maxsize=8_192)
def of_template(sql: str) -> str:
    """`fingerprint` in a size-bounded cache: applications have few templates and send them often."""
    return fingerprint(sql)


def fingerprint_id(text: str) -> int:
    """
    Return the 64-bit id of a fingerprint: the last 16 hexadecimal digits of its MD5.

    pt-query-digest's query ids end in the same digits where it makes the same fingerprint.
    """
    return int.from_bytes(md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()[8:], "big")
