"""Wagtail, whose one route leads to every page: named by the page's class, `GET /{HomePage}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from wagtail import hooks

from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.servers.request.request import routed_to

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "wagtail >= 5.2, < 9"


def patches() -> list[Patch]:
    return [Patch(hooks, "get_hooks", _with_ours)]


def _with_ours(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_hooks(hook_name: str) -> Any:
        found = original(hook_name)
        try:
            # The hook that every page passes before it is served, in front of those that may answer themselves.
            return [_name, *found] if hook_name == "before_serve_page" else found
        except Exception as ours:
            contain("wagtail", ours)
            return found

    return get_hooks


def _name(page: Any, *_: Any) -> None:
    routed_to(type(page))
