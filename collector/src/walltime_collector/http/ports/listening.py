"""Opens the listening sockets; refuses addresses that other machines could reach without a token."""

from __future__ import annotations

import socket

from ...config.settings import Settings, address
from ...errors import SettingsRefused


def listen(settings: Settings, name: str, *, is_guarded: bool, guard: str) -> socket.socket:
    """
    Listen on the address in the setting `name`; for the others see settings.address.

    Raises:
        SettingsRefused: It is no address, needs a token, or cannot be listened on.
    """
    setting = getattr(settings, name)
    where = settings.where(name, f"--{name.replace('_', '-')}")
    host, port = address(setting, name, is_guarded=is_guarded, guard=guard, where=where)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, UnicodeError) as error:  # UnicodeError: the host name is invalid
        raise SettingsRefused(
            f"{where} {setting}: cannot listen there: {getattr(error, 'strerror', None) or error}; "
            "stop the program that does, or choose another address (port 0: a free port)"
        ) from error


def listened(sock: socket.socket) -> str:
    """The address of a listening socket, as host:port."""
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
