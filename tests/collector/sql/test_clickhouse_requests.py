"""What clients of the ClickHouse port put into URL, headers and body, and what they read from the response."""

from __future__ import annotations

import gzip
import http.client
import json
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlencode

import clickhouse_connect
import lz4.frame
import pytest
from backports import zstd
from clickhouse_connect.driver.exceptions import DatabaseError
from walltime_collector.sql.clickhouse_http import blocks

from tests.collector.sql.clickhouse_port import Port, port_of
from tests.collector.sql.driver_blocks import framed_by_driver, opened_by_driver
from tests.collector.traffic import Shop, export_request
from tests.servers import Collector

TOKEN = "correct hörse"
SQL = "SELECT number AS n, concat('s', toString(number)) AS s FROM numbers(3)"
TSV = b"0\ts0\n1\ts1\n2\ts2\n"
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
    "lz4": lz4.frame.compress,
}
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "zstd": zstd.decompress,
    "lz4": lz4.frame.decompress,
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    shop = Shop(seed=5)
    sent = [each for at in range(20) for each in shop.visit(time.time_ns() - 60_000_000_000 + at)]
    directory = tmp_path_factory.mktemp("requests") / "data"
    with Collector(directory, clickhouse_http="127.0.0.1:0", clickhouse_http_token=TOKEN) as running:
        assert running.send(export_request(sent)).status_code == 200
        running.wait_until_loaded(len(sent))
        yield Port(port_of(running), TOKEN)


def test_get_returns_what_post_returns(port: Port) -> None:
    assert port.get(urlencode({"query": SQL}))[:2] == (200, TSV)
    assert port.get(urlencode({"query": "SELECT {x:UInt8}", "param_x": 7}))[:2] == (200, b"7\n")
    assert port.get(urlencode({"query": "INSERT INTO transactions (name) VALUES ('x')"}))[0] == 403
    status, content, _ = port.get("database=walltime")
    assert (status, content[:9]) == (400, b"Code: 62.")


def test_a_statement_may_begin_in_the_url_and_end_in_the_body(port: Port) -> None:
    assert port.post("FORMAT JSONCompact", "query=" + quote("SELECT 1 AS a"))[1].startswith(b"{")
    assert port.post("", "query=" + quote(SQL))[:2] == (200, TSV)


def test_head_has_no_body(port: Port) -> None:
    status, content, headers = port.request("HEAD", "/?query=SELECT+1", None)
    assert (status, content, headers["content-length"]) == (200, b"", "2")


def test_the_password_may_be_in_the_url_or_in_any_header(port: Port) -> None:
    anybody = Port(port.address)
    query = urlencode({"query": "SELECT 1", "user": "metabase", "password": TOKEN})
    assert anybody.get(query)[:2] == (200, b"1\n")
    assert anybody.post("SELECT 1", urlencode({"user": "x", "password": TOKEN}))[0] == 200
    wrong = urlencode({"query": "SELECT 1", "user": "x", "password": "wrong"})
    status, content, headers = anybody.get(wrong)
    assert (status, headers["x-clickhouse-exception-code"]) == (401, "516")
    assert b"wrong" not in content
    assert port.get(wrong)[0] == 200, "a right header is enough"


def test_headers_name_format_and_database(port: Port) -> None:
    status, content, headers = port.post(SQL, "default_format=CSV", **{"X-ClickHouse-Format": "TSVWithNames"})
    assert (status, content, headers["x-clickhouse-format"]) == (200, b"n\ts\n" + TSV, "TSVWithNames")
    assert port.post(f"{SQL} FORMAT CSV", "", **{"X-ClickHouse-Format": "JSON"})[1].startswith(b'0,"s0"')
    assert port.post(SQL, "", **{"X-ClickHouse-Format": "Template"})[0] == 403
    assert port.post(SQL, "", **{"X-ClickHouse-Database": "walltime"})[0] == 200
    status, content, headers = port.post(SQL, "database=walltime", **{"X-ClickHouse-Database": "sales"})
    assert (status, headers["x-clickhouse-exception-code"]) == (404, "81")


def test_the_response_has_the_headers_that_clients_read(port: Port) -> None:
    headers = port.post(SQL, "query_id=mine-1&session_id=s&wait_end_of_query=1")[2]
    assert headers["x-clickhouse-query-id"] == "mine-1"
    assert headers["x-clickhouse-timezone"] == port.post("SELECT timezone()")[1].decode().strip()
    assert headers["x-clickhouse-server-display-name"] == "walltime"
    summary = json.loads(headers["x-clickhouse-summary"])
    assert (summary["result_rows"], summary["read_rows"], summary["result_bytes"]) == ("3", "3", str(len(TSV)))
    assert int(summary["elapsed_ns"]) > 0
    assert port.post(SQL, "session_timezone=Asia/Tokyo")[2]["x-clickhouse-timezone"] == "Asia/Tokyo"
    nothing = port.post("SELECT 1 WHERE 0")[2]
    assert json.loads(nothing["x-clickhouse-summary"])["result_rows"] == "0"
    failed = port.post("SELECT nothing", "query_id=mine-2")[2]
    assert (failed["x-clickhouse-query-id"], failed["x-clickhouse-exception-code"]) == ("mine-2", "47")


@pytest.mark.parametrize("query_id", ["", "%0d%0aX-Evil:%201", "%C3%A4", "x" * 1_000])
def test_a_query_id_that_no_header_can_carry_is_replaced(port: Port, query_id: str) -> None:
    status, _, headers = port.post("SELECT 1", f"query_id={query_id}")
    assert (status, len(headers["x-clickhouse-query-id"])) == (200, 36)
    assert "x-evil" not in headers


@pytest.mark.parametrize("method", ["", "lz4", "LZ4HC", "zstd", "NONE", "other"])
def test_an_answer_in_clickhouses_blocks(port: Port, method: str) -> None:
    query = f"compress=1&default_format=CSV&network_compression_method={method}"
    content = port.post("SELECT number FROM numbers(500000)", query)[1]
    rows = "".join(f"{number}\n" for number in range(500_000)).encode()
    assert blocks.decompress(content, len(rows)) == rows
    if method in ("", "lz4", "other"):  # the others it reads only with more libraries, or not at all
        assert opened_by_driver(content) == rows
    assert port.post("SELECT 1 WHERE 0", query)[:2] == (200, b"")


def test_a_statement_in_clickhouses_blocks(port: Port) -> None:
    assert port.post(framed_by_driver(SQL.encode()), "decompress=1")[:2] == (200, TSV)
    for method in ("none", "lz4", "zstd"):
        assert port.post(blocks.compress(SQL.encode(), method), "decompress=1")[:2] == (200, TSV)
    for body in (b"SELECT 1", blocks.compress(bytes(10_000_000))):
        status, content, headers = port.post(body, "decompress=1")
        assert (status, headers["x-clickhouse-exception-code"]) == (400, "271"), content


@pytest.mark.parametrize(
    ("sql", "status"),
    [("SELECT nothing", 404), ("SELECT 1 +", 400), ("DROP TABLE x", 403), ("SELECT throwIf(1)", 500)],
)
def test_an_error_in_clickhouses_blocks_is_also_readable_as_it_is(port: Port, sql: str, status: int) -> None:
    plain = port.post(sql)[1]
    answered, content, headers = port.post(sql, "compress=1")
    assert answered == status
    assert opened_by_driver(content) == plain
    assert plain.strip() in content
    assert plain.startswith(f"Code: {headers['x-clickhouse-exception-code']}. DB::Exception: ".encode())


def test_a_wrong_password_is_an_error_in_the_same_form(port: Port) -> None:
    status, content, _ = Port(port.address, "wrong").post("SELECT 1", "compress=1")
    assert (status, opened_by_driver(content)[:9]) == (401, b"Code: 516")


def test_a_client_still_sends_its_statement_when_its_password_is_refused_and_reads_why(port: Port) -> None:
    """A closed connection would be a broken pipe for it, and it would never see the status."""
    connection = http.client.HTTPConnection(port.address, timeout=60)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", "2000000")
    connection.putheader("X-ClickHouse-Key", "wrong")
    connection.endheaders()
    connection.send(b"SELECT 1 -- ")
    time.sleep(0.2)
    for _ in range(20):
        connection.send(bytes(99_999))
    connection.send(bytes(8))
    with connection.getresponse() as response:
        assert (response.status, response.read()[:9]) == (401, b"Code: 516")
    connection.request("POST", "/", "SELECT 2", {"X-ClickHouse-Key": TOKEN.encode()})
    with closing(connection), connection.getresponse() as response:
        assert response.read() == b"2\n"


@pytest.mark.parametrize("encoding", list(ENCODERS))
def test_http_compression_in_both_directions(port: Port, encoding: str) -> None:
    accepts = {"Accept-Encoding": f"br;q=1.0, {encoding};q=0.5, *;q=0"}
    status, content, headers = port.post(SQL, "enable_http_compression=1", **accepts)
    assert (status, headers["content-encoding"], DECODERS[encoding](content)) == (200, encoding, TSV)
    assert port.post(SQL, "", **accepts)[1] == TSV
    failed = port.post("SELECT nothing", "enable_http_compression=1", **accepts)[1]
    assert DECODERS[encoding](failed).startswith(b"Code: 47.")
    packed = ENCODERS[encoding](SQL.encode())
    assert port.post(packed, "", **{"Content-Encoding": encoding})[:2] == (200, TSV)
    for body, status in ((packed[:-1], 400), (b"SELECT 1", 400), (ENCODERS[encoding](bytes(10_000_000)), 413)):
        assert port.post(body, "", **{"Content-Encoding": encoding})[0] == status
    both = port.post(SQL, "enable_http_compression=1&compress=1", **accepts)[1]
    assert opened_by_driver(DECODERS[encoding](both)) == TSV


def test_a_form_may_hold_statement_and_parameters(port: Port) -> None:
    def form(*fields: str) -> tuple[int, bytes]:
        body = "".join(f"--b\r\nContent-Disposition: form-data; {field}\r\n" for field in fields) + "--b--\r\n"
        return port.post(body.encode(), "", **{"Content-Type": "multipart/form-data; boundary=b"})[:2]

    assert form('name="query"\r\n\r\nSELECT {x:String}', 'name="param_x"\r\n\r\nhé') == (200, "hé\n".encode())
    assert form('name="query"\r\n\r\nSELECT 1', 'name="t"; filename="t"\r\n\r\n1')[0] == 415
    assert form(*[f'name="param_{at}"\r\n\r\n1' for at in range(600)])[0] == 400
    assert form('name="x"')[0] == 400


def table(format_name: str, content: bytes) -> Any:
    """The table in a file."""
    from pyarrow import BufferReader, feather, ipc, parquet  # here: every test worker imports this module

    if format_name == "ArrowStream":
        return ipc.open_stream(content).read_all()
    return (parquet if format_name == "Parquet" else feather).read_table(BufferReader(content))


@pytest.mark.parametrize("format_name", ["Parquet", "Arrow", "ArrowStream"])
def test_columnar_files(port: Port, format_name: str) -> None:
    status, content, headers = port.get(urlencode({"query": f"{SQL} FORMAT {format_name}"}))
    assert (status, headers["content-type"]) == (200, "application/octet-stream")
    rows = [
        [value.decode() if isinstance(value, bytes) else value for value in row.values()]
        for row in table(format_name, content).to_pylist()
    ]
    assert rows == [[0, "s0"], [1, "s1"], [2, "s2"]]


@pytest.fixture(scope="module")
def client(port: Port) -> Iterator[Any]:
    host, _, number = port.address.partition(":")
    client = clickhouse_connect.get_client(host=host, port=int(number), username="x", password=TOKEN)
    yield client
    client.close()


def test_clickhouse_connect_reads_tables_of_arrow_and_pandas(client: Any) -> None:
    assert client.query_arrow(SQL, use_strings=True).to_pylist()[1] == {"n": 1, "s": "s1"}
    assert client.query_df(SQL)["s"].tolist() == ["s0", "s1", "s2"]
    assert client.query_df("SELECT name, duration_ns FROM transactions").shape[0] > 0
    assert client.query_np(SQL)["n"].tolist() == [0, 1, 2]
    assert client.raw_query(SQL, fmt="TSV") == TSV
    with client.query_rows_stream("SELECT number FROM numbers(100000)") as rows:
        assert sum(row[0] for row in rows) == 4_999_950_000
    assert client.command("SELECT count() FROM numbers(7)") == 7
    assert client.query(SQL).summary["result_rows"] == "3"
    assert client.query("SELECT number FROM numbers(9)", settings={"max_execution_time": 5}).row_count == 9
    with pytest.raises(DatabaseError, match="TOO_MANY_ROWS"):
        client.query("SELECT number FROM numbers(9)", settings={"max_result_rows": 3})
    with pytest.raises(DatabaseError, match="UNKNOWN_TABLE"):
        client.query_arrow("SELECT * FROM nothing")


@pytest.mark.parametrize("compression", ["lz4", "zstd", "gzip", False])
def test_clickhouse_connect_compresses(port: Port, compression: str | bool) -> None:
    host, _, number = port.address.partition(":")
    client = clickhouse_connect.get_client(
        host=host, port=int(number), username="x", password=TOKEN, compress=compression, form_encode_query_params=True
    )
    try:
        assert len(client.query("SELECT number FROM numbers(100000)").result_rows) == 100_000
        assert client.query("SELECT {x:String}", {"x": "it's"}).result_rows == [("it's",)]
    finally:
        client.close()
