"""Replacing methods of other people's classes, and putting them back."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from walltime.errors import PatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MISSING = object()


@dataclass(frozen=True)
class Patch:
    """
    One method to replace.

    Plain functions in place of methods: no proxies, so types, identities and isinstance stay as the host knows them.
    """

    owner: type
    name: str
    wrap: Callable[[Any], Callable[..., Any]]
    """Takes the original function, returns ours, with the host's signature."""


@dataclass(frozen=True)
class Applied:
    """A patch in place, and what it replaced."""

    owner: type
    name: str
    ours: Any
    own_original: Any
    """What the class itself had; `_MISSING` when the method was inherited."""


def apply(patches: Iterable[Patch]) -> list[Applied]:
    """
    Replace every method, or none.

    Raises:
        PatchError: the class has no such method; this version of the library is not one we know.
    """
    applied: list[Applied] = []
    for patch in patches:
        original = getattr(patch.owner, patch.name, None)
        if not callable(original):
            undo(applied)
            owner = f"{patch.owner.__module__}.{patch.owner.__qualname__}"
            raise PatchError(f"{owner} has no method {patch.name}; this version is not supported and stays as it is")
        ours = functools.wraps(original)(patch.wrap(original))
        applied.append(Applied(patch.owner, patch.name, ours, vars(patch.owner).get(patch.name, _MISSING)))
        setattr(patch.owner, patch.name, ours)
    return applied


def undo(applied: list[Applied]) -> None:
    """
    Put the originals back, last first.

    A method that somebody else has wrapped since stays: taking it away would take theirs with it.
    """
    for patch in reversed(applied):
        if vars(patch.owner).get(patch.name) is patch.ours:
            if patch.own_original is _MISSING:
                delattr(patch.owner, patch.name)
            else:
                setattr(patch.owner, patch.name, patch.own_original)
    applied.clear()
