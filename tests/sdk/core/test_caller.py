"""Which line of the application made a call of SQL: found past drivers and frameworks, noted where it pays."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymysql
import pytest
import sqlalchemy
import walltime
from shop.services import MariaDB
from sqlalchemy.util import greenlet_spawn
from walltime.core import caller

from tests.running import running_transaction
from tests.sdk.sink import Received, Sink

Connect = Callable[..., Any]


def line_number() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def place_of(call: Received) -> tuple[str, int, str]:
    function = str(call.attributes["code.function.name"])
    return (
        str(call.attributes["code.file.path"]),
        int(call.attributes["code.line.number"]),
        function.rpartition(".")[2],
    )


class Repository:
    """What an application wraps around its driver."""

    def __init__(self, connection: Any) -> None:
        self.cursor = connection.cursor()

    def fetch(self) -> None:
        self.cursor.execute("SELECT 1")
        self.line = line_number() - 1


def test_a_kept_call_says_the_line_that_made_it(recorded: Sink, connect: Connect) -> None:
    with walltime.transaction("job"):
        repository = Repository(connect())
        repository.fetch()
        repository.fetch()
        repository.cursor.executemany("SELECT %s", [(1,), (2,)])
        here = line_number() - 1
    first, second, *many = recorded.calls("mysql.query")
    assert place_of(first) == place_of(second) == (__file__, repository.line, "fetch")
    if sys.version_info >= (3, 11):
        assert first.attributes["code.function.name"] == "Repository.fetch"
    assert [place_of(call)[1] for call in many] == [here] * 2
    assert not any("walltime.code.guessed" in call.attributes for call in recorded.calls())


def test_drivers_and_frameworks_are_not_the_application(recorded: Sink, mariadb: MariaDB) -> None:
    account = mariadb.account()
    url = sqlalchemy.URL.create(
        "mysql+pymysql", account["user"], account["password"], account["host"], account["port"], account["database"]
    )
    engine = sqlalchemy.create_engine(url)
    with walltime.transaction("job"), engine.connect() as connection:
        connection.execute(sqlalchemy.text("SELECT 'through SQLAlchemy'"))
        here = line_number() - 1
    engine.dispose()
    (call,) = [call for call in recorded.calls("mysql.query") if "?" in call.attributes["db.query.text"]]
    assert place_of(call)[:2] == (__file__, here)


def test_a_coroutine_is_found_below_the_greenlet_of_its_driver() -> None:
    async def view() -> tuple[Any, int]:
        return await greenlet_spawn(caller.find, 0), line_number()

    place, line = asyncio.run(view())
    assert (place.path, place.line) == (__file__, line)


def test_failures_and_long_calls_are_looked_for_in_every_transaction(sink: Sink, connect: Connect) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    walltime.instrument("pymysql")
    connection = connect()
    with walltime.transaction("job"), connection.cursor() as cursor:
        transaction = running_transaction()
        cursor.execute("SELECT SLEEP(0.01)")
        long = line_number() - 1
        with pytest.raises(pymysql.err.ProgrammingError):
            cursor.execute("SELECT * FROM no_such_table")
        failed = line_number() - 1
        transaction.fail("Broken")
    assert [place_of(call)[1] for call in sink.calls("mysql.query")] == [long, failed]


def test_a_short_call_has_the_place_its_statement_had_before_and_says_so(sink: Sink, connect: Connect) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    walltime.instrument("pymysql")
    connection = connect()

    def run(*, keep_early: bool) -> None:
        with walltime.transaction("job"), connection.cursor() as cursor:
            transaction = running_transaction()
            transaction.locate_ns = 0 if keep_early else 10**12  # on a busy machine any call may be long
            cursor.execute("SELECT 'before'")
            transaction.fail("Broken")

    run(keep_early=False)
    run(keep_early=True)
    run(keep_early=False)
    unknown, known, guessed = sink.calls("mysql.query")
    assert "code.file.path" not in unknown.attributes
    assert place_of(guessed) == place_of(known)
    assert guessed.attributes["walltime.code.guessed"] is True
    assert "walltime.code.guessed" not in known.attributes


def test_a_call_that_is_asked_for_in_the_middle_is_looked_for_from_there_on(sink: Sink, connect: Connect) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=0.0)
    walltime.instrument("pymysql")
    connection = connect()
    with walltime.transaction("job"), connection.cursor() as cursor:
        walltime.current().keep()
        cursor.execute("SELECT 1")
        here = line_number() - 1
    assert [place_of(call)[1] for call in sink.calls("mysql.query")] == [here]


def test_the_statements_remembered_and_the_places_of_a_transaction_are_bounded(sink: Sink, connect: Connect) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0)
    walltime.instrument("pymysql")
    connection = connect()
    with walltime.transaction("job"), connection.cursor() as cursor:
        transaction = running_transaction()
        for _ in range(caller.MAX_NOTED + 10):
            cursor.execute("DO 1")
        assert transaction.places is not None
        assert len(transaction.places) == caller.MAX_NOTED
    assert len(sink.calls("mysql.query")) >= caller.MAX_NOTED
    for number in range(caller.MAX_PLACES + 10):
        code = compile("find()", f"/made/{number}.py", "eval")
        eval(code, {"find": caller.find})  # noqa: S307  # our own text
    assert len(caller._places) <= caller.MAX_PLACES
    assert len(caller._categories) <= caller.MAX_PLACES


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/app/shop/views.py", caller.APPLICATION),
        ("/usr/lib/python3/dist-packages/shop/views.py", caller.LIBRARY),
        ("/venv/lib/python3.12/site-packages/shop/views.py", caller.LIBRARY),
        ("C:\\app\\views.py", caller.APPLICATION),
        ("C:\\venv\\Lib\\site-packages\\django\\db\\models\\query.py", caller.INTERMEDIATE),
        ("/venv/lib/python3.12/site-packages/pymysql/cursors.py", caller.INTERMEDIATE),
        (caller.__file__, caller.INTERMEDIATE),
        (subprocess.__file__, caller.INTERMEDIATE),
        (f"{sys.base_prefix}/bin/gunicorn", caller.INTERMEDIATE),
        ("<frozen runpy>", caller.INTERMEDIATE),
        ("<string>", caller.LIBRARY),
    ],
)
def test_what_is_the_application(path: str, kind: int) -> None:
    assert caller.category_of(path) == kind


def test_an_application_that_is_installed_as_a_package_is_found_too(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        textwrap.dedent("""
            from walltime.core import caller

            def view():
                return caller.find()
        """)
    )
    script = tmp_path / "site-packages" / "django" / "run.py"
    script.parent.mkdir()
    script.write_text("import shop; place = shop.view(); print(place.short_path, place.line, place.function)")
    done = subprocess.run(
        [sys.executable, script],
        env={"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["shop/__init__.py", "5", "view"]
