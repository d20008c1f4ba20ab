"""
SQL comments: the request id in every statement, so that the slow-log join finds the request of a log entry.

    SELECT … /*route='%2Fproduct%2F%7Bid%7D',service='shop',traceparent='00-…-…-01'*/

The format is sqlcommenter's (https://google.github.io/sqlcommenter/spec/): keys sorted, keys and values
percent-encoded, so no value can end the comment or be executed. Clients call `tag` just before a statement is sent,
when its values are already in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from walltime.core import caller
from walltime.errors import contain

if TYPE_CHECKING:
    from walltime.core.execution import ExecutionContext
    from walltime.core.transaction import Comment, Transaction
    from walltime.settings.settings import Settings

MAX_COMMENT_BYTES: Final = 1024
MAX_VALUE_CHARS: Final = 256
"""Maximum length of an encoded value. A longer value is cut at its end, a file's path at its beginning."""

Sql = TypeVar("Sql", str, bytes, bytearray)
Extras = tuple[tuple[str, str], ...]

NONE: Final[Comment] = ("", b"", 0)
_BUILT_IN: Final = frozenset({"route", "service", "application", "traceparent", "user", "file", "line", "function"})
_OF_THE_CALLER: Final = frozenset({"file", "line", "function"})
_STATIC: Final = frozenset({"route", "service", "application"}) | _OF_THE_CALLER
"""Keys whose values are the same in every request, so statements stay equal for a query cache."""


class _Style(NamedTuple):
    """The settings of the comment, prepared."""

    keys: tuple[str, ...]
    annotations: tuple[str, ...]
    of_the_caller: tuple[str, ...]
    has_user: bool
    is_prepended: bool
    sql_text_bytes: int
    service: str


def _style(settings: Settings) -> _Style:
    position, text_bytes = settings.sql_comment_position, settings.sql_text_bytes
    return _style_of(settings.sql_comment, settings.sql_comment_keys, position, text_bytes, settings.service)


@lru_cache(maxsize=8)
def _style_of(mode: str, keys: tuple[str, ...], position: str, sql_text_bytes: int, service: str) -> _Style:
    keys = tuple([key for key in keys if mode != "static" or key in _STATIC])
    return _Style(
        keys,
        tuple([key for key in keys if key not in _BUILT_IN]),
        tuple([key for key in keys if key in _OF_THE_CALLER]),
        "user" in keys,
        position == "prepend",
        sql_text_bytes,
        service,
    )


def tag(execution: ExecutionContext, sql: Sql) -> Sql:
    """
    Return the statement with the transaction's comment; 0.2 µs.

    The comment goes at the end, before a final semicolon: after it, the server would see a second statement. It goes in
    front when the end is not safe or would be cut off (`_placed`). A statement is returned unchanged when it already
    has the comment, when the comment would make it too long for the server, when the server would store it, and when
    tagging fails.

    Not for server-side prepared statements: each comment would create a new prepared statement.
    """
    try:
        comment = execution.sql_comment
        if comment is None:
            comment = _comment(execution.transaction)
        text, encoded, room = comment
        # Most statements are short, end in a printable character, and have no comment and no semicolon. To find one
        # character takes 20 ns; to find two, `rfind` takes 100 and `in` 300.
        if type(sql) is bytes:
            if (
                len(sql) < room and _IS_SAFE_END[sql[-1]] and _IS_SAFE_SECOND[sql[1]]
                and 0x2F not in sql and 0x23 not in sql and 0x3B not in sql
                and (0x2D not in sql or sql.rfind(b"--") < 0)
            ):  # fmt: skip
                return sql + encoded
        elif (
            type(sql) is str and len(sql) < room and sql[-1] in _SAFE_END and sql[1] in _SAFE_SECOND
            and "/" not in sql and "#" not in sql and ";" not in sql
            and ("-" not in sql or sql.rfind("--") < 0)
        ):  # fmt: skip
            return sql + text
        return _placed(sql, comment) if text else sql
    except IndexError:  # the empty statement: the server reports it
        return sql
    except Exception as ours:  # our failure is not the statement's
        contain("tag", ours)
        return sql


# ---- position ----


_SAFE_END: Final = frozenset(map(chr, range(0x21, 0x7F))) - {";"}
"""Last characters of a statement that a comment may follow: printable ASCII except the semicolon."""
_SAFE_SECOND: Final = frozenset("bdefghijkmnopqstuvwxyzBDEFGHIJKMNOPQSTUVWXYZ")
"""Second characters of statements other than CREATE and ALTER, also behind a blank."""
_IS_SAFE_END: Final = tuple([chr(number) in _SAFE_END for number in range(256)])
_IS_SAFE_SECOND: Final = tuple([chr(number) in _SAFE_SECOND for number in range(256)])
SAFE_CHARACTERS: Final = bytes(_IS_SAFE_END), bytes(_IS_SAFE_SECOND)  # for the core in C
_ENDS: Final = "; \t\n\v\f\r"
_BLANKS: Final = _ENDS + "\xa0\0"
_MEGABYTE: Final = 1 << 20
_PACKET_BYTES: Final = 8  # at most, by the protocol beside the statement

_GAP: Final = re.compile(r"(?:\s+|/\*M?!\d*|\*/|/\*.*?\*/|(?:--(?=[\0-\x20])|#)[^\n]*\n)*", re.DOTALL)
"""White space and comments; of executable ones, `/*!50003 …*/`, only the ends."""
_MAY_DEFINE: Final = frozenset("CcAa/*#-")
"""First characters of what may be CREATE or ALTER, perhaps behind a comment."""
_WORD: Final = re.compile(r"[A-Za-z]*")
_DEFINES: Final = re.compile(r"create|alter", re.IGNORECASE)
_STORED: Final = frozenset({
    "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "VIEW", "PACKAGE", "LIBRARY", "DEFINER", "AGGREGATE", "ALGORITHM",
    "SQL", "JSON",
})  # fmt: skip
"""Words behind CREATE, CREATE OR REPLACE and ALTER of what is stored with its text."""


def _placed(sql: Any, comment: Comment) -> Any:
    """
    Put the comment where it does not change the statement's meaning.

    It goes in front when the setting says so; when performance_schema would cut it off; when the statement ends in an
    unclosed comment, which ours would close, or may end in a line comment, which would contain ours; when the last
    character may be a space in the connection's character set, because a semicolon before it would then no longer end
    the statement; and when a later one of several statements would be stored with it.
    """
    text, encoded, room = comment
    kind = type(sql)
    if kind is not str and kind is not bytes and kind is not bytearray:
        if not issubclass(kind, str):  # the driver reports the wrong type
            return sql
        sql = str.__str__(sql)  # for example a framework's marked text; none of its own methods is called
    is_text = type(sql) is str
    size = len(sql)
    head = sql if size < room else sql[:MAX_COMMENT_BYTES]
    if not is_text:
        head = head.decode("latin-1")
    body = head.rstrip(_ENDS)
    if body[-1:] not in _SAFE_END and not body.strip(_BLANKS):
        return sql  # the server reports an empty statement; with a comment it would not
    ours: Any = text if is_text else encoded
    if size % _MEGABYTE + len(ours) + _PACKET_BYTES > _MEGABYTE:
        # max_allowed_packet is almost always whole megabytes: a statement that fits must not fail with the comment.
        return sql
    opens = head.rfind("/*") if "/" in head else -1
    if (opens >= 0 and _mark(text) in head) or (head.lstrip()[:1] in _MAY_DEFINE and _is_stored(head, 0)):
        return sql
    is_open = opens >= 0 and head.rfind("*/") < opens + 2
    if size < room and not is_open and body[-1] in _SAFE_END and _can_be_followed(body):
        return sql[: len(body)] + ours + sql[len(body) :]
    return ours[1:] + (" " if is_text else b" ") + sql


def _can_be_followed(body: str) -> bool:
    """Say whether a comment at the end is certainly outside of a line comment, and stored with no statement."""
    line_at = body.rfind("\n") + 1
    if body.find("#", line_at) >= 0 or ("-" in body and body.rfind("--", line_at) >= 0):  # perhaps in quotes
        return False
    if ";" not in body or _DEFINES.search(body) is None:
        return True
    return not any(_is_stored(body, at) for at, letter in enumerate(body, 1) if letter == ";")


def _is_stored(sql: str, at: int) -> bool:
    """Say whether the statement that begins there defines something that the server stores with its text."""
    words = []
    for _ in range(4):
        word = _WORD.match(sql, _GAP.match(sql, at).end())  # type: ignore[union-attr]  # both match the empty text
        at = word.end()  # type: ignore[union-attr]
        words.append(word[0].upper())  # type: ignore[index]
        if words[0] not in {"CREATE", "ALTER"}:
            return False
    return words[3 if words[1:3] == ["OR", "REPLACE"] else 1] in _STORED


def _mark(text: str) -> str:
    """Return the part that identifies the transaction's own comment: its traceparent, or all of it."""
    at = text.find("traceparent=")
    return text[1:] if at < 0 else text[at : at + len("traceparent='") + 55]


# ---- contents ----


def _comment(transaction: Transaction) -> Comment:
    """Build the transaction's comment, and cache it there unless it names the caller of each statement."""
    settings = transaction.settings
    if settings.sql_comment == "off" or transaction.is_over:
        comment: Comment = NONE
    else:
        style = _style(settings)
        name, method = transaction.name[:MAX_VALUE_CHARS], transaction.method
        extras = _extras(style, transaction) if style.annotations or style.has_user else ()
        if style.of_the_caller:
            extras += _of_the_caller(style)
        before, has_traceparent, after = _around(style, name, method, extras)
        text = f"{before}{transaction.traceparent}{after}" if has_traceparent else before
        room = 0 if style.is_prepended else style.sql_text_bytes - len(text)
        comment = (text, text.encode("ascii"), room)
        if style.of_the_caller:
            return comment
    transaction.sql_comment = comment
    return comment


def _extras(style: _Style, transaction: Transaction) -> Extras:
    """Return the user and the annotations that the settings include."""
    found = []
    if style.has_user and transaction.user:
        found.append(("user", _text_of(transaction.user)))
    annotations = transaction.annotations
    if annotations:
        for key in style.annotations:
            if key in annotations:
                found.append((key, _text_of(annotations[key])))
    return tuple(found)


def _text_of(value: object) -> str:
    # Only built-in types, by their own methods: the __str__ of another object may be slow or fail.
    if isinstance(value, str):
        return str.__str__(value)[:MAX_VALUE_CHARS]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    return float.__repr__(value) if isinstance(value, float) else ""


def _of_the_caller(style: _Style) -> Extras:
    place = caller.find(4)
    if place is None:
        return ()
    values = {"file": place.short_path[-MAX_VALUE_CHARS:], "line": str(place.line), "function": place.function}
    return tuple([(key, values[key]) for key in style.of_the_caller])


@lru_cache(maxsize=1024)
def _around(style: _Style, name: str, method: str, extras: Extras) -> tuple[str, bool, str]:
    """
    Return the text before the traceparent, whether there is a traceparent, and the text after it.

    When the comment would be too long, the last keys of the setting are left out.
    """
    route = name.removeprefix(method).strip() if method else name
    values = {"route": route, "service": style.service, "application": style.service, **dict(extras)}
    pairs = {}
    left = MAX_COMMENT_BYTES - len(" /**/")
    if "traceparent" in style.keys:
        pairs["traceparent"] = _HOLE
        left -= len("traceparent='',") + 55
    for key in style.keys:
        value = _encoded(values.get(key, ""), from_its_end=key == "file")
        if value and key != "traceparent":
            key_text = quote(key[:64], safe="")
            left -= len(key_text) + len(value) + len("='',")
            if left < 0:
                break
            pairs[key_text] = value
    if not pairs:
        return "", False, ""
    text = " /*" + ",".join([f"{key}='{pairs[key]}'" for key in sorted(pairs)]) + "*/"
    before, hole, after = text.partition(_HOLE)
    return before, bool(hole), after


_HOLE: Final = "?"
"""Placeholder of the traceparent; no encoded value contains it."""


def _encoded(value: str, *, from_its_end: bool = False) -> str:
    """Percent-encode all but letters, digits and `_.-~`; at most MAX_VALUE_CHARS, cut between characters."""
    encoded = quote(value.encode("utf-8", "replace"), safe="")
    if len(encoded) <= MAX_VALUE_CHARS:
        return encoded
    if from_its_end:
        cut = encoded[-MAX_VALUE_CHARS:]
        return cut[cut.index("%") :] if "%" in encoded[-MAX_VALUE_CHARS - 2 : -MAX_VALUE_CHARS] else cut
    cut = encoded[:MAX_VALUE_CHARS]
    return cut[: cut.rindex("%")] if "%" in cut[-2:] else cut
