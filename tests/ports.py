"""Ports for tests of what is not there."""

from __future__ import annotations

import atexit
import socket


def refusing_port() -> int:
    """
    Return a loopback port that refuses connections until this process ends.

    A port that is only free now may be another test's server a moment later. This one is bound, without listening.
    """
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    atexit.register(held.close)
    return int(held.getsockname()[1])
