"""
pymemcache's `HashClient`: the calls it skips because the server failed a moment ago or no server is left.

It answers them with a default, as if they had missed. Here they are counted as `skipped`; the calls that are made are
those of `Client`, in pymemcache.py.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from pymemcache import HashClient  # the class itself: ddtrace puts another one into pymemcache.client.hash
from pymemcache.exceptions import MemcacheError

from walltime.core.call import SKIPPED, lines
from walltime.core.execution import current
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Lines, Target

_LINES: Final[dict[str, Lines]] = {
    **{
        method: lines(f"memcache.{method}")
        for method in ("set", "add", "replace", "append", "prepend", "cas", "delete", "incr", "decr", "touch")
    },
    **dict.fromkeys(("get", "gets", "gat", "gats", "get_many", "gets_many"), lines("memcache.get")),
    "set_many": lines("memcache.set"),
    **dict.fromkeys(("flush_all", "stats"), lines("memcache.admin")),
}
"""Method of a client → what a call that is not made is counted as; closing is none."""
_MANY: Final = frozenset({"get_many", "gets_many", "set_many"})


def patches() -> list[Patch]:
    of_keys = _unless_none_is_left(lambda keys, *_, **__: ("get_many", keys))
    of_values = _unless_none_is_left(lambda values, *_, **__: ("set_many", values))
    return [
        Patch(HashClient, "_safely_run_func", _unless_it_failed),
        Patch(HashClient, "_safely_run_set_many", _set_unless_it_failed),
        Patch(HashClient, "_run_cmd", _unless_none_is_left(lambda method, key, *_, **__: (method, key))),
        *[Patch(HashClient, name, of_keys) for name in ("get_many", "get_multi")],
        *[Patch(HashClient, name, of_values) for name in ("set_many", "set_multi")],
    ]


_CONTAINERS: Final[tuple[Any, ...]] = (list, tuple, dict, set, frozenset, deque, type({}.keys()), type({}.values()))


def first_of(keys: Any) -> tuple[object, int]:
    """The first key, and how many there are; of what can be gone through only once, and of odd classes, nothing."""
    kind = type(keys)
    if kind is list or kind is dict:
        return next(iter(keys), None), len(keys)
    for known in _CONTAINERS:
        if issubclass(kind, known):  # by its methods: those of a class of the application's may do anything
            return next(known.__iter__(keys), None), known.__len__(keys)
    return None, 0


def _unless_it_failed(original: Callable[..., Any]) -> Callable[..., Any]:
    """A server that failed is left alone until it is tried again."""

    def _safely_run_func(self: HashClient, client: Any, func: Any, default_val: Any, *args: Any, **kwargs: Any) -> Any:
        if not self._failed_clients:
            return original(self, client, func, default_val, *args, **kwargs)
        made: list[bool] = []

        def noted(*args: Any, **kwargs: Any) -> Any:
            try:
                made.append(True)
            except Exception as ours:
                contain("pymemcache", ours)
            return func(*args, **kwargs)

        result = original(self, client, noted, default_val, *args, **kwargs)
        try:
            if not made:
                _skip(getattr(func, "__name__", ""), client.server, args[0] if args else None)
        except Exception as ours:
            contain("pymemcache", ours)
        return result

    return _safely_run_func


def _set_unless_it_failed(original: Callable[..., Any]) -> Callable[..., Any]:
    def _safely_run_set_many(self: HashClient, client: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
        failed = original(self, client, values, *args, **kwargs)
        try:
            if type(failed) is _KEYS:  # of all that was to be set, as they are; after a try it is a list
                _skip("set_many", client.server, values)
        except Exception as ours:
            contain("pymemcache", ours)
        return failed

    return _safely_run_set_many


_KEYS: Final[type] = type({}.keys())


def _unless_none_is_left(about: Callable[..., tuple[str, Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """
    Servers that failed too often are dead; when all are, no call is made for some time.

    Args:
        about: takes the arguments; returns the method that was called, and its key or keys.
    """

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: HashClient, *args: Any, **kwargs: Any) -> Any:
            if len(self._dead_clients) < len(self.clients):
                return original(self, *args, **kwargs)
            checked_s, refused = self._last_dead_check_time, MemcacheError
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                refused = type(error)  # "All servers seem to be down": a MemcacheError; an illegal key: one of its kind
                raise
            finally:
                try:
                    # Else it has put servers back, and called one.
                    if refused is MemcacheError and self._last_dead_check_time == checked_s:
                        method, of = about(*args, **kwargs)
                        _skip(method, None, of)
                except Exception as ours:
                    contain("pymemcache", ours)

        return run

    return wrap


def _skip(method: str, server: Target | None, of: Any) -> None:
    """Record a call that was not made, without time."""
    at, execution = _LINES.get(method), current()
    if at is None or execution is None:
        return
    if method in _MANY and hasattr(of, "__len__") and not of:
        return
    subject, requested = first_of(of) if method in _MANY else (of, 1)
    outer_ns = execution.nested_ns
    now_ns = clock()
    execution.record(at[server], subject, now_ns, now_ns, outer_ns, SKIPPED, requested)
