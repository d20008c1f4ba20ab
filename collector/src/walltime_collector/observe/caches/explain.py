"""What errors of a connection mean, for both sorts of caches."""

from __future__ import annotations

from ...errors import CollectorError

TIMEOUT_S = 5.0
"""For connecting and for an answer."""


def of_socket(error: Exception) -> str:
    """In a sentence without secrets; empty: it is none of a connection."""
    if isinstance(error, CollectorError):
        return str(error)  # of the engine, which knows when the server had started before
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return f"did not answer within {TIMEOUT_S:g} s"
    causes = (error, error.__cause__, error.__context__)
    reason = next((each.strerror for each in causes if isinstance(each, OSError) and each.strerror), "")
    if reason or "Connection" in type(error).__name__ or "Close" in type(error).__name__:
        return f"cannot be reached: {reason or 'the connection was closed'}"
    return ""
