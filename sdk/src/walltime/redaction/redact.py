"""
What is taken out before anything leaves the process: literals in SQL, the secret part of cache keys, of URLs, of what
the application attaches.

Runs in the export thread (and never on the request's), cached per text.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from walltime.redaction.cache import size_bounded_cache
from walltime.redaction.sanitize import MAX_TEXT_CHARS, decoded
from walltime.redaction.sql_lexer import lexer

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

MAX_SQL_CHARS: Final = 16_384
REDACTED: Final = "(redacted)"

_DJANGO: Final = r"(?:[A-Za-z_.-]{0,32}:\d{1,3}:)?"  # its KEY_PREFIX and VERSION stand before the key
_KEY_PREFIX: Final = re.compile(_DJANGO + r"(?:[A-Za-z_./|-]{0,32}(?::|(?=\d)))?")
_READABLE_SEGMENT: Final = re.compile(r"v\d{1,2}|[A-Za-z_.~-]{0,32}")


@size_bounded_cache(max_chars=1_000_000)
def _redact_text(sql: str) -> str:
    return lexer.redact(sql[:MAX_SQL_CHARS], is_cut=len(sql) > MAX_SQL_CHARS)


def redact_sql(sql: object) -> str:
    """
    Return the statement without its literals: each becomes `?`, comments go, white space folds, placeholders stay.

    Double-quoted text counts as a string, as MySQL reads it by default. Where MySQL and others read quotes, backslashes
    or comments differently, what is a literal to any of them goes. At most 16,384 characters are looked at.
    """
    if type(sql) is str:
        return _redact_text(sql)
    if not issubclass(type(sql), (str, bytes, bytearray)):
        return f"({type(sql).__name__})"
    return _redact_text(decoded(sql))


@lru_cache(maxsize=4096)
def redact_key(key: Hashable, salt: bytes) -> str:
    """
    Return a cache key as its prefix and a keyed hash: `product:42` → `product:#5f1c09be6a0d2b17`.

    The prefix is a word of at most 32 letters, `_`, `.`, `-`, `/` or `|`, up to the first colon or before the first
    digit; a key that does not begin like that is hashed whole. The same salt gives the same hash.
    """
    text = key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
    prefix = _KEY_PREFIX.match(text)
    return f"{prefix.group() if prefix else ''}#{keyed_hash(text, salt)}"


def keyed_hash(text: str, salt: bytes) -> str:
    """16 hexadecimal digits that stand for the text, and cannot be tried out without the salt (BLAKE2b, RFC 7693)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=salt[:64], digest_size=8).hexdigest()


def redact_url(url: str) -> str:
    """Return the URL without user, password, query and fragment, and with `?` for what is a value in its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(unparsable)"
    host = parts.netloc.rpartition("@")[2]
    path = redact_path(parts.path)
    return f"{parts.scheme}://{host}{path}" if host else path


def redact_path(path: str) -> str:
    """
    Return the path with `?` for what is a value in it.

    A part is a value when it has a digit, is longer than 32 characters, or has other letters than ASCII's; a version
    such as `v2` is none.
    """
    return "/".join([each if _READABLE_SEGMENT.fullmatch(each) else "?" for each in path.split("/")])


_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_DENIED_WORDS: Final = frozenset({
    "password", "passwd", "passphrase", "passcode", "pwd", "pw", "secret", "secrets", "token", "jwt", "bearer",
    "credential", "credentials", "auth", "authorization", "authentication", "cookie", "cookies", "csrf",
    "csrftoken", "xsrf", "xcsrftoken", "apikey", "privatekey", "signature", "otp", "pin", "cvv", "cvc", "ssn",
    "iban", "sessionid", "phpsessid", "jsessionid", "symfony", "dsn",
})  # fmt: skip
_DENIED_PAIRS: Final = frozenset({
    "api_key", "private_key", "access_key", "secret_key", "encryption_key", "signing_key", "mysql_pwd",
    "user_session", "aiohttp_session", "connect_sid", "forwarded_for", "real_ip", "ip_address", "remote_addr",
    "client_ip", "card_number",
})  # fmt: skip
_MEASURES: Final = frozenset({
    "count", "length", "size", "bytes", "chars", "ms", "ns", "seconds", "age", "ttl", "total",
})  # fmt: skip
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s@]*@")


@lru_cache(maxsize=4096)
def _words(key: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(key[:255]))


@lru_cache(maxsize=4096)
def is_denied(key: str) -> bool:
    """
    Say whether a name promises a secret: one of the words of Sentry's deny list and more, in any spelling.

    `userPassword`, `X-API-Key` and `csrf_token` do; `token_count` is a number about some, and does not.
    """
    words = _words(key)
    if words and words[-1] in _MEASURES:
        return False
    if not _DENIED_WORDS.isdisjoint(words):
        return True
    return any(f"{one}_{other}" in _DENIED_PAIRS for one, other in pairwise(words))


class Redaction:
    """What may leave of keys, users and annotations, as the settings say."""

    def __init__(
        self, salt: bytes, *, raw_keys: bool = False, raw_sessions: bool = False, hash_users: bool = False,
        denied: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """
        Args:
            salt: key of the hashes, at least 16 bytes that nobody can guess.
            denied: words of annotations' names that promise a secret, beside ours; `*` for all names.
        """
        self.salt = salt
        self._raw_keys = raw_keys
        self._raw_sessions = raw_sessions
        self._hash_users = hash_users
        self._denied = frozenset(word.lower() for word in denied)
        self._denies_all = "*" in self._denied

    def key(self, key: object) -> str:
        """A cache key: `redact_key`, or as it is when the settings say so."""
        if not issubclass(type(key), (str, bytes)):
            return f"({type(key).__name__})"
        text = decoded(key)[:MAX_TEXT_CHARS]
        return text if self._raw_keys else redact_key(text, self.salt)

    def user(self, user: str) -> str:
        return f"#{keyed_hash(user, self.salt)}" if self._hash_users else user

    def session(self, session: str) -> str:
        """What `set_session` was given: its keyed hash, by which its requests are found together, or as it is."""
        return session if self._raw_sessions else f"#{keyed_hash(session, self.salt)}"

    def annotation(self, key: str, value: object) -> str | int | float | bool:
        """
        A fact that the application attached.

        Nothing where the name promises a secret; of a session its keyed hash, by which its requests are found
        together; an address without the credentials in it; of what is no text, number or boolean its class.
        """
        if isinstance(value, bool):
            return value
        if self._denies_all or is_denied(key) or (self._denied and not self._denied.isdisjoint(_words(key))):
            return REDACTED
        if not isinstance(value, str):
            return value if isinstance(value, (int, float)) else f"({type(value).__name__})"
        if "session" in _words(key):
            return f"#{keyed_hash(value, self.salt)}"
        return _CREDENTIALS.sub("", value) if "://" in value else value
