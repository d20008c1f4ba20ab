"""TLS for the ports: one certificate, 1.2 and later, and on request the certificate of who connects."""

from __future__ import annotations

import ssl
from pathlib import Path

from ..errors import SettingsRefused
from .settings import Settings


class Tls:
    """
    The TLS of the ports, or that there is none. A port that speaks TLS speaks nothing else.

    Raises:
        SettingsRefused: A file cannot be used, or an authority of clients is named without a certificate of our own.
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
        Read the certificate again if its files changed: connections made from now on get it. True when it did.

        Raises:
            SettingsRefused: It cannot be used; connections go on with the one before.
        """
        stamp = self._read_stamp()
        if self._certificate is None or stamp == self._stamp:
            return False
        self._load(
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self._certificate
        )  # a failed load would spoil a context that is in use
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
                raise SettingsRefused(f"{self._where(name)} {client_ca}: {_explained(error)}") from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _load(self, context: ssl.SSLContext, certificate: Path) -> None:
        named = f"{self._where('tls_certificate')} {certificate}"
        _check_readable(certificate, named)
        if self._key is not None:
            its_key = f"{self._where('tls_key')} {self._key}"
            _check_readable(self._key, its_key)
            named += f", {its_key}"
        try:
            # without the callback OpenSSL would ask the terminal for the password of an encrypted key, and wait
            context.load_cert_chain(certificate, self._key, password=lambda: b"")
        except OSError as error:  # ssl.SSLError is one
            raise SettingsRefused(f"{named}: {_explained(error)}") from error

    def _read_stamp(self) -> tuple[tuple[int, int], ...]:
        stamps = []
        for path in filter(None, (self._certificate, self._key)):
            try:
                found = path.stat()
            except OSError:  # said by whoever reads it
                stamps.append((0, 0))
            else:
                stamps.append((found.st_mtime_ns, found.st_ino))
        return tuple(stamps)


def _check_readable(path: Path, named: str) -> None:
    """OpenSSL does not say which of the two files it cannot read."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise SettingsRefused(f"{named}: {_explained(error)}") from error


def _explained(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"not a usable PEM file ({error.reason or error}); the key must belong to it and have no password"
    return f"cannot be read: {error.strerror}; let the collector's user read it"
