"""Instrumenting: all or nothing, once, undone without a trace, and never in somebody else's way."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import walltime
from pymemcache.client.base import Client
from pymysql.connections import Connection
from pymysql.cursors import Cursor, DictCursor
from urllib3.connectionpool import HTTPConnectionPool
from walltime import patching
from walltime.patching import Patch


def methods() -> dict[str, Any]:
    return {
        f"{owner.__name__}.{name}": value
        for owner in (Connection, Cursor, Client, HTTPConnectionPool)
        for name, value in vars(owner).items()
        if inspect.isfunction(value)
    }


def test_instrumenting_twice_is_instrumenting_once_and_is_undone_without_a_trace() -> None:
    before = methods()
    assert walltime.instrument() == ["pymemcache", "pymysql", "urllib3"]
    wrapped = methods()
    assert wrapped != before
    walltime.instrument()
    assert methods() == wrapped
    walltime.uninstrument()
    assert methods() == before
    walltime.uninstrument()


def test_one_library_can_be_chosen() -> None:
    before = methods()
    assert walltime.instrument("pymemcache") == ["pymemcache"]
    changed = {name.partition(".")[0] for name, value in methods().items() if value is not before[name]}
    assert changed == {"Client"}
    with pytest.raises(walltime.SettingsError, match="psycopg"):
        walltime.instrument("psycopg")


def test_signatures_names_and_documentation_stay() -> None:
    before = {name: (inspect.signature(value), value.__doc__, value.__name__) for name, value in methods().items()}
    walltime.instrument()
    after = {name: (inspect.signature(value), value.__doc__, value.__name__) for name, value in methods().items()}
    assert after == before
    assert issubclass(DictCursor, Cursor)


def test_an_unknown_version_stays_as_it_is() -> None:
    class Library:
        def known(self) -> int:
            return 1

    original = Library.known
    patches = [Patch(Library, "known", lambda f: lambda self: 2), Patch(Library, "gone", lambda f: f)]
    with pytest.raises(walltime.PatchError, match="no method gone"):
        patching.apply(patches)
    assert Library.known is original
    assert Library().known() == 1


def test_a_wrapper_somebody_else_put_on_top_stays() -> None:
    class Base:
        def call(self) -> list[str]:
            return ["original"]

    class Library(Base):
        pass

    applied = patching.apply([Patch(Library, "call", lambda f: lambda self: [*f(self), "ours"])])
    assert Library().call() == ["original", "ours"]
    ours = Library.call
    Library.call = lambda self: [*ours(self), "theirs"]  # type: ignore[method-assign]
    patching.undo(applied)
    assert Library().call() == ["original", "ours", "theirs"]

    class Inherits(Base):
        pass

    applied = patching.apply([Patch(Inherits, "call", lambda f: lambda self: ["ours"])])
    patching.undo(applied)
    assert "call" not in vars(Inherits)
