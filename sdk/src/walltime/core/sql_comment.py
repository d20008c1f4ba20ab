"""
SQL comments: the request id in every statement, so that the slow-log join finds the request of a log entry.

    SELECT … /*route='%2Fproduct%2F%7Bid%7D',service='shop',traceparent='00-…-…-01'*/

The format is sqlcommenter's (https://google.github.io/sqlcommenter/spec/): keys sorted, keys and values
percent-encoded, so no value can end the comment or be executed. Clients call `tag` just before a statement is sent,
when its values are already in the text.
"""

from __future__ import annotations

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
    Return the statement with the transaction's comment; 0.15 µs.

    The comment goes at the end, before a final semicolon: after it, the server would see a second statement. It goes in
    front when the end is not safe or would be cut off (`_placed`). A statement is returned unchanged when it already
    has the comment, when the comment would make it too long for the server, and when tagging fails.

    Not for server-side prepared statements: each comment would create a new prepared statement.
    """
    try:
        comment = execution.sql_comment
        if comment is None:
            comment = _comment(execution.transaction)
        text, encoded, room = comment
        # Most statements are short, end in a printable character and contain no slash, so no comment.
        if type(sql) is bytes:
            if len(sql) < room and _IS_SAFE_END[sql[-1]] and 0x2F not in sql:
                return sql + encoded
        elif type(sql) is str and len(sql) < room and sql[-1] in _SAFE_END_CHARS and "/" not in sql:
            return sql + text
        return _placed(sql, comment) if text else sql
    except IndexError:  # the empty statement: the server reports it
        return sql
    except Exception as ours:  # our failure is not the statement's
        contain("tag", ours)
        return sql


# ---- position ----


class _Characters(NamedTuple):
    """The same characters as text or as bytes."""

    slash: Any
    opens: Any
    closes: Any
    ends: Any
    blank: Any
    space: Any
    safe_end: Any


_SAFE_END_BYTES: Final = frozenset(range(0x21, 0x7F)) - {0x3B}
"""Last characters of a statement that a comment may follow: printable ASCII except the semicolon."""
_IS_SAFE_END: Final = tuple([number in _SAFE_END_BYTES for number in range(256)])
_SAFE_END_CHARS: Final = frozenset(map(chr, _SAFE_END_BYTES))
_STR: Final = _Characters("/", "/*", "*/", "; \t\n\v\f\r", "; \t\n\v\f\r\xa0\0", " ", _SAFE_END_CHARS)
_BYTES: Final = _Characters(0x2F, b"/*", b"*/", b"; \t\n\v\f\r", b"; \t\n\v\f\r\xa0\0", b" ", _SAFE_END_BYTES)
_MEGABYTE: Final = 1 << 20
_PACKET_BYTES: Final = 8
"""Upper bound of what the protocol adds to a statement."""


def _placed(sql: Any, comment: Comment) -> Any:
    """
    Put the comment where it does not change the statement's meaning.

    It goes in front when the setting says so; when performance_schema would cut it off; when the statement ends in an
    unclosed comment, which ours would close; and when the last character may be a space in the connection's character
    set, because a semicolon before it would then no longer end the statement.
    """
    text, encoded, room = comment
    kind = type(sql)
    if kind is not str and kind is not bytes and kind is not bytearray:
        if not issubclass(kind, str):  # the driver reports the wrong type
            return sql
        sql = str.__str__(sql)  # for example a framework's marked text; none of its own methods is called
    letters, ours = (_STR, text) if type(sql) is str else (_BYTES, encoded)
    body = sql.rstrip(letters.ends)
    if not body.strip(letters.blank):  # the server reports an empty statement; with a comment it would not
        return sql
    size = len(sql)
    if size % _MEGABYTE + len(ours) + _PACKET_BYTES > _MEGABYTE:
        # max_allowed_packet is almost always whole megabytes: a statement that fits must not fail with the comment.
        return sql
    is_open = False
    searched = sql if size < room else sql[:MAX_COMMENT_BYTES]
    if letters.slash in searched:
        opens = searched.rfind(letters.opens)
        if opens >= 0:
            if _mark(text, ours) in searched:
                return sql
            is_open = searched.rfind(letters.closes) < opens + 2
    if size < room and not is_open and body[-1] in letters.safe_end:
        return body + ours + sql[len(body) :]
    return ours[1:] + letters.space + sql


def _mark(text: str, ours: Any) -> Any:
    """Return the part that identifies the transaction's own comment: its traceparent, or all of it."""
    at = text.find("traceparent=")
    return ours[1:] if at < 0 else ours[at : at + len("traceparent='") + 55]


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
