"""Statements that a careless redaction leaves a secret in."""

from __future__ import annotations

HOSTILE = [
    "'", "a'", "_", "`", "/*", "x", "\\'", "'\\", "$a$b", "$$", "/*+", "/*+ */", "1e", "1.", "--", "#'\n", "/**/",
    "/* /* */ */", "E'", "%(", "1e-", "-- '\n", "'\\''", "_a", "N'", "0x", "1 ", "a.", "`a`.", "``,", "1#\n", "1'\\''",
    "'1'--1\n\\'", "\\'' 1#\n", "_a_ '", "/*+1*/#\n", "é'", "٤ ",
]  # fmt: skip
