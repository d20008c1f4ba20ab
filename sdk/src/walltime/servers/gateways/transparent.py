"""What stands in front of an application and passes for it."""

from __future__ import annotations

from typing import Any, Final

SERVES: Final = "_walltime_serves"
"""Attribute of an instrumented `__call__` that opens a transaction."""


class Transparent:
    """
    An object in front of the application, which a server or its hooks may take for the application itself.

    It has the application's attributes, sets them there, and `isinstance` takes it for one of its class.
    """

    def __init__(self, app: Any) -> None:
        self.__dict__["app"] = app

    @property  # type: ignore[misc]  # typeshed has an attribute
    def __class__(self) -> type:
        return type(self.__dict__["app"])

    def __getattr__(self, name: str) -> Any:
        if name == "app":  # half made, by `copy` or `pickle`
            raise AttributeError(name)
        return getattr(self.app, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "app" and hasattr(self.app, name):
            setattr(self.app, name, value)
        else:
            object.__setattr__(self, name, value)
