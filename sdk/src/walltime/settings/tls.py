"""TLS to the collector: trusted CAs and the client certificate. Loaded in `configure`, so that errors show at start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from walltime.errors import SettingsError
from walltime.settings.fields import Unusable

if TYPE_CHECKING:
    import ssl
    from collections.abc import Container

    from walltime.settings.settings import Settings


def context(settings: Settings, given: Container[str], unusable: list[Unusable]) -> ssl.SSLContext | None:
    """
    Return what the exporter's connections use, or None for http://.

    The collector's certificate is always checked, and TLS is 1.2 or later. A file that a variable names and that
    cannot be used is added to `unusable`: without the authorities nobody is trusted, so nothing is sent.

    Args:
        given: the settings that code gives.

    Raises:
        SettingsError: a file that code names cannot be read, or is not what it should be.
    """
    if not settings.endpoint.lower().startswith("https:"):
        return None
    import ssl  # 10 ms that those without TLS need not wait

    def fault(name: str, message: str, instead: str) -> None:
        if name in given:
            raise SettingsError(f"{name} {message}")
        unusable.append(Unusable(name, _variable(settings, name), "", message, instead=instead))

    try:
        made = ssl.create_default_context(cafile=settings.certificate or None)
    except (OSError, ValueError) as error:
        message = f"{settings.certificate!r} cannot be used: {error}"
        fault("certificate", message, "no collector is trusted and nothing is sent")
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody
    made.minimum_version = max(made.minimum_version, ssl.TLSVersion.TLSv1_2)
    if settings.client_certificate:
        try:
            # The password: without one, a key that is encrypted would make OpenSSL ask on the terminal.
            made.load_cert_chain(settings.client_certificate, settings.client_key or None, password="")
        except (OSError, ValueError) as error:
            with_key = f" with client_key {settings.client_key!r}" if settings.client_key else ""
            message = f"{settings.client_certificate!r}{with_key} cannot be used: {error}"
            is_given = "client_certificate" in given or "client_key" not in given
            fault("client_certificate" if is_given else "client_key", message, "no client certificate is sent")
    elif settings.client_key:
        message = f"{settings.client_key!r} has no client_certificate beside it; give both"
        fault("client_key", message, "it is not used")
    return made


def _variable(settings: Settings, name: str) -> str:
    variables = type(settings).__dataclass_fields__[name].metadata["variables"]
    return next((variable for variable in variables if os.environ.get(variable, "").strip()), name)
