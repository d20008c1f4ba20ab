"""What errors of a connection mean, for both sorts of caches."""

from __future__ import annotations

from ...errors import CollectorError

TIMEOUT_S = 5.0
"""For connecting and for an answer."""


def of_socket(error: Exception) -> str:
    """In a sentence without secrets."""
    if isinstance(error, CollectorError):
        return str(error)  # of the engine, which knows when the server had started before
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return f"did not answer within {TIMEOUT_S:g} s"
    cause = error if isinstance(error, OSError) and error.strerror else error.__cause__ or error
    reason = getattr(cause, "strerror", None) or "the connection was closed"
    return f"cannot be reached: {reason}"
