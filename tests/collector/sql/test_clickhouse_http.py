"""The read-only ClickHouse port of a real collector, with the requests that Grafana's plugins and Go's client send."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clickhouse_connect
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError
from walltime_collector.sql.runner import MAX_WAITING, RUN_AT_ONCE

from tests.collector.sql.clickhouse_port import Port, port_of
from tests.collector.traffic import Shop, export_request
from tests.servers import Collector, CollectorDied, eventually

TOKEN = "correct hörse"
ENDLESS = "SELECT count() FROM numbers(100000) AS a, numbers(100000) AS b WHERE sipHash64(a.number, b.number) = 1"
PLUGIN_3 = {"User-Agent": "Grafana/9.4.7 grafana-clickhouse-datasource/3.3.0 clickhouse-go/2.13.3 (lv:go/1.20)"}
PLUGIN_4 = {"User-Agent": "Grafana/11.1.0 grafana-clickhouse-datasource/4.14.1 clickhouse-go/2.43.0 (lv:go/1.25)"}
ZIPPED = {"Accept-Encoding": "gzip"}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    sent = [each for at in range(50) for each in Shop(seed=5).visit(1_700_000_000_000_000_000 + at)]
    directory = tmp_path_factory.mktemp("clickhouse") / "data"
    with Collector(directory, clickhouse_http="127.0.0.1:0") as running:
        assert running.send(export_request(sent)).status_code == 200
        yield running


@pytest.fixture(scope="module")
def port(collector: Collector) -> Port:
    return Port(port_of(collector))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    directory = tmp_path_factory.mktemp("guarded") / "data"
    with Collector(directory, clickhouse_http="127.0.0.1:0", clickhouse_http_token=TOKEN) as running:
        yield Port(port_of(running), TOKEN)


class Native:
    """Reads a block of ClickHouse's Native format as Go's client does, for the few types it is asked about."""

    def __init__(self, content: bytes, *, is_framed: bool = False) -> None:
        self._content, self._at = content, 0
        if is_framed:
            assert self._take(8) == b"\x01\x00\x02\xff\xff\xff\xff\x00"
        columns, self.rows = self._number(), self._number()
        self.columns: list[tuple[str, str]] = []
        self.values: list[list[str | int]] = []
        for _ in range(columns):
            name, kind = self._text(), self._text()
            if is_framed:
                assert self._take(1) == b"\x00"
            self.columns.append((name, kind))
            self.values.append([self._value(kind) for _ in range(self.rows)])
        self.rest = content[self._at :]

    def _value(self, kind: str) -> str | int:
        if kind == "String":
            return self._text()
        return int.from_bytes(self._take({"UInt8": 1, "UInt32": 4, "UInt64": 8}[kind]), "little")

    def _text(self) -> str:
        return self._take(self._number()).decode()

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _take(self, size: int) -> bytes:
        self._at += size
        assert self._at <= len(self._content)
        return self._content[self._at - size : self._at]


def test_the_port_is_off_by_default(tmp_path: Path) -> None:
    with Collector(tmp_path / "data") as collector:
        assert "clickhouse" not in collector.ready


def test_plugin_3_connects(port: Port) -> None:
    """clickhouse-go 2.13.3: the time zone, the version, then pings; plain blocks."""
    as_plugin, as_native = {**PLUGIN_3, **ZIPPED}, "default_format=Native"
    zone = Native(port.post("SELECT timezone()", as_native, **as_plugin)[1])
    version = Native(port.post("SELECT version()", as_native, **as_plugin)[1])
    assert zone.columns == [("timezone()", "String")]
    assert str(version.values[0][0]).count(".") >= 2
    for _ in range(3):
        status, content, headers = port.post("SELECT 1", f"{as_native}&max_execution_time=65", **as_plugin)
        assert (status, content) == (200, b"\x01\x01\x011\x05UInt8\x01")
        assert headers["content-length"] == str(len(content))
        assert "content-encoding" not in headers


@pytest.mark.parametrize(
    "greeting",
    [
        "SELECT displayName(), version(), revision(), timezone()",
        "select displayName(),version() ,revision(),timezone();",
    ],
)
def test_plugin_4_connects(port: Port, greeting: str) -> None:
    """clickhouse-go 2.43 and later: a framed greeting that says revision 0, and then plain blocks."""
    query = "client_protocol_version=54460&default_format=Native"
    status, content, _ = port.post(greeting, query, **PLUGIN_4, **ZIPPED)
    block = Native(content, is_framed=True)

    assert status == 200
    assert [kind for _, kind in block.columns] == ["String", "String", "UInt32", "String"]
    assert (block.values[0], block.values[2]) == (["walltime"], [0])
    assert Native(port.post("SELECT 1", query, **PLUGIN_4)[1]).values == [[1]]
    assert port.post("SELECT revision(), version()", query)[0] == 403


def test_a_person_who_types_the_greeting_gets_it_plain(port: Port) -> None:
    status, content, _ = port.post("SELECT displayName(), version(), revision(), timezone()")
    assert (status, content.split(b"\t")[0], content.split(b"\t")[2]) == (200, b"walltime", b"0")


def test_two_hundred_thousand_rows_come_whole(port: Port) -> None:
    content = port.post("SELECT number FROM numbers(200000)", "default_format=Native&limit=5")[1]
    rows = 0
    while content:
        block = Native(content)
        rows, content = rows + block.rows, block.rest
    assert rows == 200_000


def test_an_answer_without_rows_has_its_columns(port: Port) -> None:
    sql = "SELECT name, duration_ns AS `a b` FROM transactions WHERE 0"
    block = Native(port.post(sql, "default_format=Native")[1])
    assert (block.rows, block.columns) == (0, [("name", "LowCardinality(String)"), ("a b", "UInt64")])
    assert port.post(sql, "default_format=TSVWithNames")[1] == b"name\ta b\n"
    assert json.loads(port.post(f"{sql} FORMAT JSON")[1])["rows"] == 0


TOTALS = "SELECT number % 2 AS n, count() FROM numbers({}) GROUP BY n WITH TOTALS ORDER BY n"


@pytest.mark.parametrize(
    "sql", [TOTALS.format(0), f"{TOTALS.format(3)} LIMIT 0", f"SELECT * FROM ({TOTALS.format(0)})"]
)
def test_totals_of_no_rows_leave_every_format_readable(port: Port, sql: str) -> None:
    for name in ("JSON", "JSONCompact", "JSONStrings", "JSONColumnsWithMetadata"):
        status, content, _ = port.post(f"{sql} FORMAT {name}")
        document = json.loads(content)
        assert (status, document["rows"], len(document["meta"])) == (200, 0, 2)
    assert port.post(f"{sql} FORMAT CSVWithNames")[1] == b'"n","count()"\n'
    assert port.post(f"{sql} FORMAT TSVWithNames")[1] == b"n\tcount()\n"
    assert port.post(f"{sql} FORMAT XML")[1].startswith(b"<?xml")
    block = Native(port.post(sql, "default_format=Native")[1])
    assert (block.rows, [name for name, _ in block.columns]) == (0, ["n", "count()"])


def test_totals_of_rows_stay(port: Port) -> None:
    document = json.loads(port.post(f"{TOTALS.format(3)} FORMAT JSONCompact")[1])
    assert (document["data"], document["totals"]) == ([[0, 2], [1, 1]], [0, 3])


@pytest.mark.parametrize(
    ("format_name", "content", "content_type"),
    [
        ("TabSeparated", b"1\tx\n", "text/tab-separated-values"),
        ("CSVWithNames", b'"n","s"\n1,"x"\n', "text/csv"),
        ("JSONEachRow", b'{"n":1,"s":"x"}\n', "application/x-ndjson"),
        ("JSONCompactEachRow", b'[1, "x"]\n', "application/x-ndjson"),
        ("Null", b"", "text/plain"),
    ],
)
def test_formats(port: Port, format_name: str, content: bytes, content_type: str) -> None:
    sql = "SELECT 1 AS n, 'x' AS s"
    status, said, headers = port.post(sql, f"default_format={format_name}")
    assert (status, said) == (200, content)
    assert headers["content-type"].startswith(content_type)
    assert headers["x-clickhouse-format"] == format_name
    assert port.post(f"{sql} FORMAT {format_name}", "default_format=Native")[1] == content


def test_named_parameters_are_values(port: Port) -> None:
    query = "param_x=it%27s%20%5Ct%20%5C%5C&param_n=7&param_a=%5B%27a%27%2C%27b%27%5D&default_format=JSONCompact"
    answer = port.post("SELECT {x:String} AS x, {n:UInt32} AS n, {a:Array(String)} AS a", query)[1]
    assert json.loads(answer)["data"] == [["it's \t \\", 7, ["a", "b"]]]


def test_what_clients_add_to_the_url_is_ignored(port: Port) -> None:
    query = "query_id=1&quota_key=x&limit=10&network_compression_method=&allow_ddl=1&readonly=0&x=&database=default"
    assert port.post("SELECT 1", query)[:2] == (200, b"1\n")
    assert port.post("SELECT 1", "database=walltime")[0] == 200
    assert port.post("SELECT getSetting('readonly')", "readonly=0")[0] == 403


def test_gzip_when_requested_and_allowed(port: Port) -> None:
    _, content, headers = port.post("SELECT 1", "enable_http_compression=1", **ZIPPED)
    assert (headers["content-encoding"], gzip.decompress(content)) == ("gzip", b"1\n")
    assert "content-encoding" not in port.post("SELECT 1", "enable_http_compression=1")[2]
    assert "content-encoding" not in port.post("SELECT 1", "", **ZIPPED)[2]


@pytest.mark.parametrize(
    ("sql", "query", "status", "code", "says"),
    [
        ("SELECT 1 +", "", 400, 62, "Syntax error"),
        ("SELECT (\nFORMAT JSON", "", 400, 62, "closed. (SYNTAX_ERROR)\n"),
        ("", "", 400, 62, "Empty query"),
        (b"SELECT '\xff'", "", 400, 62, "not UTF-8"),
        ("SELECT 1; SELECT 2", "", 400, 62, "Multi-statements"),
        ("SELECT nothing FROM transactions", "", 404, 47, "UNKNOWN_IDENTIFIER"),
        ("SELECT * FROM nothing", "", 404, 60, "UNKNOWN_TABLE"),
        ("SELECT file('/etc/passwd')", "", 403, 497, "the function `file` is not allowed"),
        ("SELECT * FROM url('http://127.0.0.1:1/')", "", 403, 497, "the table function `url`"),
        ("INSERT INTO transactions (name) VALUES ('x')", "", 403, 497, "not allowed"),
        ("SELECT 1", "database=system", 404, 81, "there is no database system"),
        ("SELECT 1", "default_format=Template", 403, 497, "the format Template"),
        ("SELECT 1", "max_execution_time=x", 400, 62, "not a number"),
        ("SELECT 1", "param_x=%ff", 400, 62, "not UTF-8"),
        ("SELECT {x:UInt8}", "param_x=y", 500, 6, "Cannot parse"),
        ("SELECT {x:UInt8}", "", 403, 497, "send param_x"),
        ("SELECT 1 -- " + "x" * 300_000, "", 403, 497, "longer than"),
        ("x" * 2_000_000, "", 413, 210, "more than"),
        (ENDLESS, "max_execution_time=1", 408, 159, "TIMEOUT_EXCEEDED"),
        (f"{ENDLESS} SETTINGS max_execution_time = 1", "max_execution_time=900", 408, 159, "TIMEOUT_EXCEEDED"),
        ("SELECT groupArray(repeat('x', 1000)) FROM numbers(10000000)", "", 500, 241, "MEMORY_LIMIT_EXCEEDED"),
        ("SELECT number FROM numbers(2000000)", "", 500, 396, "rows"),
        ("SELECT repeat('x', 1000) FROM numbers(100000)", "", 500, 396, "bytes"),
        ("SELECT repeat('x', 1000) FROM numbers(100000)", "default_format=Native", 500, 396, "bytes"),
        ("SELECT number FROM numbers(2000000000)", "", 500, 158, "TOO_MANY_ROWS"),
    ],
)
def test_errors_are_clickhouses_text_and_code(
    port: Port, sql: str | bytes, query: str, status: int, code: int, says: str
) -> None:
    answered, content, headers = port.post(sql, query)
    said = content.decode()
    assert (answered, headers["x-clickhouse-exception-code"]) == (status, str(code)), said
    assert said.startswith(f"Code: {code}. DB::Exception: ")
    assert says in said
    assert port.post("SELECT 1")[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Basic " + base64.b64encode(f"grafana:{TOKEN}".encode()).decode()}, 200),
        ({"Authorization": "Basic " + base64.b64encode(f":{TOKEN}".encode()).decode()}, 200),
        (
            {
                "X-ClickHouse-User": "grafana",
                "X-ClickHouse-Key": TOKEN.encode().decode("latin-1"),
                "X-ClickHouse-SSL-Certificate-Auth": "off",
            },
            200,
        ),
        ({"Authorization": f"Bearer {TOKEN}".encode().decode("latin-1")}, 200),
        ({"Authorization": "Basic " + base64.b64encode(b"grafana:").decode()}, 401),
        ({"Authorization": "Basic " + base64.b64encode(f"{TOKEN}:".encode()).decode()}, 401),
        ({"Authorization": "Basic !!!"}, 401),
        ({"Authorization": "Basic /w=="}, 401),
        ({"Authorization": "Bearer correct"}, 401),
        ({"Authorization": "correct"}, 401),
        ({"X-ClickHouse-Key": "\xff"}, 401),
        ({}, 401),
    ],
)
def test_the_password_comes_in_any_of_three_ways(guarded: Port, headers: dict[str, str], status: int) -> None:
    answered, content, said = Port(guarded.address).post("SELECT 1", "", **headers)
    assert answered == status
    if status == 401:
        assert content.startswith(b"Code: 516. DB::Exception: ")
        assert said["www-authenticate"].startswith("Basic")
        assert TOKEN.encode() not in content


def test_with_a_password_any_host_name_is_allowed_and_without_one_only_this_machines(guarded: Port, port: Port) -> None:
    assert guarded.post("SELECT 1", Host="collector:8123")[0] == 200
    assert port.post("SELECT 1", Host="localhost:8123")[0] == 200
    assert port.post("SELECT 1", Host="collector:8123")[0] == 421


@pytest.mark.parametrize("header", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_page_of_another_site_may_not_ask(port: Port, header: dict[str, str]) -> None:
    status, content, headers = port.post("SELECT 1", "", **header)
    assert (status, headers["x-clickhouse-exception-code"]) == (403, "497")
    assert not [name for name in headers if name.startswith("access-control-")]
    assert b"another site" in content


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/ping", {}, 200),
        ("GET", "/", {}, 200),
        ("GET", "/?query=SELECT+1", {}, 200),
        ("PUT", "/", {}, 405),
        ("DELETE", "/?query=SELECT+1", {}, 405),
        ("POST", "/api/top", {}, 404),
        ("POST", "//", {}, 404),
        ("POST", "/", {"Content-Type": "multipart/form-data; boundary=x"}, 400),
        ("POST", "/", {"Content-Encoding": "br"}, 415),
        ("POST", "/", {"Content-Encoding": "gzip"}, 400),
        ("POST", "/", {"Content-Type": "application/x-www-form-urlencoded"}, 200),
    ],
)
def test_only_get_and_post_of_the_root_are_statements(
    port: Port, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    connection = http.client.HTTPConnection(port.address, timeout=30)
    connection.request(method, path, b"SELECT 1" if method == "POST" else None, headers)
    assert connection.getresponse().status == status
    connection.close()


def test_without_a_password_other_machines_are_not_listened_to(tmp_path: Path) -> None:
    with pytest.raises(CollectorDied, match="other machines could reach it"):
        Collector(tmp_path / "data", clickhouse_http="0.0.0.0:0")
    with Collector(tmp_path / "data", clickhouse_http="0.0.0.0:0", clickhouse_http_token=TOKEN) as collector:
        port = port_of(collector).replace("0.0.0.0", "127.0.0.1")
        assert (Port(port).post("SELECT 1")[0], Port(port, TOKEN).post("SELECT 1")[0]) == (401, 200)


def test_clickhouses_python_client_works(guarded: Port) -> None:
    host, _, number = guarded.address.partition(":")
    client = clickhouse_connect.get_client(
        host=host, port=int(number), username="x", password=TOKEN, autogenerate_session_id=False
    )
    try:
        assert client.query("SELECT number, 'x' FROM numbers(2)").result_rows == [(0, "x"), (1, "x")]
        assert client.query("SELECT {x:String} AS x", {"x": "it's \\ \t"}).result_rows == [("it's \\ \t",)]
        assert client.query("SELECT name FROM transactions WHERE 0").column_names == ("name",)
        with pytest.raises(DatabaseError, match="file"):
            client.query("SELECT file('/etc/passwd')")
    finally:
        client.close()


def is_busy(port: Port) -> bool:
    """Whether a statement has to wait."""
    connection = http.client.HTTPConnection(port.address, timeout=0.5)
    connection.request("POST", "/", "SELECT 1")
    try:
        connection.getresponse()
    except TimeoutError:
        return True
    finally:
        connection.close()
    return False


def test_statements_beyond_the_limits_are_refused_and_the_others_run(collector: Collector, port: Port) -> None:
    connections = [http.client.HTTPConnection(port.address, timeout=60) for _ in range(RUN_AT_ONCE)]
    for connection in connections:  # they hold all places until the others have come, however long that takes
        connection.request("POST", "/", ENDLESS)
    eventually(lambda: is_busy(port))
    with ThreadPoolExecutor(56) as pool:
        asked = [pool.submit(port.post, ENDLESS, "max_execution_time=0.05") for _ in range(56)]
        assert collector.health()["ok"]
        eventually(lambda: sum(each.done() for each in asked) >= 56 - MAX_WAITING)
        for connection in connections:
            connection.close()
        answers = [each.result() for each in asked]
    statuses = Counter(status for status, _, _ in answers)
    assert set(statuses) == {408, 429}
    assert statuses[429] >= 56 - MAX_WAITING
    assert all(headers["retry-after"] for status, _, headers in answers if status == 429)
    assert port.post("SELECT 1")[0] == 200


def test_a_client_that_leaves_takes_its_statement_along(port: Port) -> None:
    """Four endless statements would hold every place for 30 s, and one who waits is sent away after 15."""
    connections = [http.client.HTTPConnection(port.address, timeout=60) for _ in range(4)]
    for connection in connections:
        connection.request("POST", "/", ENDLESS)
    busy = http.client.HTTPConnection(port.address, timeout=1)
    busy.request("POST", "/", "SELECT 1")
    with pytest.raises(TimeoutError):
        busy.getresponse()
    for connection in [*connections, busy]:
        connection.close()
    assert port.post("SELECT 1")[:2] == (200, b"1\n")


def test_a_collector_that_stops_does_not_wait_for_statements(tmp_path: Path) -> None:
    with Collector(tmp_path / "data", clickhouse_http="127.0.0.1:0") as collector:
        connection = http.client.HTTPConnection(port_of(collector), timeout=60)
        connection.request("POST", "/", ENDLESS)
        Port(port_of(collector)).post("SELECT 1")
        assert collector.stop() == 0
        connection.close()
