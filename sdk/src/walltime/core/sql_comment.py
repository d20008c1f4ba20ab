"""
SQL comments: the request id in every statement, so that the database's own log can be glued to the request.

    SELECT … /*route='%2Fproduct%2F%7Bid%7D',service='shop',traceparent='00-…-…-01'*/

The format is sqlcommenter's (https://google.github.io/sqlcommenter/spec/): keys sorted, keys and values
percent-encoded, which leaves nothing that could end the comment early or make the server execute it. Clients call `tag`
at the last place before a statement is sent, where its values are in the text already.
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
"""Of one encoded value; what is longer is cut, a file's path at its beginning."""

Sql = TypeVar("Sql", str, bytes, bytearray)
Extras = tuple[tuple[str, str], ...]


NONE: Final[Comment] = ("", b"", 0)
_ANNOTATED_NEVER: Final = frozenset(
    {"route", "service", "application", "traceparent", "user", "file", "line", "function"}
)
_OF_THE_CALLER: Final = frozenset({"file", "line", "function"})
_STATIC: Final = frozenset({"route", "service", "application"}) | _OF_THE_CALLER
"""Keys whose values are the same in every request: the comment does not make every statement another one."""


class _Style(NamedTuple):
    """What the settings ask for."""

    keys: tuple[str, ...]
    annotations: tuple[str, ...]
    of_the_caller: tuple[str, ...]
    has_user: bool
    is_prepended: bool
    sql_text_bytes: int
    service: str


def _style(settings: Settings) -> _Style:
    return _style_of(
        settings.sql_comment,
        settings.sql_comment_keys,
        settings.sql_comment_position,
        settings.sql_text_bytes,
        settings.service,
    )


@lru_cache(maxsize=8)
def _style_of(mode: str, keys: tuple[str, ...], position: str, sql_text_bytes: int, service: str) -> _Style:
    keys = tuple([key for key in keys if mode != "static" or key in _STATIC])
    return _Style(
        keys,
        tuple([key for key in keys if key not in _ANNOTATED_NEVER]),
        tuple([key for key in keys if key in _OF_THE_CALLER]),
        "user" in keys,
        position == "prepend",
        sql_text_bytes,
        service,
    )


def tag(execution: ExecutionContext, sql: Sql) -> Sql:
    """
    Return the statement with the transaction's comment, in 0.15 µs.

    The comment stands at the end, before a final semicolon, because behind it the server would take it for a second
    statement; in front where the end is not safe or would be cut off (`_placed`). A statement that has it already, and
    one that it would make too long for the server, come back as they are; so does everything when tagging fails.

    Never for what is sent to be prepared by the server: each comment would make a statement of its own there.
    """
    try:
        comment = execution.sql_comment
        if comment is None:
            comment = _comment(execution.transaction)
        text, encoded, room = comment
        # Nearly every statement is short, ends in a printable character and has no slash, so no comment of its own.
        if type(sql) is bytes:
            if len(sql) < room and _IS_PLAIN[sql[-1]] and 0x2F not in sql:
                return sql + encoded
        elif type(sql) is str and len(sql) < room and sql[-1] in _PLAIN_LETTERS and "/" not in sql:
            return sql + text
        return _placed(sql, comment) if text else sql
    except IndexError:  # the empty statement, which the server is to answer as it is
        return sql
    except Exception as ours:  # our failure is not the statement's
        contain("tag", ours)
        return sql


# ---- where it goes ----


class _Letters(NamedTuple):
    """The same letters as text or as bytes."""

    slash: Any
    opens: Any
    closes: Any
    ends: Any
    blank: Any
    space: Any
    plain: Any


_PLAIN_BYTES: Final = frozenset(range(0x21, 0x7F)) - {0x3B}
"""What a statement may end in for the comment to follow: printable ASCII, but no semicolon."""
_IS_PLAIN: Final = tuple([number in _PLAIN_BYTES for number in range(256)])
_PLAIN_LETTERS: Final = frozenset(map(chr, _PLAIN_BYTES))
_STR: Final = _Letters("/", "/*", "*/", "; \t\n\v\f\r", "; \t\n\v\f\r\xa0\0", " ", _PLAIN_LETTERS)
_BYTES: Final = _Letters(0x2F, b"/*", b"*/", b"; \t\n\v\f\r", b"; \t\n\v\f\r\xa0\0", b" ", _PLAIN_BYTES)
_MEGABYTE: Final = 1 << 20
_PACKET_BYTES: Final = 8
"""What the protocol adds to a statement, generously."""


def _placed(sql: Any, comment: Comment) -> Any:
    """
    Put the comment where it changes nothing.

    In front when the setting says so; when performance_schema would cut it off; when the end of the statement is inside
    of a comment that is never closed, which ours would close; when the last character may be a space in the
    connection's character set, so that a semicolon before it would no longer be the last thing.
    """
    text, encoded, room = comment
    kind = type(sql)
    if kind is not str and kind is not bytes and kind is not bytearray:
        if not issubclass(kind, str):  # the driver says what is wrong with it
            return sql
        sql = str.__str__(sql)  # such as a framework's marked text; no method of its own is called
    letters, ours = (_STR, text) if type(sql) is str else (_BYTES, encoded)
    body = sql.rstrip(letters.ends)
    if not body.strip(letters.blank):  # the server says that it is empty, and with a comment it would not
        return sql
    size = len(sql)
    if size % _MEGABYTE + len(ours) + _PACKET_BYTES > _MEGABYTE:
        # max_allowed_packet is nearly always whole megabytes: what fits without the comment must not fail with it.
        return sql
    is_open = False
    looked_at = sql if size < room else sql[:MAX_COMMENT_BYTES]
    if letters.slash in looked_at:
        opens = looked_at.rfind(letters.opens)
        if opens >= 0:
            if _mark(text, ours) in looked_at:
                return sql
            is_open = looked_at.rfind(letters.closes) < opens + 2
    if size < room and not is_open and body[-1] in letters.plain:
        return body + ours + sql[len(body) :]
    return ours[1:] + letters.space + sql


def _mark(text: str, ours: Any) -> Any:
    """What only the transaction's own comment has in it: its traceparent, or all of it."""
    at = text.find("traceparent=")
    return ours[1:] if at < 0 else ours[at : at + len("traceparent='") + 55]


# ---- what is in it ----


def _comment(transaction: Transaction) -> Comment:
    """Build the transaction's comment; keep it there unless it also says where each call was made."""
    settings = transaction.settings
    if settings.sql_comment == "off":
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
    """What the settings ask for of the user and the annotations."""
    found = []
    if style.has_user and transaction.user:
        found.append(("user", _plain(transaction.user)))
    annotations = transaction.annotations
    if annotations:
        for key in style.annotations:
            if key in annotations:
                found.append((key, _plain(annotations[key])))
    return tuple(found)


def _plain(value: object) -> str:
    # Only the built-in types, by their own methods: another object's __str__ may be slow or fail.
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
    said = {"file": place.short_path[-MAX_VALUE_CHARS:], "line": str(place.line), "function": place.function}
    return tuple([(key, said[key]) for key in style.of_the_caller])


@lru_cache(maxsize=1024)
def _around(style: _Style, name: str, method: str, extras: Extras) -> tuple[str, bool, str]:
    """
    Return the comment before its traceparent, whether there is one, and the comment behind it.

    When the whole would be too long, what comes last in the settings' keys is left out.
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
"""Stands where the traceparent goes; no encoded value has it."""


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
