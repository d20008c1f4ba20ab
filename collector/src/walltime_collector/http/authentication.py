"""Who may come in: the tokens of a port, compared in a time that says nothing about them."""

from __future__ import annotations

import hmac

from ..config.settings import Settings
from ..errors import SettingsRefused

LEAST_TOKEN_CHARACTERS = 16


class Door:
    """
    What a token opens; safe to use from anywhere, and never shown in a repr.

    Args:
        tokens: Each of them opens it; empty ones are none. Without any, it stands open: for loopback, or --insecure.
    """

    def __init__(self, *tokens: str) -> None:
        self._tokens = tuple(token.encode() for token in tokens if token)

    @property
    def is_open(self) -> bool:
        """Whether nobody is asked."""
        return not self._tokens

    def admits(self, token: bytes) -> bool:
        """Whether this token opens it."""
        return self.is_open or any(hmac.compare_digest(token, each) for each in self._tokens)

    def admits_bearer(self, authorization: bytes) -> bool:
        """The same for the value of an Authorization header, `Bearer …`; empty when there was none."""
        return self.admits(bearer(authorization))

    def signatures(self, text: str) -> list[str]:
        """The text signed with each of the tokens, in hexadecimal."""
        return [hmac.new(token, text.encode(), "sha256").hexdigest() for token in self._tokens]


class Access:
    """
    The doors of the collector, by what they lead to.

    ingest      OTLP, on both ports
    read        pages, API, SQL, /metrics; the admin token opens it too
    admin       what changes something. With a read token and no admin token nobody can: reading is no right to change
    clickhouse  the read-only ClickHouse HTTP interface: its own token, or else the read token; the admin token too

    Raises:
        SettingsRefused: A token cannot be read, or is not one that a header can carry and nobody can guess.
    """

    def __init__(self, settings: Settings) -> None:
        read, admin = _token(settings, "read_token"), _token(settings, "admin_token")
        clickhouse = settings.secret("clickhouse_http_token") or read  # a password, which may be anything
        self.ingest = Door(_token(settings, "ingest_token"))
        self.read = Door(read, admin)
        self.admin = Door(admin)
        self.is_admin_possible = bool(admin) or not read
        self.clickhouse = Door(clickhouse, admin)

    def is_admin(self, authorization: str) -> bool:
        """Whether the bearer of this header may change things, and know paths, addresses and what the database said."""
        return self.is_admin_possible and self.admin.admits_bearer(authorization.encode("latin-1"))


def bearer(authorization: bytes) -> bytes:
    """The token of an Authorization header; empty when it has none."""
    scheme, _, token = authorization.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def _where(settings: Settings, name: str) -> str:
    return settings.where(name if getattr(settings, f"{name}_file") is None else f"{name}_file")


def _token(settings: Settings, name: str) -> str:
    token = settings.secret(name)
    if not token:
        return ""
    if len(token) < LEAST_TOKEN_CHARACTERS or not (token.isascii() and token.isprintable()) or " " in token:
        raise SettingsRefused(
            f"{_where(settings, name)}: not a token; make one of {LEAST_TOKEN_CHARACTERS} or more letters and digits, "
            "as with: openssl rand -hex 24"
        )
    return token
