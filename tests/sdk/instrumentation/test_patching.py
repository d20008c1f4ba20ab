"""Instrumenting: all or nothing, once, undone without a trace, and never in somebody else's way."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import walltime
from pymemcache.client.base import Client
from pymysql.connections import Connection
from pymysql.cursors import Cursor, DictCursor
from urllib3.connectionpool import HTTPConnectionPool
from walltime.errors import PatchError
from walltime.instrumentation import libraries, patching
from walltime.instrumentation.patching import Hook, Patch


def methods() -> dict[str, Any]:
    return {
        f"{owner.__name__}.{name}": value
        for owner in (Connection, Cursor, Client, HTTPConnectionPool)
        for name, value in vars(owner).items()
        if inspect.isfunction(value)
    }


def test_instrumenting_twice_is_instrumenting_once_and_is_undone_without_a_trace() -> None:
    before = methods()
    assert {"pymemcache", "pymysql", "urllib3"} <= set(walltime.instrument())
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
    with pytest.raises(PatchError, match="no method gone"):
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


# ---- when a library is imported ----


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package nobody has imported yet."""
    (tmp_path / "lately").mkdir()
    (tmp_path / "lately" / "__init__.py").write_text("loader = __loader__, __spec__.loader\nclass Client: ...\n")
    (tmp_path / "lately" / "broken.py").write_text("raise LookupError('theirs')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("lately", "lately.broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "lately"


def test_who_waits_for_a_module_is_called_once_and_at_once_when_it_is_there(library: str) -> None:
    finders = list(sys.meta_path)
    called: list[str] = []
    patching.when_imported(library, "a", lambda: called.append("a"))
    patching.when_imported(library, "b", lambda: called.append("b"))
    assert called == []
    module = __import__(library)
    assert called == ["a", "b"]
    patching.when_imported(library, "c", lambda: called.append("c"))
    __import__(library)
    assert called == ["a", "b", "c"]
    patching.forget(library, "a")
    assert sys.meta_path == finders, "nobody waits: nothing is left behind"
    assert module.__spec__ is not None
    loader = module.__spec__.loader
    assert module.loader == (loader, loader), "while it ran and afterwards it had the loader it has without us"
    assert type(loader).__module__ != "walltime.instrumentation.patching"


def test_looking_for_a_module_is_no_import_and_who_no_longer_waits_is_not_called(library: str) -> None:
    finders = list(sys.meta_path)
    called: list[str] = []
    patching.when_imported(library, "a", lambda: called.append("a"))
    spec = importlib.util.find_spec(library)
    assert spec is not None
    assert spec.loader is not None
    assert spec.loader.get_source(library).startswith("loader")  # type: ignore[attr-defined]  # what runpy and pkgutil do
    patching.forget(library, "a")
    __import__(library)
    assert called == []
    assert sys.meta_path == finders


def test_an_import_that_fails_fails_as_without_us_and_may_succeed_later(library: str, tmp_path: Path) -> None:
    called: list[str] = []
    patching.when_imported("lately.broken", "a", lambda: called.append("a"))
    patching.when_imported("lately.gone", "a", lambda: called.append("gone"))
    with pytest.raises(LookupError, match="theirs"):
        importlib.import_module("lately.broken")
    with pytest.raises(ModuleNotFoundError, match=r"lately\.gone"):
        importlib.import_module("lately.gone")
    assert called == []
    (tmp_path / "lately" / "gone.py").write_text("")
    importlib.invalidate_caches()
    importlib.import_module("lately.gone")
    assert called == ["gone"]
    patching.forget("lately.broken", "a")


def test_what_we_do_after_an_import_cannot_break_it(library: str) -> None:
    def broken() -> None:
        raise RuntimeError("ours")

    called: list[str] = []
    patching.when_imported(library, "a", broken)
    patching.when_imported(library, "b", lambda: called.append("b"))
    assert __import__(library).Client
    assert called == ["b"]
    failed = {name: number for name, number in walltime.counters().items() if name.startswith("failed_")}
    assert failed == {"failed_after the import of lately": 1}


def test_many_threads_importing_wrap_once(library: str) -> None:
    called: list[int] = []
    patching.when_imported(library, "a", lambda: called.append(1))
    threads = [threading.Thread(target=__import__, args=(library,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert called == [1]


def test_a_module_that_another_thread_is_importing_is_wrapped_when_it_is_complete(library: str, tmp_path: Path) -> None:
    (tmp_path / "lately" / "slow.py").write_text("import sys\nsys.half_imported.wait()\ncomplete = True\n")
    began, go_on = threading.Event(), threading.Event()

    class Wait:
        def wait(self) -> None:
            began.set()
            go_on.wait()

    sys.half_imported = Wait()  # type: ignore[attr-defined]
    importing = threading.Thread(target=importlib.import_module, args=("lately.slow",))
    importing.start()
    began.wait()
    found: list[bool] = []
    act = lambda: found.append(hasattr(sys.modules["lately.slow"], "complete"))  # noqa: E731
    waiting = threading.Thread(target=patching.when_imported, args=("lately.slow", "a", act))
    waiting.start()
    time.sleep(0.05)  # long enough to act too early
    go_on.set()
    waiting.join()
    importing.join()
    del sys.half_imported, sys.modules["lately.slow"]  # type: ignore[attr-defined]
    assert found == [True]
    patching.forget("lately.slow", "a")


def test_an_import_beside_the_last_one_that_was_waited_for_asks_every_finder(library: str, tmp_path: Path) -> None:
    (tmp_path / "editable.py").write_text("")
    asked, go_on = threading.Event(), threading.Event()

    class Slow:
        """Finds nothing, after a while."""

        def find_spec(self, name: str, *_: object) -> None:
            if name == "editable":
                asked.set()
                go_on.wait()

    class Last:
        """As of a package that is installed to be edited: behind all others."""

        def find_spec(self, name: str, *_: object) -> Any:
            file = tmp_path / "editable.py"
            return importlib.util.spec_from_file_location(name, file) if name == "editable" else None

    sys.path.remove(str(tmp_path))
    others = list(sys.meta_path)
    patching.when_imported(library, "a", lambda: None)
    sys.meta_path[1:] = [Slow(), Last()]
    failures: list[BaseException] = []

    def find() -> None:
        try:
            importlib.import_module("editable")
        except ImportError as error:
            failures.append(error)

    finding = threading.Thread(target=find)
    finding.start()
    asked.wait()
    patching._imported(library)
    go_on.set()
    finding.join()
    sys.meta_path[:] = others
    sys.modules.pop("editable", None)
    assert failures == []


def test_a_library_is_wrapped_when_the_application_imports_it_and_not_imported_for_it() -> None:
    program = """
import sys, walltime
chosen = walltime.instrument()
assert {"pymysql", "pymemcache"} <= set(chosen), chosen
assert not {"pymysql", "pymemcache", "urllib3", "django", "celery", "aiohttp", "sqlalchemy"} & set(sys.modules)
from pymemcache.client.base import Client
import pymysql.cursors as cursors
assert Client._fetch_cmd.__wrapped__ and cursors.Cursor.execute.__wrapped__
walltime.uninstrument()
assert not hasattr(Client._fetch_cmd, "__wrapped__")
import urllib3
assert not hasattr(urllib3.HTTPConnectionPool.urlopen, "__wrapped__")
"""
    ran = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_hook_is_added_with_the_patches_and_taken_away_with_them() -> None:
    class Library:
        def known(self) -> int:
            return 1

    callbacks: list[str] = []
    hook = Hook(lambda: callbacks.append("ours"), lambda: callbacks.remove("ours"))
    applied = patching.apply([hook, Patch(Library, "known", lambda f: lambda self: 2)])
    assert (callbacks, Library().known()) == (["ours"], 2)
    patching.undo(applied)
    assert (callbacks, Library().known()) == ([], 1)
    with pytest.raises(PatchError):
        patching.apply([hook, Patch(Library, "gone", lambda f: f)])
    assert callbacks == []


def test_a_module_that_renames_itself_while_it_is_imported_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As gevent's compiled ones do."""
    (tmp_path / "walltime_renamed.py").write_text("__name__ = 'something_else'")
    monkeypatch.syspath_prepend(str(tmp_path))
    imported: list[str] = []
    patching.when_imported("walltime_renamed", "test", lambda: imported.append("walltime_renamed"))
    importlib.import_module("walltime_renamed")
    assert imported == ["walltime_renamed"]
    del sys.modules["walltime_renamed"]


def test_a_library_is_instrumented_with_its_parts_and_threads() -> None:
    importlib.import_module("django.core.handlers.asgi")
    importlib.import_module("django.core.handlers.wsgi")
    assert walltime.instrument("django") == ["django"]
    parts = {"django", "django_asgi", "django_wsgi", "threading", "gc"}
    assert all(map(libraries.is_wrapped, parts))
    assert walltime.instrument("pymemcache") == ["django", "pymemcache"]
    walltime.uninstrument("django")
    assert {part for part in parts if libraries.is_wrapped(part)} == {"threading", "gc"}, "pymemcache needs them"
    walltime.uninstrument("pymemcache")
    assert not any(map(libraries.is_wrapped, parts))


def test_parts_are_no_names_and_every_part_belongs_to_a_library() -> None:
    for part in ("django_asgi", "futures", "gc", "gevent_threads", "opentelemetry_sdk"):
        with pytest.raises(walltime.SettingsError, match=part):
            walltime.instrument(part)
    assert {part for parts in libraries.LIBRARIES.values() for part in parts} == libraries.PARTS.keys()
    for driver in ("pymysql", "mysqlclient", "aiomysql", "asyncmy", "mysql_connector"):
        assert "sqlalchemy" in libraries.LIBRARIES[driver]


def test_every_library_is_documented() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "instrumentation.md").read_text()
    assert [name for name in libraries.LIBRARIES if f"`{name}`" not in documented] == []


SERVERS = {name: modules for name, modules in libraries.PARTS.items() if ".servers." in modules[0]}


@pytest.mark.parametrize("name", sorted(SERVERS))
def test_every_server_is_documented_and_its_patches_fit_what_is_installed(name: str) -> None:
    documented = (Path(__file__).parents[3] / "docs" / "servers.md").read_text()
    library = next(library for library, parts in libraries.LIBRARIES.items() if name in parts)
    assert f"`{library}`" in documented
    ours, theirs = SERVERS[name]
    importlib.import_module(theirs)
    module = importlib.import_module(ours)
    assert re.match(r"\S+ (>= )?[\d.]+", module.REQUIRES)
    walltime.instrument(library)
    assert libraries.is_wrapped(name)
    walltime.uninstrument(library)
    assert not libraries.is_wrapped(name)
