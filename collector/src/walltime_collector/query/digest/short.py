"""Shortens a statement for printing: of a long list of columns, the first two and the number of the others."""

from __future__ import annotations

import re

# a quote that is not closed takes the rest
_TOKEN = re.compile(
    r"'(?:[^'\\]|\\.|'')*(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|`[^`]*(?:`|\Z)|[\w@$.]+|\S", re.DOTALL
)
_LONG_LIST = 60
_KEPT = 2
_ENDS_LIST = {"from", "union", "into", "where", "limit", ";"}
LONGEST = 300
"""Characters of a statement in a list of statements; `walltime digest ID` prints it whole."""


def short_lists(statement: str) -> str:
    """The statement with each long list of a SELECT, or of the columns of an INSERT, shortened to its beginning."""
    tokens = [(match[0].lower(), match.start(), match.end()) for match in _TOKEN.finditer(statement)]
    parts: list[str] = []
    done = at = 0
    while at < len(tokens):
        word = tokens[at][0]
        if word == "select" or (word == "(" and _is_insert(tokens, at)):
            columns, end = _columns(tokens, at + 1)
            if len(columns) > _KEPT and columns[-1][1] - columns[0][0] > _LONG_LIST:
                parts += [statement[done : columns[_KEPT - 1][1]], f", … {len(columns) - _KEPT} more"]
                done, at = columns[-1][1], end
                continue
        at += 1
    return "".join(parts) + statement[done:]


def shortened(statement: str) -> str:
    """The same, and not longer than `LONGEST`."""
    words = short_lists(statement)
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def _is_insert(tokens: list[tuple[str, int, int]], at: int) -> bool:
    """Whether the parenthesis opens the columns of `INSERT INTO table (`."""
    before = [word for word, _, _ in tokens[max(at - 6, 0) : at]]
    return bool(before) and ("insert" in before or "replace" in before) and "into" in before and "(" not in before


def _columns(tokens: list[tuple[str, int, int]], at: int) -> tuple[list[tuple[int, int]], int]:
    """Start and end of each item of a list, and the index of the token behind the list."""
    columns: list[tuple[int, int]] = []
    depth, first = 0, at
    while at < len(tokens):
        word = tokens[at][0]
        if depth == 0 and (word in _ENDS_LIST or word in (",", ")")):
            if at > first:
                columns.append((tokens[first][1], tokens[at - 1][2]))
            first = at + 1
            if word != ",":
                return columns, at
        depth += {"(": 1, ")": -1}.get(word, 0)
        at += 1
    if at > first:
        columns.append((tokens[first][1], tokens[-1][2]))
    return columns, at
