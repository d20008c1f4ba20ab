"""The stock ClickHouse clients of other languages, unchanged, against the ClickHouse port of a collector; by night."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.receive.language_runs import prepare, run
from tests.collector.sql.clickhouse_port import Port, port_of
from tests.collector.traffic import Shop, export_request
from tests.servers import Collector

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

TOKEN = "a token of the ClickHouse port"
OF_V1 = ("default", "compress=0", "decompress=1")
OF_V2 = (
    "default",
    "compress=false",
    "decompress=true",
    "client.use_http_compression=true",
    "decompress=true&client.use_http_compression=true",
)

# What a step of Ask.java prints, with every driver and every set of options.
SAID = {
    "version": r"\d+\.\d+\.\d+.*",
    "valid": "true",
    "catalog": ".*walltime.*",
    "one": r"1 UInt8 \| 1",
    "types": r".* \| -5,18446744073709551615,1\.5,ä,2024-02-29,2024-02-29.12:34:56\.789.*,\[1, ?2\],\{k[=:]v\},null,.*",
    "many": "200000",
    "none": r"name LowCardinality\(String\),duration_ns UInt64",
    "own tables": r".* UInt8 \| 1",
    "error": r"\d+ \w+ Code: 60\. DB::Exception: Unknown table .*nothing_of_that_name.*\(UNKNOWN_TABLE\).*",
    "syntax": r"\d+ \w+ Code: 62\. DB::Exception: Syntax error.*\(SYNTAX_ERROR\).*",
    "refused": r"\d+ \w+ Code: 497\. DB::Exception: the table function `url` is not allowed; .* own tables.*",
    "after": r"2 UInt8 \| 2",
    "show tables": r"\d\d",
    "show databases": r"name String \| walltime",
    "prepared": r"number UInt64,quoted String \| 4,<it's \\ ü \?",
    "catalogs": "TABLE_CAT String.*",
    "tables": r".*\botlp_spans\b.*\btransactions\b.*",
    "tables of": "transactions",
    "tables and views": r".*\botlp_spans\b.*\btransactions\b.*",
    "columns": "trace_id span_id .* duration_ns .*",
    "all columns": r"\d{3}",
    "type info": r"\d{2,3}",
    "functions": r"\d{4}",
    "wrong password": ".*Code: 516. DB::Exception: the password is not the collector's.*",
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    shop = Shop(seed=5)
    sent = [each for at in range(20) for each in shop.visit(time.time_ns() - 60_000_000_000 + at)]
    directory = tmp_path_factory.mktemp("languages") / "data"
    with Collector(directory, clickhouse_http="127.0.0.1:0", clickhouse_http_token=TOKEN) as running:
        assert running.send(export_request(sent)).status_code == 200
        running.wait_until_loaded(len(sent))
        yield Port(port_of(running), TOKEN)


@pytest.mark.parametrize(
    ("version", "classifier", "options"),
    [
        ("0.6.3", "all", OF_V1),
        ("0.7.2", "all", OF_V1),
        ("0.9.0", "all", OF_V2),
        ("0.9.8", "all", OF_V2),
        ("0.11.0", "", OF_V2),
    ],
)
def test_jdbc(port: Port, tmp_path: Path, version: str, classifier: str, options: tuple[str, ...]) -> None:
    """Statements, prepared ones, errors, and the metadata calls of DBeaver, DataGrip and Metabase."""
    folder = prepare("mvn", "jdbc", tmp_path)
    chosen = (f"-Ddriver.version={version}", f"-Ddriver.classifier={classifier}")
    url = f"jdbc:clickhouse://{port.address}/walltime"
    maven = ("mvn", "-q", "-B", "compile", "exec:java", *chosen, f"-Dexec.args={' '.join(options)}")
    said = run(*maven, folder=folder, URL=url, PASSWORD=TOKEN, LC_ALL="C.UTF-8", MAVEN_OPTS="-Dfile.encoding=UTF-8")
    parts = said.split("options ")[1:]
    assert len(parts) == len(options), said
    for part in parts:
        steps = dict(re.findall(r"^([\w ]+): (.*)$", part, re.MULTILINE))
        wrong = {name: steps.get(name) for name, says in SAID.items() if not re.fullmatch(says, steps.get(name, ""))}
        assert not wrong, part
    assert "failures 0" in said, said
    sys.stdout.write(f"\nclickhouse-jdbc {version}: {len(options)} sets of options, {said.count(': ')} steps\n")


@pytest.mark.parametrize("version", ["v2.13.3", "v2.43.0", "v2.50.0"])
def test_clickhouse_go(port: Port, tmp_path: Path, version: str) -> None:
    """Over HTTP with none, lz4, zstd, gzip, deflate and br."""
    folder = prepare("go", "clickhouse-go", tmp_path)
    module = folder / "go.mod"
    module.write_text(module.read_text().replace("v2.50.0", version))
    run("go", "mod", "tidy", folder=folder)
    said = run("go", "run", ".", folder=folder, ADDRESS=port.address, PASSWORD=TOKEN)
    assert said == "asked with 6 compressions\n"
    sys.stdout.write(f"\nclickhouse-go {version}: {said}")


def test_clickhouse_client_of_javascript(port: Port, tmp_path: Path) -> None:
    folder = prepare("npm", "clickhouse-js", tmp_path)
    run("npm", "install", "--no-audit", "--no-fund", folder=folder)
    said = run("node", "ask.js", folder=folder, URL=f"http://{port.address}", PASSWORD=TOKEN)
    assert "asked 72" in said
    sys.stdout.write(f"\n@clickhouse/client 1.0, 1.11 and newest: {said}")
