"""
Patches methods of libraries, restores them, and waits for the import of libraries that are not loaded yet.

A library is patched when the application has imported it: importing Django or Celery for the application would cost it
0.1 to 0.5 s, and some libraries look at their settings when they are imported.
"""

from __future__ import annotations

import functools
import importlib
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from inspect import getattr_static, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from walltime.errors import PatchError, contain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

T = TypeVar("T")

_MISSING = object()

MEASURED_ELSEWHERE: Final = "_walltime_elsewhere"
"""Attribute of a class whose calls the wrappers of its parents leave alone: another wrapper measures them, or they are
our own exports."""


@dataclass(frozen=True)
class Patch:
    """
    One method to replace, or the getter of a property.

    Plain functions in place of methods: no proxies, so types, identities and isinstance stay as the host knows them.
    """

    owner: type | ModuleType
    name: str
    wrap: Callable[[Any], Callable[..., Any]]
    """Takes the original function, returns ours, with the host's signature."""


@dataclass(frozen=True)
class Hook:
    """A callback that a library takes, such as one of `gc.callbacks`: where its methods cannot be replaced."""

    add: Callable[[], object]
    remove: Callable[[], object]


@dataclass(frozen=True)
class Applied:
    """A patch in place, and what it replaced."""

    owner: type | ModuleType
    name: str
    ours: Any
    own_original: Any
    """What the class itself had; `_MISSING` when the method was inherited."""


def apply(patches: Iterable[Patch | Hook]) -> list[Applied | Hook]:
    """
    Replace every method, or none.

    Raises:
        PatchError: the class has no such method; this version of the library is not one we know.
    """
    applied: list[Applied | Hook] = []
    for patch in patches:
        if isinstance(patch, Hook):
            patch.add()
            applied.append(patch)
            continue
        original = found = getattr(patch.owner, patch.name, None)
        if isinstance(found, property):
            original = found.fget
        if not callable(original):
            undo(applied)
            of = patch.owner
            owner = f"{of.__module__}.{of.__qualname__}" if isinstance(of, type) else of.__name__
            raise PatchError(f"{owner} has no method {patch.name}; this version is not supported and stays as it is")
        left = _left_under(found)
        if left is not None:
            applied.append(left)
            continue
        ours: Any = functools.wraps(original)(patch.wrap(original))
        if isinstance(found, property):
            ours = found.getter(ours)
        applied.append(Applied(patch.owner, patch.name, ours, vars(patch.owner).get(patch.name, _MISSING)))
        setattr(patch.owner, patch.name, ours)
    return applied


def takes_no_more(owner: type, method: str, *parameters: str) -> None:
    """
    Make sure that ours, which takes these by their names, takes all that the method does.

    Raises:
        PatchError: it has others in this version.
    """
    taken = signature(getattr(owner, method)).parameters.values()
    more = {each.name for each in taken if each.kind is not each.VAR_POSITIONAL and each.kind is not each.VAR_KEYWORD}
    if unknown := sorted(more.difference(parameters)):
        raise PatchError(f"{owner.__module__}'s {method} takes {', '.join(unknown)}, which is not known here")


def undo(applied: list[Applied | Hook]) -> None:
    """
    Put the originals back, last first.

    A method that somebody else has wrapped since stays: taking it away would take theirs with it. It is known by the
    next `apply`, which does not wrap it again.
    """
    for patch in reversed(applied):
        if isinstance(patch, Hook):
            patch.remove()
        elif vars(patch.owner).get(patch.name) is patch.ours:
            if patch.own_original is _MISSING:
                delattr(patch.owner, patch.name)
            else:
                setattr(patch.owner, patch.name, patch.own_original)
        else:
            _left[patch.ours] = patch
    applied.clear()


_left: dict[Any, Applied] = {}
"""Our functions that could not be taken away, since somebody else's are around them."""


def _left_under(function: Any) -> Applied | None:
    """What of ours is in force under somebody else's wrappers, as far as they say what they wrap."""
    for _ in range(64):
        if function is None or not _left:
            break
        for ours, applied in _left.items():
            if ours is function:
                del _left[ours]
                return applied
        function = getattr(function, "__wrapped__", None)
    return None


def unwrapped(kind: type[T]) -> type[T]:
    """
    Return a subclass whose methods are those of the class without what anybody has wrapped around them.

    As far as wrappers say what they wrap; what is wrapped later is not seen either.
    """
    own = {}
    for name in dir(kind):
        method = getattr_static(kind, name)
        if isinstance(method, (staticmethod, classmethod)):
            continue
        for _ in range(64):
            method = getattr(method, "__wrapped__", method)
        if isinstance(method, FunctionType):
            own[name] = method
    return type(kind.__name__, (kind,), {**own, "__module__": kind.__module__, MEASURED_ELSEWHERE: True})


# ---- when a module is imported ----

_waiting: dict[str, dict[str, Callable[[], None]]] = {}
"""Module → who waits for it → what is to be done then. A module stays here: another thread may add who waits."""


def when_imported(module: str, who: str, act: Callable[[], None]) -> None:
    """
    Call `act` once, now when the module is imported already, else right after its import, before its importer goes on.

    Nothing that `act` raises reaches the importer.
    """
    _waiting.setdefault(module, {})[who] = act
    _stand_first()
    spec = getattr(sys.modules.get(module), "__spec__", None)
    if getattr(spec, "_initializing", False):
        with suppress(Exception):  # it is the importing thread's
            importlib.import_module(module)  # waits for the end of the import in another thread
    if module in sys.modules:
        _imported(module)


def forget(module: str, who: str) -> None:
    """
    No longer wait. When nobody waits for anything, nothing is left behind.

    The finder leaves here alone, not after an import: a thread that looks for a module at that moment would leave out
    the finder behind the one that it is asking.
    """
    _waiting.get(module, {}).pop(who, None)
    if not any(_waiting.values()):
        with suppress(ValueError):  # another thread was faster
            sys.meta_path.remove(_finder)
        if any(_waiting.values()):  # since then
            _stand_first()


def _stand_first() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def _imported(module: str) -> None:
    for who, act in list(_waiting.get(module, {}).items()):
        if _waiting.get(module, {}).pop(who, None) is None:  # another thread was faster
            continue
        try:
            act()
        except Exception as error:  # our failure is not the import's
            contain(f"after the import of {module}", error)


class _Finder(MetaPathFinder):
    """Stands first on `sys.meta_path` while somebody waits; the finders behind it find, as ever."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _waiting.get(fullname):
            return None
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec: ModuleSpec | None = find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(Loader):
    """The module's own loader, which it gets back before its code runs; and then those who wait."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__  # gevent's modules give themselves another one
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _imported(name)


_finder = _Finder()
