"""Statements as each dialect writes them, with a marker in every literal and comment: what redaction must take out."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

MARK: Final = "s3cr3t"
DIALECTS: Final = ("mysql", "mysql without backslash escapes", "postgresql", "sqlite")
_ODD: Final = [
    "'",
    '"',
    "\\",
    "`",
    "#",
    "--",
    "-- ",
    "/*",
    "*/",
    "$$",
    "$1",
    "%s",
    "?",
    ";",
    "\n",
    " ",
    "é",
    "0x",
    "E'",
]


class Grammar:
    """Makes the statements of a dialect, the same for the same seed."""

    def __init__(self, dialect: str, seed: int, *, is_plain: bool = False) -> None:
        """
        Args:
            is_plain: nothing in a literal or comment that another dialect would read differently.
        """
        self._random = random.Random(f"{dialect} {seed}")
        self._dialect = dialect
        self._is_plain = is_plain
        self._escapes = dialect == "mysql"

    def statement(self) -> tuple[str, str]:
        """A statement, and the same with `?` for each literal and a space for each comment."""
        pieces = [self._choose(_BEGINNINGS)]
        for _ in range(self._random.randint(1, 6)):
            pieces.append(self._choose(_COLUMNS))
            if self._random.random() < 0.2:
                pieces.append("IN (" + ", ".join(["\0"] * self._random.randint(1, 4)) + ")")
            else:
                pieces.append(
                    self._choose(["= \0", "> \0", "LIKE \0", "BETWEEN \0 AND \0", "= %s", "= %(name)s", "= ?"])
                )
            if self._random.random() < 0.2:
                pieces.append("\1")
            pieces.append(self._choose(["AND", "OR", "AND NOT"]))
        pieces.append(self._choose(["LIMIT \0", "x IS NULL", "`odd 'name` = \0" if self._escapes else "y = \0"]))
        template = " ".join(pieces)
        sql = "".join({"\0": self.literal, "\1": self.comment}.get(char, lambda char=char: char)() for char in template)
        return sql, " ".join(template.replace("\0", "?").replace("\1", " ").split())

    def literal(self) -> str:
        postgresql: list[Callable[[], str]] = [self._dollar_quoted, lambda: "E" + self._quoted("'", escapes=True)]
        kinds: list[Callable[[], str]] = [
            lambda: self._quoted("'", escapes=self._escapes),
            lambda: self._quoted("'", escapes=self._escapes),
            lambda: "N" + self._quoted("'", escapes=self._escapes),
            lambda: "0x" + MARK.encode().hex(),
            lambda: f"x'{MARK.encode().hex()}'",
            lambda: str(self._random.choice([4711_4711, 4711_4711.25, "4711_4711", ".47114711e-3", "1.47114711E+20"])),
        ]
        if self._dialect.startswith("mysql"):
            kinds += [lambda: self._quoted('"', escapes=self._escapes), lambda: "_utf8mb4" + kinds[0]()]
        if self._dialect == "postgresql":
            kinds += postgresql
        return self._random.choice(kinds)()

    def comment(self) -> str:
        text = MARK + self._odd("*/" if self._dialect != "postgresql" else "/")
        line = text.replace("\n", " ") + "\n"
        kinds = [f"/* {text} */", f"-- {line}"]
        if self._dialect.startswith("mysql") and not self._is_plain:
            kinds.append(f"#{line}")
        elif not self._is_plain:
            kinds.append(f"--{line}")
        if self._dialect == "postgresql" and not self._is_plain:
            kinds.append(f"/* {text} /* {MARK}' */ {MARK} */")
        return self._random.choice(kinds)

    def _quoted(self, quote: str, *, escapes: bool) -> str:
        parts = []
        for text in (MARK, self._odd(), MARK):
            inner = text.replace("\\", "\\\\") if escapes else text
            double = not escapes or self._random.random() < 0.5
            parts.append(inner.replace(quote, quote * 2 if double else "\\" + quote))
        return quote + "".join(parts) + quote

    def _dollar_quoted(self) -> str:
        tag = self._random.choice(["$$", "$body$", "$_1$"])
        return f"{tag}{MARK}{self._odd('$')}{MARK}{tag}"

    def _odd(self, without: str = "") -> str:
        if self._is_plain:
            return self._random.choice([" ", "a b", "%", "é", ";"])
        text = "".join(self._random.choices([*_ODD, MARK], k=self._random.randint(0, 5)))
        return text.translate({ord(char): " " for char in without})

    def _choose(self, among: list[str]) -> str:
        return self._random.choice(among)


_BEGINNINGS = ["SELECT a1, `b 2` FROM t3 WHERE", "UPDATE t SET", "DELETE FROM shop.cart WHERE", "INSERT INTO t VALUES"]
_COLUMNS = ["name", "t.id", "`when`", "col2", "COALESCE(a, \0)", "count(*)"]
