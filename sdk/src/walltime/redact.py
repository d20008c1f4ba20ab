"""
What is taken out before anything leaves the process: literals in SQL, memcache keys, the secret parts of URLs.

Runs in the export thread (and never on the request's), cached per text.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Hashable

MAX_SQL_CHARS: Final = 16_384

# One token a match, so the scan is linear; an unterminated literal or comment runs to the end of the text.
_SQL_TOKEN: Final = re.compile(
    r"""
      (?P<comment> /\* (?!\+) .*? (?:\*/|\Z) | \#[^\n]* | --(?=[\s]|\Z)[^\n]* )
    | (?P<literal>
          (?:[xXbBnN]|_[a-zA-Z0-9]+[ ]?)? '(?:[^'\\]|\\.|'')*(?:'|\\?\Z)
        | "(?:[^"\\]|\\.|"")*(?:"|\\?\Z)
        | 0[xX][0-9a-fA-F]+ | 0[bB][01]+
        | (?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?
      )
    | (?P<name> `(?:[^`]|``)*(?:`|\Z) | %\(\w+\)s | %s | [^\W\d][\w$]* )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE: Final = re.compile(r"\s+")
_KEY_PREFIX: Final = re.compile(r"[^\d:]*(?::|(?=\d))")


@lru_cache(maxsize=2048)
def _redact_text(sql: str) -> str:
    return _SPACE.sub(" ", _SQL_TOKEN.sub(_replace, sql[:MAX_SQL_CHARS])).strip()


def _replace(token: re.Match[str]) -> str:
    if token.lastgroup == "literal":
        return "?"
    return token.group() if token.lastgroup == "name" else " "


def redact_sql(sql: object) -> str:
    """
    Return the statement without its literals: each becomes `?`, comments go, white space folds, placeholders stay.

    Double-quoted text counts as a string, as MySQL reads it by default. At most 16,384 characters are looked at.
    """
    if isinstance(sql, (bytes, bytearray)):
        sql = sql.decode("utf-8", "replace")
    elif not isinstance(sql, str):
        return f"({type(sql).__name__})"
    return _redact_text(sql)


@lru_cache(maxsize=4096)
def redact_key(key: Hashable, salt: bytes) -> str:
    """
    Return a memcache key as its prefix and a keyed hash: `product:42` → `product:#5f1c09be6a0d2b17`.

    The prefix ends after the first colon or before the first digit; a key with neither is hashed whole. The same salt
    gives the same hash.
    """
    text = key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
    match = _KEY_PREFIX.match(text)
    prefix = match.group() if match else ""
    mac = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=salt[:64], digest_size=8)  # a keyed hash, RFC 7693
    return f"{prefix[:100]}#{mac.hexdigest()}"


def redact_url(url: str) -> str:
    """Return the URL without user, password, query and fragment; a relative one keeps its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(unparsable)"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else parts.path
