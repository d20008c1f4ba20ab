"""How much work without use a connection may cause: what bounds floods of resets, pings, settings and empty frames."""

from __future__ import annotations

from .frames import ENHANCE_YOUR_CALM, ConnectionFailed

_MOST = 1_000
_BACK_PER_CALL = 20
_BACK_PER_S = 20


class Patience:
    """Goes down with every frame that moves nothing, up with every call that ends and with time."""

    def __init__(self, now_s: float) -> None:
        self._left = _MOST
        self._since_s = now_s

    def lose(self, now_s: float, count: int = 1) -> None:
        """
        Something of no use arrived.

        Raises:
            ConnectionFailed: It was too much.
        """
        self._left -= count
        if self._left < 0:
            self._left = min(self._left + int((now_s - self._since_s) * _BACK_PER_S), _MOST)
            self._since_s = now_s
            if self._left < 0:
                raise ConnectionFailed(ENHANCE_YOUR_CALM, "too many frames that move nothing")

    def regain(self) -> None:
        """A call ended well."""
        self._left = min(self._left + _BACK_PER_CALL, _MOST)
