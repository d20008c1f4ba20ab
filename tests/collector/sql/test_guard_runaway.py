"""A call that no time limit ends: most are refused; one that is not ends with the engine, and nobody else notices."""

from __future__ import annotations

import hashlib
import http.client
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from walltime_collector.clickhouse.embedded import engine as embedded
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.errors import QueryFailed, StatementRefused, TooManyQuestions
from walltime_collector.sql.limiter import QueryLimiter
from walltime_collector.sql.runner import QueryRunner

from tests.collector.clickhouse.engine_processes import engines_of, is_there
from tests.collector.sql.function_costs import main, measurable
from tests.servers import Collector, eventually, with_tables

# Minutes of one core, in one call; the guard cannot know how long a value is.
RUNAWAY = "SELECT position(repeat(repeat('a', 1000), 16000), concat(repeat(repeat('a', 1000), 8000), 'b'))"
REFUSED = [
    "arrayLevenshteinDistance(range(100000), range(100000))",
    "hasAny(groupUniqArray(1000000)(number), groupUniqArray(number))",
    "hasAny(groupUniqArray(number), groupUniqArray(number))",
    "hasAll(arraySlice(range(1000000), 1, -1), range(1000000))",
    "hasAll(arraySlice(range(1000000), 1), range(1000000))",
    "editDistance(left(repeat('a', 60000), 60000), repeat('b', 60000))",
    "editDistance(substring(repeat('a', 60000), 1, -1), repeat('b', 60000))",
    "editDistance(substring(repeat('a', 60000), 100), repeat('b', 60000))",
    "arrayLevenshteinDistanceWeighted(range(9), range(9), range(9), range(9))",
    "arraySimilarity(range(9), range(9), range(9), range(9))",
    "kolmogorovSmirnovTest('two-sided', 'exact')(number, number % 2)",
    "kolmogorovSmirnovTestIf('two-sided', 'exact')(number, number % 2, 1)",
    "KolmogorovSmirnovTest('two-sided', 'exact')(number, number % 2)",
    "arrayReduce('kolmogorovSmirnovTest(\\'two-sided\\', \\'exact\\')', [1, 2, 3], [0, 1, 0])",
    "editDistance(repeat('a', 60000), repeat('b', 60000))",
    "editDistanceUTF8(repeat('a', 60000), repeat('b', 60000))",
    "levenshteinDistance(repeat('a', 60000), repeat('b', 60000))",
    "levenshteinDistanceUTF8(toString(number), toString(number))",
    "damerauLevenshteinDistance(repeat('a', 60000), repeat('b', 60000))",
    "jaroSimilarity(repeat('a', 60000), repeat('b', 60000))",
    "jaroWinklerSimilarity(repeat('a', 60000), repeat('b', 60000))",
    "hasAny(range(1000000), range(1000000))",
    "hasAll(range(1000000), arrayReverse(range(1000000)))",
    "hasSubstr(range(1000000), range(1000000))",
    "extractTextFromHTML(repeat('<![CDATA[', 1000000))",
    "JSONMergePatch(repeat('{}', 9), '{}')",
    "jsonMergePatch(repeat('{}', 9), '{}')",
    "mergedJSONPatch(toString(number))",
    "arrayReduceInRanges('uniqExact', [(1, 1)], [1])",
    "cutURLParameter('http://x/?a=1', arrayMap(x -> toString(x), range(100000)))",
    "multiMatchAny('abc', arrayMap(x -> toString(x), range(100000)))",
    "multiFuzzyMatchAny('abc', 1, arrayMap(x -> toString(x), range(100000)))",
    "sleep(3)",
    "sleepEachRow(1)",
]
ALLOWED = {
    "editDistance('abc', concat('abd', toString(number)))": "2",
    "jaroSimilarity(toString(number), '0')": "1",
    "hasAny(range(100), [1, 2])": "1",
    "hasAll(['a'], range(5)::Array(String))": "0",
    "hasAny({tags:Array(String)}, arrayMap(x -> toString(x), range(1000)))": "1",
    "arrayLevenshteinDistance([1, 2, 3], range(3))": "2",
    "multiMatchAny('abc', ['x', 'b.'])": "1",
    "cutURLParameter('http://x/?a=1&b=2', 'a')": "http://x/?b=2",
    "hasAny(groupUniqArray(100)(toString(number)), groupUniqArray(toString(number)))": "1",
    "hasAll(arraySlice(range(1000), 1, 100), range(100))": "1",
    "editDistance(left(toString(number), 1000), concat('a', toString(number)))": "1",
    "jaroSimilarity(substring(toString(number), 1, 1000), '0')": "1",
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(with_tables(tmp_path_factory.mktemp("runaway")), "walltime")
    engine.migrate()
    yield engine
    engine.close()


@pytest.fixture
def runner(own: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[QueryRunner]:
    monkeypatch.setattr(embedded, "_GRACE_S", 1.0)
    monkeypatch.setattr(embedded, "_STOP_S", 1.0)
    runner = QueryRunner(own, "walltime")
    yield runner
    runner.close()


def read(runner: QueryRunner, sql: str, name: str = "one", seconds: float = 0) -> bytes:
    client = "203.0.113.7, user eve"
    return runner.run(sql, name=name, parameters={"tags": "['7']"}, seconds=seconds, client=client).content


@pytest.mark.parametrize("call", REFUSED)
def test_a_call_that_no_time_limit_ends_is_refused(runner: QueryRunner, call: str) -> None:
    with pytest.raises((StatementRefused, QueryFailed)) as refused:
        read(runner, f"SELECT {call} FROM numbers(1)")
    assert "is not allowed" in str(refused.value) or "Code: 62" in str(refused.value)
    with pytest.raises((StatementRefused, QueryFailed)):
        read(runner, f"SELECT arrayMap(x -> {call}, [1])")


@pytest.mark.parametrize("call", ALLOWED)
def test_the_same_functions_take_a_short_value_that_is_written_out(runner: QueryRunner, call: str) -> None:
    assert read(runner, f"SELECT {call} FROM numbers(1)").decode() == ALLOWED[call] + "\n"


def test_a_runaway_ends_with_the_engine_and_what_runs_beside_it_is_answered(
    own: EmbeddedEngine, runner: QueryRunner, caplog: pytest.LogCaptureFixture
) -> None:
    engines = engines_of(os.getpid())
    failed: list[BaseException] = []
    answered: list[object] = []
    is_over = threading.Event()

    def innocent(at: int) -> None:
        while not is_over.is_set():
            try:
                answered.append(read(runner, "SELECT count() > 0 FROM schema_migrations", f"{at} {len(answered)}"))
                answered.append(own.query("SELECT count() > 0 AS n FROM schema_migrations")[0]["n"])
            except Exception as error:  # noqa: BLE001 any is one too many
                failed.append(error)
                return

    with ThreadPoolExecutor(2) as pool:
        beside = [pool.submit(innocent, at) for at in range(2)]
        try:
            with pytest.raises(QueryFailed, match=r"Code: 159\. .*one step of it"):
                read(runner, RUNAWAY, "runaway", seconds=1)
            eventually(lambda: not all(is_there(each) for each in engines))
            before = len(answered)
            eventually(lambda: failed or len(answered) > before + 20, 60)
        finally:
            is_over.set()
        for each in beside:
            each.result()
    assert not failed
    assert set(answered) == {b"1\n", 1}
    (logged,) = [record.getMessage() for record in caplog.records if record.name.endswith("sql.runner")]
    digest = hashlib.sha256(RUNAWAY.encode()).hexdigest()[:16]
    assert f"sha256 {digest}, {len(RUNAWAY)} bytes, asked by 203.0.113.7, user eve" in logged
    assert "repeat" not in caplog.text


def test_slots_of_clients_that_left_are_free_although_the_engine_still_computes(runner: QueryRunner) -> None:
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(read, runner, RUNAWAY, f"runaway {at}") for at in range(4)]
        eventually(lambda: len(runner._limiter.running()) == 4)
        waits = pool.submit(read, runner, "SELECT 1", "patient")
        time.sleep(0.2)
        assert not waits.done()
        for at in range(4):
            pool.submit(runner.stop, f"runaway {at}")
        assert waits.result() == b"1\n"
        for each in asked:
            with pytest.raises(QueryFailed, match=r"Code: (159|394)"):
                each.result()
        assert read(runner, "SELECT 2") == b"2\n"
        assert runner._limiter.running() == []


def test_a_client_that_leaves_while_waiting_gives_up_its_place_in_the_queue() -> None:
    limiter = QueryLimiter(1, 2, 60)
    with limiter.slot("first"):
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(_take, limiter, "second")
            eventually(lambda: limiter._waiting == 1)
            assert not limiter.leave("second")
            with pytest.raises(TooManyQuestions, match="left"):
                waits.result()
        limiter.leave("third")
        with pytest.raises(TooManyQuestions, match="left"):
            _take(limiter, "third")
    _take(limiter, "fourth")


def test_abandoned_statements_are_allowed_up_to_a_number() -> None:
    limiter = QueryLimiter(1, 2, 0.05)
    with limiter.slot("a"):
        assert limiter.leave("a")
        assert limiter.has_left("a")
        with limiter.slot("b"):
            assert limiter.leave("b")
            with pytest.raises(TooManyQuestions):
                _take(limiter, "c")
        _take(limiter, "c")
    assert not limiter.has_left("a")


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_closing_the_connections_frees_the_port(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Collector(tmp_path_factory.mktemp("port") / "data", clickhouse_http="127.0.0.1:0") as collector:
        address = dict(part.split("=", 1) for part in collector.ready.split()[1:])["clickhouse"]
        asked = [http.client.HTTPConnection(address, timeout=100) for _ in range(5)]
        for connection in asked[:4]:
            connection.request("POST", "/", RUNAWAY, {"X-ClickHouse-User": "eve"})
        time.sleep(1)
        for connection in asked[:4]:
            connection.close()
        asked[4].request("POST", "/", "SELECT 1")
        answer = asked[4].getresponse()
        assert (answer.status, answer.read()) == (200, b"1\n")
        eventually(lambda: "asked by 127.0.0.1:" in collector.log() and "user eve" in collector.log(), 60)
        asked[4].close()


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_every_function_ends_with_its_limits_however_large_its_arguments() -> None:
    assert main(measurable()) == []
    assert main(["printf", "URLHierarchy"]) != [], "what is refused for its memory is found"


def _take(limiter: QueryLimiter, name: str) -> None:
    with limiter.slot(name):
        pass
