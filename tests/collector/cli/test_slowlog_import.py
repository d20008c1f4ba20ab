"""`walltime slowlog import`: each entry is stored once, whatever its log is called, and whoever is killed."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from walltime_collector.cli.client import Client
from walltime_collector.cli.slowlog.sending import Report, import_log
from walltime_collector.errors import CommandFailed
from walltime_collector.zstd import zstd

from tests.collector.cli.command import WALLTIME, assert_one_sentence, run
from tests.collector.observe.slowlog.hostile_log import logged
from tests.collector.observe.slowlog.numbered_log import SERVER_SAYS, entry
from tests.collector.observe.slowlog.real_logs import MYSQL_8
from tests.collector.traffic import Sent, SentCall, export_request
from tests.servers import Collector, eventually, over_http

TOKEN = "the-token-of-the-administrator"
MS = 1_000_000


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with Collector(tmp_path_factory.mktemp("collector") / "data", admin_token=TOKEN) as running:
        yield running


def numbered(first: int, last: int) -> bytes:
    """Each test has numbers of its own: a log that begins like another one would be that one, grown."""
    return SERVER_SAYS + b"".join(map(entry, range(first, last)))


def imports(collector: Collector, *words: str | Path, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    environment = {"WALLTIME_URL": collector.web_url, "WALLTIME_TOKEN": token}
    return run("slowlog", "import", *map(str, words), environment=environment)


def reports(collector: Collector, *words: str | Path) -> list[Report]:
    done = imports(collector, "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return [Report(**each) for each in json.loads(done.stdout)["logs"]]


def stored(collector: Collector, *words: str | Path) -> tuple[int, int]:
    """What an import says of the first log: entries that it stored, and that were stored before."""
    report = reports(collector, *words)[0]
    return report.stored, report.stored_before


def asked(collector: Collector, method: str, path: str, **options: Any) -> Any:
    return over_http(
        method, f"{collector.web_url}{path}", headers={"Authorization": f"Bearer {TOKEN}"}, **options
    ).json()


def rows(collector: Collector, server: str) -> list[int]:
    """The numbers of the entries that are stored."""
    sql = f"SELECT connection_id FROM slow_queries WHERE server = '{server}' ORDER BY connection_id"
    document = asked(collector, "POST", "/api/sql", json={"sql": sql})
    return [int(number) for (number,) in document["rows"]]


def test_a_log_is_stored_once_under_every_name_and_compressed(collector: Collector, tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(numbered(0, 50))
    options = ("--server", "once")
    done = imports(collector, log, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{log}   50 entries stored   2026-11-21 09:39:29 … 09:39:29 UTC\n"
    (tmp_path / "mysql-slowquery.log.2026-11-26.05").write_bytes(log.read_bytes())
    (tmp_path / "b").write_bytes(gzip.compress(log.read_bytes()))
    (tmp_path / "c").write_bytes(zstd.compress(log.read_bytes()))
    (tmp_path / "d").write_text(json.dumps([{"message": line.decode()} for line in log.read_bytes().splitlines()]))
    for path in sorted(tmp_path.iterdir()):
        assert stored(collector, path, *options) == (0, 50)
    with log.open("rb") as file:
        environment = {"WALLTIME_URL": collector.web_url, "WALLTIME_TOKEN": TOKEN}
        piped = subprocess.run(
            [WALLTIME, "slowlog", "import", "-"], stdin=file, env=environment, capture_output=True, check=True
        )
    assert piped.stdout == b"stdin   0 entries stored   50 entries stored before\n"
    assert rows(collector, "once") == list(range(50))


def test_a_log_that_has_grown_goes_on_where_it_was(collector: Collector, tmp_path: Path) -> None:
    log, whole = tmp_path / "slow.log", numbered(10_000, 10_040) + numbered(10_040, 10_060)
    options = ("--server", "grown")
    cuts = [whole.find(b"select 10007;") + 4, whole.find(entry(10_020)), whole.find(entry(10_040)), len(whole)]
    for number, size in enumerate(cuts):
        log.write_bytes(whole[:size])
        done = imports(collector, log, *options)
        assert ("are an entry without an end; import it again when it is whole" in done.stderr) == (number == 0)
    assert stored(collector, log, *options) == (0, 60)
    assert rows(collector, "grown") == list(range(10_000, 10_060))
    log.write_bytes(whole[: len(whole) // 2])  # an older copy
    assert stored(collector, log, *options)[0] == 0
    # another log that begins alike
    log.write_bytes(numbered(10_000, 10_001) + numbered(10_100, 10_160))
    assert stored(collector, log, *options) == (61, 0)
    assert stored(collector, log, *options) == (0, 61)
    assert rows(collector, "grown") == [10_000, *range(10_000, 10_060), *range(10_100, 10_160)]


def test_several_logs_and_several_commands_at_once(collector: Collector, tmp_path: Path) -> None:
    logs = [tmp_path / f"{number}.log" for number in range(3)]
    for number, log in enumerate(logs):
        log.write_bytes(numbered(20_000 + 1_000 * number, 20_300 + 1_000 * number))
    (tmp_path / "again.log").write_bytes(logs[0].read_bytes())
    found = reports(collector, *logs, tmp_path / "again.log", "--server", "several")
    assert [(each.stored, each.stored_before) for each in found] == [(300, 0)] * 3 + [(0, 300)]
    logs[0].write_bytes(numbered(30_000, 34_000))

    def together(_: int) -> Report:
        client = Client(collector.web_url, TOKEN)
        while True:
            try:
                return import_log(client, str(logs[0]), "together", lambda read: None)
            except CommandFailed as error:
                if "another command imports the same log now; nothing is lost" not in str(error):
                    raise

    with ThreadPoolExecutor(3) as threads:
        assert all(each.stored + each.stored_before == 4_000 for each in threads.map(together, range(3)))
    assert rows(collector, "together") == list(range(30_000, 34_000))


def test_literals_do_not_leave_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []

    def post(_: Client, path: str, document: dict[str, Any]) -> Any:
        sent.append({path: document})
        return {"now_s": 1_795_253_969, "logs": []}

    monkeypatch.setattr(Client, "post", post)
    log = tmp_path / "slow.log"
    log.write_bytes(logged(b"SELECT 'canary', 4711 /* traceparent */") + logged(b"INSERT INTO t VALUES ('canary')"))
    report = import_log(Client("http://127.0.0.1:1"), str(log), "db", lambda read: None)
    assert report.stored == 2
    assert "insert into t values(?+)" in str(sent)
    assert "canary" not in str(sent)
    assert "4711" not in str(sent)


def test_an_imported_entry_is_joined_with_its_transaction(collector: Collector, tmp_path: Path) -> None:
    sent = Sent("ee" * 16, "0e" * 8, "POST /checkout", time.time_ns() - 30_000 * MS, 900 * MS, kept="slow")
    sent.calls = [SentCall("mysql.query", 0, 400 * MS, {"db.query.text": "SELECT w FROM weighted WHERE id = %s"})]
    assert collector.send(export_request([sent])).status_code == 200
    eventually(lambda: "transactions" in asked(collector, "GET", f"/api/transactions/{sent.trace_id}"))
    statement = f"SELECT w FROM weighted WHERE id = 7 /*traceparent='00-{sent.trace_id}-{sent.span_id}-01'*/"
    log = tmp_path / "slow.log"
    log.write_bytes(logged(statement.encode(), MYSQL_8[MYSQL_8.find(b"# Time") : MYSQL_8.find(b"use shop")]))
    assert stored(collector, log, "--server", "10.0.0.5:3306") == (1, 0)
    trace = asked(collector, "GET", f"/api/transactions/{sent.trace_id}")
    assert trace["transactions"][0]["statements"][0]["server"]["server"] == "10.0.0.5:3306"
    document = asked(collector, "GET", "/api/digest?since=all&statement=select+w+from")
    assert document["statements"][0]["server"]["joined"] == 1


def test_bad_input_is_refused_and_costs_nothing_that_was_good(collector: Collector, tmp_path: Path) -> None:
    log, cut, options = tmp_path / "slow.log", tmp_path / "cut.gz", ("--server", "bad input")
    log.write_text("127.0.0.1 - - GET /\n")
    assert_one_sentence(imports(collector, log, *options), 1, f"{log}: not a slow log of MySQL")
    assert_one_sentence(imports(collector, tmp_path / "none.log"), 1, "none.log: there is no such file")
    assert_one_sentence(imports(collector, tmp_path), 1, "is a folder; name the files in it")
    compressed = gzip.compress(numbered(40_000, 43_000), 1)
    cut.write_bytes(compressed[: len(compressed) // 2])
    done = imports(collector, cut, *options)
    assert done.returncode == 1
    assert "cannot be decompressed any further" in done.stderr
    assert "import it again when the file is whole" in done.stderr
    before = len(rows(collector, "bad input"))
    assert 1_000 < before < 2_000
    cut.write_bytes(compressed)
    assert stored(collector, cut, *options) == (3_000 - before, before)
    assert rows(collector, "bad input") == list(range(40_000, 43_000))
    log.write_bytes(MYSQL_8[MYSQL_8.find(b"# User") : MYSQL_8.find(b"# Query")] + MYSQL_8)
    done = imports(collector, log, *options)
    assert done.returncode == 0
    assert done.stderr == f"walltime: {log}: left out: 1 header without a readable statement or time\n"


def test_nothing_is_stored_without_the_admin_token(collector: Collector, tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(numbered(0, 3))
    for token in ("", "another-token-of-somebody"):
        done = imports(collector, log, "--server", "nobody", token=token)
        assert_one_sentence(done, 1, "token")
    away = run("slowlog", "import", str(log), environment={"WALLTIME_URL": "http://127.0.0.1:1"})
    assert_one_sentence(away, 1, "no collector answers at http://127.0.0.1:1")
    assert rows(collector, "nobody") == []
    position = {"offset": 1, "sha256": "a" * 64}
    batch = {"beginning": "a" * 64, "number": 0, "start": {"offset": 0, "sha256": ""}, "end": position, "rows": "{}\n"}
    for wrong, where in (
        ({"beginning": "../../etc"}, "body.beginning"),
        ({"number": -1}, "body.number"),
        ({"rows": "SELECT 1"}, "body.rows"),
        ({"start": 7}, "body.start"),
    ):
        answer = asked(collector, "POST", "/api/slow-log/import", json=batch | wrong)
        assert answer["error"]["where"] == where


@pytest.mark.parametrize(
    "crashpoint", ["slow_log_journal_written:2", pytest.param("slow_log_inserted:2", marks=pytest.mark.nightly)]
)
def test_a_collector_that_is_killed_has_each_entry_once(crashpoint: str, tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(numbered(0, 5_000))
    with Collector(tmp_path / "data", admin_token=TOKEN, crashpoint=crashpoint) as collector:
        done = imports(collector, log)
        assert done.returncode == 1
        assert "run the same command again, and it goes on from there" in done.stderr
        eventually(lambda: collector.process.poll() is not None)
        collector.kill()
    with Collector(tmp_path / "data", admin_token=TOKEN) as collector:
        if crashpoint.startswith("slow_log_journal"):  # what was in the journal does not wait for the next import
            eventually(lambda: len(rows(collector, "imported")) > 2_000)
        now, before = stored(collector, log)
        assert now + before == 5_000
        assert before > 2_000
        assert rows(collector, "imported") == list(range(5_000))


@pytest.mark.nightly
def test_a_collector_that_is_killed_at_any_moment_has_each_entry_once(tmp_path: Path) -> None:
    log, chance = tmp_path / "slow.log", random.Random(7)
    log.write_bytes(numbered(0, 30_000))
    for _ in range(15):
        with Collector(tmp_path / "data", admin_token=TOKEN) as collector, ThreadPoolExecutor(1) as threads:
            importing = threads.submit(imports, collector, log)
            time.sleep(0.8 + chance.random() * 2)
            collector.kill()
            importing.result()
    with Collector(tmp_path / "data", admin_token=TOKEN) as collector:
        now, before = stored(collector, log)
        assert now + before == 30_000
        assert rows(collector, "imported") == list(range(30_000))


@pytest.mark.parametrize("kills", [1, pytest.param(25, marks=pytest.mark.nightly)])
def test_a_command_that_is_killed_has_sent_each_entry_once(collector: Collector, kills: int, tmp_path: Path) -> None:
    log, server, chance = tmp_path / "slow.log", f"killed {kills} times", random.Random(kills)
    log.write_bytes(numbered(kills * 50_000, kills * 50_000 + 8_000))
    environment = {"WALLTIME_URL": collector.web_url, "WALLTIME_TOKEN": TOKEN}
    for at in range(kills):
        command = [str(WALLTIME), "slowlog", "import", "--server", server, "-" if kills == 1 else str(log)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as sending:
            assert sending.stdin is not None
            if kills == 1:  # in the middle: it has sent something, and waits for more
                sending.stdin.write(log.read_bytes()[: log.stat().st_size * 3 // 4])
                sending.stdin.flush()
                eventually(lambda: rows(collector, server))
            else:
                time.sleep(0.5 + chance.random() * (0.5 + at / 10))
            sending.kill()
    before = len(rows(collector, server))
    assert kills > 1 or 0 < before < 8_000
    assert sum(stored(collector, log, "--server", server)) == 8_000
    assert rows(collector, server) == list(range(kills * 50_000, kills * 50_000 + 8_000))
