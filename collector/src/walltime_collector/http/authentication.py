"""Token authentication: the credentials of each port, compared in constant time."""

from __future__ import annotations

import hmac

from ..config.settings import Settings
from ..errors import SettingsRefused

MIN_TOKEN_CHARACTERS = 16


class Credential:
    """The tokens of one purpose, never shown in a repr; empty ones do not count, without any all requests pass."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = tuple(token.encode() for token in tokens if token)

    @property
    def is_unset(self) -> bool:
        return not self._tokens

    def accepts(self, token: bytes) -> bool:
        """Whether this token is one of them."""
        return self.is_unset or any(hmac.compare_digest(token, each) for each in self._tokens)

    def accepts_bearer(self, authorization: bytes) -> bool:
        """The same for the value of an Authorization header, `Bearer …`; empty without one."""
        return self.accepts(bearer(authorization))

    def signatures(self, text: str) -> list[str]:
        """The text signed with each of the tokens, in hexadecimal."""
        return [hmac.new(token, text.encode(), "sha256").hexdigest() for token in self._tokens]


class Access:
    """
    The credentials of the collector, by purpose.

    ingest      OTLP, on both ports
    read        pages, API, SQL, /metrics; the admin token is accepted too
    admin       changes. With a read token and no admin token there are none: a read token permits no change
    clickhouse  the read-only ClickHouse HTTP interface: its own token or else the read token; the admin token too

    Raises:
        SettingsRefused: A token cannot be read, is too short, or has characters that a header cannot carry.
    """

    def __init__(self, settings: Settings) -> None:
        read, admin = _token(settings, "read_token"), _token(settings, "admin_token")
        clickhouse = settings.secret("clickhouse_http_token") or read  # a password: any text
        self.ingest = Credential(_token(settings, "ingest_token"))
        self.read = Credential(read, admin)
        self.admin = Credential(admin)
        self.is_admin_possible = bool(admin) or not read
        self.clickhouse = Credential(clickhouse, admin)

    def is_admin(self, authorization: str) -> bool:
        """Whether this header permits changes, and to see paths, addresses and messages of the database."""
        return self.is_admin_possible and self.admin.accepts_bearer(authorization.encode("latin-1"))


def bearer(authorization: bytes) -> bytes:
    """The token of an Authorization header; empty when it has none."""
    scheme, _, token = authorization.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def _token(settings: Settings, name: str) -> str:
    token = settings.secret(name)
    if token and (len(token) < MIN_TOKEN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token):
        where = settings.where(name if getattr(settings, f"{name}_file") is None else f"{name}_file")
        raise SettingsRefused(
            f"{where}: not a token; make one of {MIN_TOKEN_CHARACTERS} or more letters and digits, "
            "as with: openssl rand -hex 24"
        )
    return token
