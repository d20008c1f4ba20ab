"""Reads the text of a condition; what is wrong with it is a BadParameter that has the position."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args

from ...errors import BadParameter
from ...format import quoted
from .fields import STARTED, field
from .sql import compared, joined
from .tree import Condition, Field, Operator, Type
from .values import value

WHERE = "where"
"""The parameter, for errors."""
MAX_CHARS = 2_000
_MAX_DEPTH = 20
_OPERATORS: dict[Type, tuple[str, ...]] = {
    "text": ("=", "!=", "~", "!~"),
    "texts": ("=", "!=", "~", "!~"),
    "attribute": ("=", "!=", "<", "<=", ">", ">=", "~", "!~"),
    "flag": ("=", "!="),
}
_OF_NUMBERS = ("=", "!=", "<", "<=", ">", ">=")
_EXPECTED = {
    "FIELD": "a field",
    "OPERATOR": "a comparison (= != < <= > >= ~ !~ in)",
    "WORD": "a value",
    "RPAR": "a closing parenthesis",
    "LPAR": "an opening parenthesis",
    "COMMA": "a comma",
    "_AND": "and, or",
}
_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([\w-]+)', re.DOTALL)
_NAME = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@lru_cache(1_000)
def parse(text: str) -> Condition:
    """
    Read a condition.

    Raises:
        BadParameter: It is none; the message has the position (the first character is 1), and what to write.
    """
    if len(text) > MAX_CHARS:
        raise BadParameter(WHERE, f"it has {len(text):,} characters", f"write at most {MAX_CHARS:,}")
    try:
        condition: Condition = _parser().parse(text)  # type: ignore[assignment]  # the transformer makes it
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        raise _wrong(at, text[at], "cannot be here", _advice(error)) from None
    except UnexpectedToken as error:
        if error.token.type == "$END":
            what = f"it ends too early, after {quoted(text)}" if text.strip() else "it is empty"
            raise BadParameter(WHERE, what, _advice(error)) from None
        raise _wrong(error.token.start_pos or 0, str(error.token), "cannot be here", _advice(error)) from None
    if condition.depth > _MAX_DEPTH:
        raise BadParameter(WHERE, f"it is nested more than {_MAX_DEPTH} levels deep", "write it with fewer parentheses")
    return condition


def sort_field(name: str) -> Field:
    """
    The field that a list is sorted by: a number, or STARTED.

    Raises:
        BadParameter: It is no field, or no number.
    """
    if name == STARTED.name:
        return STARTED
    if not _NAME.fullmatch(name):
        raise BadParameter("sort", f"{quoted(name)} is no field", "write one as duration or mysql.query.calls")
    try:
        of = field(_parts(name))
    except LookupError as error:
        raise BadParameter("sort", f"{quoted(name)} is no field", str(error)) from None
    if of.type not in ("time", "number", "size", "locks"):
        raise BadParameter("sort", f"{of.name} is no number", "write time, duration, or as mysql.query.calls")
    return of


@v_args(inline=True)
class _Tree(Transformer[Token, Condition]):
    """Each method makes the node of the rule with its name."""

    def either(self, *of: Condition) -> Condition:
        return joined("OR", of)

    def both(self, *of: Condition) -> Condition:
        return joined("AND", of)

    def negation(self, of: Condition) -> Condition:
        return joined("NOT", (of,))

    def value(self, token: Token) -> Token:
        return token

    def list(self, *tokens: Token) -> tuple[Token, ...]:
        return tokens

    def comparison(self, name: Token, operator: Token, written: Token) -> Condition:
        return _comparison(name, str(operator), (written,), operator)  # type: ignore[arg-type]  # the grammar has no other

    def membership(self, name: Token, written: tuple[Token, ...]) -> Condition:
        return _comparison(name, "=", written, name)

    def exclusion(self, name: Token, written: tuple[Token, ...]) -> Condition:
        return _comparison(name, "!=", written, name)

    def flag(self, name: Token) -> Condition:
        of = _field(name)
        if of.type != "flag":
            example = {"time": "> 200ms", "locks": "> 10ms", "number": "> 0", "size": "> 1MB", "status": "= 5xx"}
            what_now = f"compare it, as {of.name} {example.get(of.type, '= …')}"
            raise _wrong(name.start_pos, str(name), "needs a comparison", what_now)
        return compared(of, "=", (True,))


def _comparison(name: Token, operator: Operator, written: tuple[Token, ...], at: Token) -> Condition:
    of = _field(name)
    allowed = _OPERATORS.get(of.type, _OF_NUMBERS)
    if operator not in allowed:
        raise _wrong(at.start_pos, operator, f"cannot compare {of.name}", f"use {' '.join(allowed)} or in")
    values = []
    for token in written:
        text = _ESCAPE.sub(r"\1", token[1:-1]) if token.type == "STRING" else str(token)
        try:
            values.append(value(text, of.type, is_compared=operator[0] in "<>"))
        except ValueError as error:
            raise _wrong(token.start_pos, text, f"is no value of {of.name}", str(error)) from None
    return compared(of, operator, tuple(values))


def _field(name: Token) -> Field:
    try:
        return field(_parts(name))
    except LookupError as error:
        raise _wrong(name.start_pos, str(name), "is no field", str(error)) from None


def _parts(name: str) -> list[tuple[str, bool]]:
    return [(_ESCAPE.sub(r"\1", text) or plain, not plain) for text, plain in _PART.findall(name)]


@cache
def _parser() -> Lark:
    return Lark.open(
        "condition.lark", rel_to=__file__, parser="lalr", transformer=_Tree(), maybe_placeholders=False, cache=False
    )


def _advice(error: UnexpectedInput) -> str:
    expected = getattr(error, "accepts", None) or getattr(error, "expected", None) or getattr(error, "allowed", ())
    words = [word for name, word in _EXPECTED.items() if name in (expected or ())]
    return f"write {', '.join(words)}" if words else "leave it out"


def _wrong(position: int | None, text: str, what: str, what_now: str) -> BadParameter:
    return BadParameter(WHERE, f"position {(position or 0) + 1}: {quoted(text)} {what}", what_now)
