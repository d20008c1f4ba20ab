"""Both forms of the hot path, Python and the core in C, do the same: records, bills, bytes, exceptions."""

from __future__ import annotations

import gc
import importlib.util
import inspect
import os
import subprocess
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime import native
from walltime.clients.mysql import statements
from walltime.core import bill
from walltime.core.call import CONTINUED, SKIPPED, Call, Lines, lines
from walltime.core.execution import Branch, enter, inherited, running
from walltime.core.ids import Ids
from walltime.core.transaction import Transaction
from walltime.errors import contain, contained
from walltime.instrumentation.measure import Measure
from walltime.instrumentation.template import Inline, recorded

from tests.sdk.core.generated_calls import calls

greenlet: Any = importlib.import_module("greenlet")
ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".venv" / "native"


def loaded() -> Any:
    """The core, whether this process uses it or not."""
    if native.core is not None:
        return native.core
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "build_ext",
        "--build-lib",
        str(BUILT),
        "--build-temp",
        f"{BUILT}/build",
    ]
    subprocess.run(command, cwd=ROOT / "sdk" / "native", check=True, capture_output=True)
    file = next(BUILT.glob("walltime_native.*.so"), None)
    if file is None:
        pytest.skip("no C compiler, or no headers of Python: apt-get install gcc python3-dev", allow_module_level=True)
    spec = importlib.util.spec_from_file_location("walltime_native", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.bind(Transaction, running, SKIPPED, CONTINUED)
    for name, function in native.python.items():
        if name != "record":
            module.faster(function)
    return module


CORE = loaded()
NUMBERS = st.one_of(st.integers(0, 300), st.integers(-(2**70), 2**70), st.booleans())
SUBJECTS = st.sampled_from([None, "SELECT 1", "SELECT " + "2", b"k", ("SELECT 1",), (None,), (), CONTINUED, ["odd"]])
FAILURES = st.sampled_from([None, None, None, "1213", "1205", "OSError", SKIPPED])


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments, detail=True)
    except (TypeError, OverflowError, AttributeError, IndexError) as error:
        return type(error)


def transaction() -> Transaction:
    return Transaction("GET /", "server", Ids(1, 2), 0, 0)


@pytest.fixture
def current() -> Iterator[Transaction]:
    made = transaction()
    token = enter(made)
    yield made
    running.reset(token)


# ---- sums and bytes ----


def billed(made: list[Any], core: Any, *, detail: bool) -> Any:
    """The bill of these calls, by one form."""
    before, bill.core = bill.core, core
    try:
        of = bill.Bill()
        of.room_bytes = 2000
        of.add(made, detail=detail)
    finally:
        bill.core = before
    parts: Any = (of.components, of.targets, of.statements)
    return [{key: [getattr(cell, name) for name in bill.COUNTERS] for key, cell in part.items()} for part in parts]


@given(st.lists(calls(), max_size=60), st.booleans())
def test_bills_are_equal(made: list[Call], detail: bool) -> None:
    made = [(*call[:5], SKIPPED if call[5] == "OSError" else call[5], *call[6:]) for call in made]
    assert billed(made, CORE, detail=detail) == billed(made, None, detail=detail)


@given(st.lists(st.tuples(st.integers(0, 5), SUBJECTS, *[NUMBERS] * 3, FAILURES, *[NUMBERS] * 2), max_size=12))
def test_bills_of_odd_calls_are_equal(made: list[Any]) -> None:
    assert outcome(billed, made, CORE) == outcome(billed, made, None)


@given(st.text(max_size=300), NUMBERS, st.lists(NUMBERS, max_size=40))
def test_bytes_are_equal(key: str, number: int, numbers: list[int]) -> None:
    for each in (key, key.encode("ascii", "ignore").decode()[:130]):
        assert CORE.count(each, number) == native.python["count"](each, number)
        assert CORE.counts(each, numbers) == native.python["counts"](each, numbers)
        assert CORE.counts(each, tuple(numbers)) == native.python["counts"](each, tuple(numbers))


@given(st.binary(max_size=80), NUMBERS, NUMBERS, NUMBERS, st.one_of(st.binary(max_size=400), st.just(b"x" * 20_000)))
def test_spans_are_equal(shared: bytes, number: int, started_ns: int, ended_ns: int, about: bytes) -> None:
    given = shared, number, started_ns, ended_ns, about
    python = native.python["child"]
    try:
        expected = python(*given)
    except Exception as error:  # noqa: BLE001
        with pytest.raises(type(error)):
            CORE.child(*given)
    else:
        assert CORE.child(*given) == expected


# ---- record ----

RECORD = CORE.Callable(native.RECORD, native.python["record"])


@given(st.lists(st.tuples(SUBJECTS, NUMBERS, NUMBERS, NUMBERS, FAILURES, NUMBERS, NUMBERS), max_size=30), st.booleans())
def test_records_are_equal(made: list[Any], on_a_branch: bool) -> None:
    both = transaction(), transaction()
    for of, record in zip(both, (native.python["record"], RECORD), strict=True):
        where: Any = Branch(of) if on_a_branch else of
        for subject, started_ns, ended_ns, outer_ns, failure, requested, matched in made:
            call = lines("mysql.query")[None], subject, started_ns, ended_ns, outer_ns
            if on_a_branch:
                where.record(*call, failure, requested, matched)
            elif matched:
                record(where, *call, failure, requested, matched)
            elif requested:
                record(where, *call, requested=requested)
            else:
                record(where, *call)
    assert both[0].calls == both[1].calls
    assert both[0].nested_ns == both[1].nested_ns
    assert (both[0].places or {}).keys() == (both[1].places or {}).keys()


def test_record_of_many_calls_makes_room_and_of_one_that_is_over_is_late() -> None:
    of = transaction()
    for n in range(5000):
        RECORD(of, lines("memcache.get")["a", 1], "k", n, n + 1, n, None, 1, 1)
    assert len(of.calls) < 2100
    assert of.add_up(detail=True).components["memcache.get"].calls == 5000
    of.duration_ns = 1
    before = len(of.calls)
    RECORD(of, lines("memcache.get")["a", 1], "k", 1, 2, 0)
    assert len(of.calls) == before
    with pytest.raises(TypeError):
        RECORD(of)


# ---- wrappers ----


class Fails(Exception):
    """The host's."""


class Server:
    """A client of MySQL and memcached in one, whose answers are given."""

    sock: object = 1
    server = "a", 1

    def __init__(self) -> None:
        self.answer: Any = 1

    def query(self, sql: Any, unbuffered: bool = False) -> Any:
        return self._answered()

    def fetch(self, name: Any, keys: Any, prefix: bytes = b"") -> Any:
        return self._answered()

    def execute(self, query: Any, args: Any = None) -> Any:
        return self.query(query)

    def _answered(self) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer


QUERY: Lines = lines("mysql.query")
GET: Lines = lines("memcache.get")


def _describe_query(of: Any, args: Any, rows: Any, error: BaseException | None) -> Any:
    of._walltime = QUERY["a", 1], 7
    return QUERY["a", 1], args[0], None, 7, rows if type(rows) is int and error is None else 0


def _describe_fetch(of: Any, args: Any, values: Any, error: BaseException | None) -> Any:
    of._walltime = {args[0]: GET["a", 1]}
    failure = None if error is not None or values or of.sock is not None else "swallowed"
    return GET["a", 1], args[1][0], failure, len(args[1]), len(values) if error is None else 0


STATEMENT = Measure(
    "server", _describe_query,
    inline=Inline(
        "query(self, sql, unbuffered=False)", "(sql,)", known="self._walltime",
        usual="type(subject := sql if execution.statement is None else execution.statement) is str"
        " and len(subject) <= 40 and result < 100",
        record=recorded("known[0]", "subject", "known[1]", "result"), native=native.STATEMENT, most=40,
    ),
)  # fmt: skip
LOOKUP = Measure(
    "server", _describe_fetch,
    inline=Inline(
        "fetch(self, name, keys, prefix=b'')", "(name, keys)", known="self._walltime[name]",
        usual="type(keys) is list and len(keys) == 1 and (result or self.sock is not None)",
        record=recorded("known", "keys[0]", "1", "len(result)"), native=native.LOOKUP,
    ),
)  # fmt: skip


def wrapped(measure: Measure, method: Any, *, in_c: bool) -> Any:
    core, native.core = native.core, CORE if in_c else None
    try:
        return measure.call(method)
    finally:
        native.core = core


def forms() -> list[Any]:
    made: list[Any] = []
    for in_c in (False, True):
        query, fetch = wrapped(STATEMENT, Server.query, in_c=in_c), wrapped(LOOKUP, Server.fetch, in_c=in_c)
        assert type(query).__name__ == ("Callable" if in_c else "function")
        made.append(type("Form", (Server,), {"query": query, "fetch": fetch}))

    def execute(self: Any, query: Any, args: Any = None) -> Any:
        execution = running.get()
        if execution is None:
            return Server.execute(self, query, args)
        outer = execution.statement
        if outer is not None and (query is outer or type(query) is not str):
            return Server.execute(self, query, args)
        execution.statement = query
        try:
            return Server.execute(self, query, args)
        finally:
            execution.statement = outer

    made[0].execute = execute
    made[1].execute = CORE.Callable(native.SCOPE, execute, Server.execute)
    return made


FORMS = forms()
ERRORS = st.sampled_from([Fails("theirs"), KeyboardInterrupt(), StopIteration(3), SystemExit(1)])
ROWS = st.one_of(st.integers(-3, 120), st.just(2**64 - 1), ERRORS)
VALUES = st.one_of(st.sampled_from([{}, {"k": 1}, {"k": 1, "l": 2}]), ERRORS)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["query", "fetch", "execute", "reset", "close"]),
        st.sampled_from(["SELECT 1", "SELECT " + "x" * 60, b"SELECT 2", None, "k"]),
        st.sampled_from([["k"], [b"k"], ["k", "l"], ("k",)]),
        ROWS,
        VALUES,
        st.booleans(),
    ),
    max_size=12,
)


def lived(form: type[Server], steps: Any, *, is_in_transaction: bool, ends: bool) -> Any:
    """What the host sees of a program, and what is recorded but for its times."""
    of, server, cache, seen = transaction(), form(), form(), []
    token = enter(of if is_in_transaction else None)
    try:
        for number, (what, sql, keys, rows, values, by_name) in enumerate(steps):
            server.answer, cache.answer = rows, values
            try:
                if what == "query":
                    seen.append(server.query(sql=sql) if by_name else server.query(sql))
                elif what == "execute":
                    seen.append(server.execute(sql, None))
                elif what == "fetch":
                    seen.append(cache.fetch(b"get", keys, prefix=b"p") if by_name else cache.fetch(b"get", keys))
                elif what == "reset":
                    server.__dict__.pop("_walltime", None)
                    cache.__dict__.pop("_walltime", None)
                else:
                    cache.sock = None
            except BaseException as error:  # noqa: BLE001  # the host's own
                seen.append(error)
            if ends and number == 5:
                of.duration_ns = 1
    finally:
        running.reset(token)
    recorded_calls = [(line, subject, *rest) for line, subject, _, _, _, *rest in of.calls]
    owns_ns = [call[4] for call in of.calls]
    assert all(own_ns >= 0 for own_ns in owns_ns)
    assert sum(owns_ns) == of.nested_ns or ends
    assert of.statement is None
    return seen, recorded_calls, contained.copy()


@given(STEPS, st.booleans(), st.booleans())
def test_random_programs_see_and_leave_the_same(steps: Any, is_in_transaction: bool, ends: bool) -> None:
    lives = []
    for form in FORMS:
        contained.clear()
        lives.append(lived(form, steps, is_in_transaction=is_in_transaction, ends=ends))
    contained.clear()
    assert lives[0] == lives[1]


TEXTS = st.text("SELECTselect 1;/#-*\n'\u00e9\u20ac", max_size=30)
TAGS = statements.tagged_command(inherited)


@given(st.one_of(TEXTS, TEXTS.map(str.encode), TEXTS.map(str.encode).map(bytearray), st.binary(max_size=12), st.none()),
       st.sampled_from([3, 3, 3, 22, True]), st.integers(0, 150), st.booleans())  # fmt: skip
def test_tagged_statements_are_equal(sql: Any, command: int, room: int, is_known: bool) -> None:
    def _execute_command(self: Any, command: int, sql: Any) -> Any:
        return command, sql

    before, native.core = native.core, None
    try:
        python = TAGS(_execute_command)
        native.core = CORE
        in_c = TAGS(_execute_command)
    finally:
        native.core = before
    assert type(in_c).__name__ == "Callable"
    of = transaction()
    if is_known:
        of.sql_comment = " /*a='1'*/", b" /*a='1'*/", room
    token = enter(of)
    try:
        assert in_c(None, command, sql) == python(None, command, sql)
        assert in_c(None, command, sql=sql) == python(None, command, sql=sql)
    finally:
        running.reset(token)


def test_a_call_that_switches_greenlets_is_recorded_where_it_began(current: Transaction) -> None:
    main = greenlet.getcurrent()
    server = FORMS[1]()
    server.query("SELECT 0")
    server.answer = lambda: main.switch("waits") or 3
    other = greenlet.greenlet(server.query)
    other.gr_context = greenlet.getcurrent().gr_context
    inner = FORMS[1]()
    assert other.switch("SELECT 1") == "waits"
    for _ in range(50):
        inner.query("SELECT 2")
    gc.collect()
    assert other.switch(None) == 3
    assert [call[1] for call in current.calls].count("SELECT 2") == 50


def test_a_greenlet_that_is_killed_in_a_call_leaves_nothing(current: Transaction) -> None:
    main = greenlet.getcurrent()
    for _ in range(20):
        server = FORMS[1]()
        server.answer = lambda: main.switch("waits")
        other = greenlet.greenlet(server.query)
        other.gr_context = greenlet.getcurrent().gr_context
        assert other.switch("SELECT 1") == "waits"
        del other  # GreenletExit is raised in it
        gc.collect()
    assert not current.in_call


def test_objects_have_as_many_references_as_before(current: Transaction) -> None:
    query, key, name = "SELECT " + str(id(current)), "key " + str(id(current)), b"get"
    rows, values, keys, failure = 99, {"k": "v"}, [key], Fails("theirs")
    server = FORMS[1]()
    cache = FORMS[1]()
    watched = [query, key, name, values, keys, server, current, failure, FORMS[1].query, server.__dict__, True, None, 7]

    live_once: list[Callable[[], Any]] = [
        lambda: server.query(query), lambda: server.execute(query), lambda: cache.fetch(name, keys),
        lambda: server.query(sql=query), lambda: cache.fetch(name, (key, key)), lambda: CORE.count(query, rows),
        lambda: CORE.by_line(current.calls), lambda: CORE.sums(current.calls),
        lambda: CORE.times_by_text(current.calls),
    ]  # fmt: skip

    def live() -> None:
        for _ in range(300):
            for answer in (rows, values, {}, failure, 2**64, None):
                server.answer = cache.answer = answer
                for call in live_once:
                    try:
                        call()
                    except Fails as error:
                        error.__traceback__ = None
            current.calls.clear()
            current.look_at = 100
        contained.clear()
        current.places = None
        gc.collect()

    live()
    before = [sys.getrefcount(each) for each in watched]
    live()
    after = [sys.getrefcount(each) for each in watched]
    assert [abs(b - a) < 60 for a, b in zip(before, after, strict=True)] == [True] * len(watched), (before, after)


def test_a_million_calls_leave_nothing(current: Transaction) -> None:
    """Numbers have no owner whose references could be counted: a lost one is seen in the memory of the process."""
    server, cache = FORMS[1](), FORMS[1]()
    cache.answer = {"k": 1}

    def live(count: int) -> None:
        for _ in range(count // 100):
            for _ in range(25):
                server.query("SELECT 1")
                server.execute("SELECT 2")
                cache.fetch(b"get", ["k"])
                CORE.count("walltime.mysql.query.time_ns", 1 << 40)
            CORE.sums(current.calls)
            CORE.by_line(current.calls)
            CORE.times_by_text(current.calls)
            current.calls.clear()
            current.look_at = 100

    live(100_000)
    before_blocks = sys.getallocatedblocks()
    live(1_000_000)
    assert sys.getallocatedblocks() - before_blocks < 1000


def test_no_half_made_record_can_be_found(current: Transaction) -> None:
    server = FORMS[1]()
    server.query("SELECT 0")

    def look() -> int:
        gc.collect()
        for each in gc.get_objects():
            if type(each) is tuple and len(each) == 8:
                assert "<NULL>" not in repr(each)
        return 1

    server.answer = look
    assert server.query("SELECT 1") == 1


def test_it_is_freed_with_what_refers_to_it() -> None:
    class Freed:
        pass

    freed: list[int] = []
    for _ in range(3):
        holder: Any = Freed()
        holder.method = CORE.Callable(native.SCOPE, print, print)
        holder.method.__dict__["holder"] = holder
        weakref.finalize(holder, freed.append, 1)
        del holder
    gc.collect()
    assert freed == [1, 1, 1]


def test_it_is_taken_for_a_function() -> None:
    query = FORMS[1].query
    assert inspect.isfunction(query)
    assert isinstance(query, types.FunctionType)
    assert inspect.signature(query) == inspect.signature(FORMS[0].query)
    assert query.__code__ is not None
    assert isinstance(FORMS[1]().query, types.MethodType)
    assert repr(RECORD).startswith("<function")


def test_a_failure_of_ours_is_contained_and_one_that_ends_the_process_passes(
    current: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WALLTIME_TESTING_RAISE", raising=False)
    server = FORMS[1]()
    server.query("SELECT 1")
    current.calls = ()  # type: ignore[assignment]  # nothing can be recorded
    contained.clear()
    assert server.query("SELECT 1") == 1
    assert contained == {"server": 1}
    contained.clear()

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    query = CORE.Callable(native.STATEMENT, Server.query, Server.query, library="s", end=end, contain=contain, most=9)
    server.answer = Fails("theirs")
    with pytest.raises(KeyboardInterrupt) as raised:
        query(server, "SELECT 1")
    assert raised.value.__context__ is server.answer


def test_threads_record_their_own_calls() -> None:
    made = [transaction() for _ in range(4)]

    def serve(of: Transaction) -> None:
        enter(of)
        server = FORMS[1]()
        for _ in range(2000):
            server.query("SELECT 1")

    threads = [threading.Thread(target=serve, args=(of,)) for of in made]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [of.add_up(detail=True).components["mysql.query"].calls for of in made] == [2000] * 4


NO_MEMORY = """
import _testcapi, faulthandler
faulthandler.enable()
from tests.sdk import test_native as tests
from walltime.core.execution import enter
assert tests.native.is_used()
of = tests.transaction()
enter(of)
server, cache, made = tests.FORMS[1](), tests.FORMS[1](), []
cache.answer = {"k": 1}
calls = (
    lambda: server.query("SELECT 1"), lambda: server.execute("SELECT 1"), lambda: cache.fetch(b"get", ["k"]),
    lambda: cache.fetch(b"get", ["k", "l"]), lambda: tests.CORE.by_line(of.calls), lambda: tests.CORE.sums(of.calls),
    lambda: tests.CORE.times_by_text(of.calls), lambda: tests.CORE.count("a", 1 << 40),
    lambda: tests.CORE.counts("a", [1, 1 << 40]), lambda: tests.CORE.child(b"a", 1, 2, 3, b"b"),
)
failures = 0
for call in calls:
    for attempt in range(3):
        call()
    for nth in range(40):
        _testcapi.set_nomemory(nth, nth + 1)
        try:
            call()
        except MemoryError:
            failures += 1
        finally:
            _testcapi.remove_mem_hooks()
    call()
assert all(len(each) == 8 and "<NULL>" not in repr(each) for each in of.calls)
print("alive", failures > 0)
"""


def test_an_allocation_that_fails_anywhere_harms_nothing() -> None:
    pytest.importorskip("_testcapi")
    assert "alive True" in said(NO_MEMORY).splitlines()


# ---- whether it is used ----


def said(code: str, **environ: str) -> str:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(BUILT), *sys.path]), **environ}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


SHOW = "import walltime; from walltime import native; print(native.is_used(), native.reason)"


def test_it_is_used_where_it_is_installed_and_can_be_switched_off() -> None:
    assert said(SHOW) == "True \n"
    assert said(SHOW, WALLTIME_NATIVE="0") == "False switched off by WALLTIME_NATIVE\n"
    assert said("import pickle, pymysql, walltime\n"
                "from pymysql.connections import Connection\n"
                "walltime.instrument('pymysql')\n"
                "print(pickle.loads(pickle.dumps(Connection.query)) is Connection.query)") == "True\n"  # fmt: skip
    assert "the core in C runs: no, switched off" in said(
        "import walltime; print(walltime.check())", WALLTIME_NATIVE="0"
    )


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("INTERFACE = 0", "its interface is 0, not 2"),
        ("raise OSError('cannot be loaded')", "cannot be loaded"),
        ("INTERFACE = 2\nclock = lambda: 0", "its clock is not that of Python"),
        ("INTERFACE = 2\nfrom time import perf_counter_ns as clock\n"
         "by_line = sums = times_by_text = count = counts = child = print", "its self-test failed"),
    ],
)  # fmt: skip
def test_on_any_doubt_python_runs_and_the_log_says_why(tmp_path: Path, module: str, reason: str) -> None:
    (tmp_path / "walltime_native.py").write_text(module)
    printed = said(SHOW, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    assert f"the core in C is not used, Python is: {reason}" in printed
    assert f"False {reason}" in printed
