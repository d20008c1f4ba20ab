"""TLS of the ports: one certificate, TLS 1.2 or later, and client certificates where a CA is set."""

from __future__ import annotations

import ssl
from pathlib import Path

from ..errors import SettingsRefused
from .settings import Settings


class Tls:
    """
    The TLS contexts of the ports; None without a certificate. A port with TLS accepts nothing else.

    Raises:
        SettingsRefused: A file cannot be used, or a client CA is set without a certificate of our own.
    """

    def __init__(self, settings: Settings) -> None:
        self._certificate, self._key = settings.tls_certificate, settings.tls_key
        self._where = settings.where
        if self._certificate is None:
            for name in ("tls_key", "ingest_client_ca", "read_client_ca"):
                if getattr(settings, name) is not None:
                    raise SettingsRefused(
                        f"{settings.where(name)}: of no use without TLS; set WALLTIME_TLS_CERTIFICATE"
                    )
        self._stamp = self._read_stamp()
        self.ingest = self._context(settings.ingest_client_ca, "ingest_client_ca")
        self.grpc = self._context(settings.ingest_client_ca, "ingest_client_ca")
        if self.grpc is not None:
            self.grpc.set_alpn_protocols(["h2"])
        self.read = self._context(settings.read_client_ca, "read_client_ca")

    @property
    def scheme(self) -> str:
        """Of the addresses of the ports."""
        return "http" if self._certificate is None else "https"

    def renew(self) -> bool:
        """
        Read the certificate again if its files changed; new connections use it. True when it changed.

        Raises:
            SettingsRefused: It cannot be used; the former one stays in use.
        """
        stamp = self._read_stamp()
        if self._certificate is None or stamp == self._stamp:
            return False
        # tried first in a context of its own: a failed load would spoil one that is in use
        self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self._certificate)
        for context in (self.ingest, self.grpc, self.read):
            if context is not None:
                self._load(context, self._certificate)
        self._stamp = stamp
        return True

    def _context(self, client_ca: Path | None, name: str) -> ssl.SSLContext | None:
        if self._certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._load(context, self._certificate)
        if client_ca is not None:
            try:
                context.load_verify_locations(client_ca)
            except OSError as error:  # ssl.SSLError is one
                raise SettingsRefused(f"{self._where(name)} {client_ca}: {_reason(error)}") from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _load(self, context: ssl.SSLContext, certificate: Path) -> None:
        where = ""
        try:
            for name, path in (("tls_certificate", certificate), ("tls_key", self._key)):
                if path is not None:
                    where = f"{self._where(name)} {path}"
                    path.open("rb").close()  # OpenSSL does not report which of the two it cannot read
            if self._key is not None:
                where = f"{self._where('tls_certificate')} {certificate}, {where}"
            # without the callback OpenSSL would ask for the password of an encrypted key on the terminal, and wait
            context.load_cert_chain(certificate, self._key, password=lambda: b"")
        except OSError as error:  # ssl.SSLError is one
            raise SettingsRefused(f"{where}: {_reason(error)}") from error

    def _read_stamp(self) -> tuple[tuple[int, int], ...]:
        stamps = []
        for path in filter(None, (self._certificate, self._key)):
            try:
                status = path.stat()
                stamps.append((status.st_mtime_ns, status.st_ino))
            except OSError:  # reported when the file is loaded
                stamps.append((0, 0))
        return tuple(stamps)


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"not a usable PEM file ({error.reason or error}); the key must belong to it and have no password"
    return f"cannot be read: {error.strerror}; let the collector's user read it"
