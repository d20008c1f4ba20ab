"""All drivers of MySQL: instrumented they are the same classes, and not instrumented any more they are as they were."""

from __future__ import annotations

import importlib
import inspect
import pickle
from typing import Any

import pytest
import walltime

CLASSES = {
    "pymysql": ("pymysql.connections.Connection", "pymysql.connections.MySQLResult", "pymysql.cursors.Cursor"),
    "mysqlclient": (
        "MySQLdb.connections.Connection",
        "MySQLdb.cursors.BaseCursor",
        "MySQLdb.cursors.CursorUseResultMixIn",
        "MySQLdb.cursors.SSCursor",
        "MySQLdb.cursors.SSDictCursor",
    ),
    "mysql_connector": (
        "mysql.connector.connection.MySQLConnection",
        "mysql.connector.cursor.MySQLCursor",
        "mysql.connector.cursor.MySQLCursorPrepared",
    ),
    "aiomysql": (
        "aiomysql.connection.Connection",
        "aiomysql.connection.MySQLResult",
        "aiomysql.cursors.Cursor",
        "aiomysql.pool.Pool",
    ),
    "asyncmy": ("asyncmy.connection.Connection", "asyncmy.connection.PreparedStatement", "asyncmy.pool.Pool"),
    "sqlalchemy": ("sqlalchemy.pool.QueuePool",),
}


def classes(library: str) -> list[Any]:
    names = [name.rpartition(".") for name in CLASSES[library]]
    return [getattr(importlib.import_module(module), name) for module, _, name in names]


def own(library: str) -> dict[str, Any]:
    return {f"{c.__name__}.{name}": value for c in classes(library) for name, value in vars(c).items()}


@pytest.mark.parametrize("library", CLASSES)
def test_what_is_instrumented_is_put_back_without_a_trace(library: str) -> None:
    before = own(library)
    walltime.instrument(library)
    wrapped = {name for name, value in own(library).items() if before.get(name) is not value}
    assert wrapped
    walltime.uninstrument(library)
    assert own(library) == before


@pytest.mark.parametrize("library", CLASSES)
def test_signatures_names_and_coroutines_stay(library: str) -> None:
    def looks() -> dict[str, Any]:
        methods = [(f"{c.__name__}.{name}", getattr(c, name)) for c in classes(library) for name in dir(c)]
        return {
            name: (method.__name__, method.__doc__, signature(method), inspect.iscoroutinefunction(method))
            for name, method in methods
            # A driver's own method that is only ever awaited may return the coroutine: a frame less for each statement.
            if (inspect.isfunction(method) or inspect.ismethoddescriptor(method)) and "_execute_command" not in name
        }

    before = looks()
    walltime.instrument(library)
    after = looks()
    walltime.uninstrument(library)
    assert {name: after[name] for name in before} == before


def signature(method: Any) -> str:
    try:
        return str(inspect.signature(method))
    except (TypeError, ValueError):  # of a compiled method
        return ""


@pytest.mark.parametrize("library", CLASSES)
def test_classes_and_errors_pickle_as_before(library: str) -> None:
    walltime.instrument(library)
    for one in classes(library):
        assert pickle.loads(pickle.dumps(one)) is one  # noqa: S301  # our own
    walltime.uninstrument(library)


def test_pymysql_in_the_place_of_mysqlclient_is_instrumented_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    import pymysql

    monkeypatch.setitem(sys.modules, "MySQLdb", pymysql)
    stale = ("MySQLdb.", "walltime.clients.mysql.mysqlclient")
    for name in [name for name in sys.modules if name.startswith(stale)]:
        monkeypatch.delitem(sys.modules, name)
    walltime.instrument("mysqlclient")
    assert [name for name in sys.modules if name.startswith("MySQLdb.")] == []
    walltime.uninstrument("mysqlclient")
