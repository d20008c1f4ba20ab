"""How an https:// collector is trusted, and how we show who we are: made when configured, so that mistakes are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from walltime.errors import SettingsError

if TYPE_CHECKING:
    import ssl

    from walltime.settings import Settings


def context(settings: Settings) -> ssl.SSLContext | None:
    """
    Return what the exporter's connections use, or None for http://.

    The collector's certificate is always checked, and TLS is 1.2 or later.

    Raises:
        SettingsError: a file cannot be read, or is not what it should be.
    """
    if not settings.endpoint.lower().startswith("https:"):
        return None
    import ssl  # 10 ms that those without TLS need not wait

    try:
        made = ssl.create_default_context(cafile=settings.certificate or None)
    except (OSError, ValueError) as error:
        raise SettingsError(f"certificate {settings.certificate!r} cannot be used: {error}") from None
    made.minimum_version = max(made.minimum_version, ssl.TLSVersion.TLSv1_2)
    if settings.client_certificate:
        try:
            # The password: without one, a key that is encrypted would make OpenSSL ask on the terminal.
            made.load_cert_chain(settings.client_certificate, settings.client_key or None, password="")
        except (OSError, ValueError) as error:
            files = f"client_certificate {settings.client_certificate!r}"
            files += f" with client_key {settings.client_key!r}" if settings.client_key else ""
            raise SettingsError(f"{files} cannot be used: {error}") from None
    elif settings.client_key:
        raise SettingsError(f"client_key {settings.client_key!r} has no client_certificate beside it; give both")
    return made
