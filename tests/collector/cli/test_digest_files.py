"""`walltime digest FILE…`: pt-query-digest's numbers, whatever the log comes in, and clear words for what is no log."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
from walltime_collector.cli.digest import files
from walltime_collector.cli.digest.command import sorted_words
from walltime_collector.cli.digest.files import LogDigest, digest_of_files
from walltime_collector.cli.digest.sums import Wanted
from walltime_collector.errors import CommandFailed
from walltime_collector.zstd import zstd

from tests.bench.slowlog import distinct
from tests.collector.cli.command import WALLTIME, assert_one_sentence, on_a_terminal, run
from tests.collector.cli.pt_query_digest import STORED, Numbers, of_digest, of_tool
from tests.collector.observe.slowlog.hostile_log import logged
from tests.collector.observe.slowlog.real_logs import MARIADB, MYSQL_8, PERCONA_8, PT_QUERY_DIGEST_SAYS, REAL_LOGS

needs_real_logs = pytest.mark.skipif(not REAL_LOGS.exists(), reason="the real logs are not on this machine")
NAMES = {"CC47B42511EA22DD": "7C1934E82086DF57"}
"""`set names utf?`, of the tool, is `set names utf8`."""
DIFFERENCES: dict[str, dict[str, list[Any]]] = {
    "slow041.txt": {
        # `/*!50002 GLOBAL */` stays with the tool
        "B90978440CC11CC7": [],
        "31DA25F95494CA95": [1, "0.000613", "0.000613", "0.000613", "0.000613", "0.000107", 230, 230],
        # the tool counts a command without a header, which has no time
        "AA353644DE4C4CB4": [1, "0.000002", "0.000002", "0.000002", "0.000002", "0.000000", 0, 0],
    },
    "slow059.txt": {
        # the server logged one statement in 2, which the tool does not multiply
        "9EA505F4786E7F15": [2, "0.000930", "0.000237", "0.000233", "0.000236", "0.000472", 4, 4],
        "D2BA209E593ABAA7": [1, "0.000330", "0.000165", "0.000165", "0.000165", "0.000096", 10, 20],
    },
}
"""Those of decision 009: by log and id, what we print where the tool prints another; nothing: no id of ours."""


def whole(*paths: Path, service: str = "") -> LogDigest:
    return digest_of_files([*map(str, paths)], Wanted(service=service), by="total", limit=1_000, statement="")


def with_differences(name: str, said: Numbers) -> Numbers:
    ours = {NAMES.get(number, number): numbers for number, numbers in said.items()} | DIFFERENCES.get(name, {})
    return {number: numbers for number, numbers in ours.items() if numbers}


@needs_real_logs
@pytest.mark.parametrize("name", PT_QUERY_DIGEST_SAYS)
def test_a_real_log_has_pt_query_digests_numbers(name: str) -> None:
    said = json.loads(STORED.read_text())[name]
    assert of_digest(whole(REAL_LOGS / name).digest) == with_differences(name, said)


@needs_real_logs
@pytest.mark.nightly
@pytest.mark.parametrize("name", PT_QUERY_DIGEST_SAYS)
def test_pt_query_digest_still_prints_them(name: str) -> None:
    assert of_tool(REAL_LOGS / name) == json.loads(STORED.read_text())[name]


@needs_real_logs
@pytest.mark.nightly
def test_a_log_of_many_statements_has_pt_query_digests_numbers(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(b"".join(distinct(REAL_LOGS, 4_000_000)).replace(b"/*!", b"/* "))
    assert of_digest(whole(log).digest) == with_differences("", of_tool(log))


def hostile(times: int) -> bytes:
    """Entries whose literals have headers, and statements of servers that read escaped quotes in two ways."""
    header = MYSQL_8.splitlines(keepends=True)[3:6]
    inside = b"INSERT INTO logs VALUES ('%b')" % b"".join([*header, b"SELECT inside_a_literal;\n", *header])
    doubtful = rb"SELECT 'it\'s' FROM t WHERE n = 1"
    entries = (MYSQL_8[MYSQL_8.find(b"# Time") :], logged(inside), PERCONA_8, logged(doubtful), MARIADB)
    return b"".join(entries) * times


def test_a_log_that_is_read_in_parts_is_read_like_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(hostile(40))
    expected = whole(log)
    assert "inside_a_literal" not in str(expected.digest)
    assert expected.digest.entries == 40 * 7
    monkeypatch.setattr(files, "_PARALLEL_BYTES", 0)
    for part_bytes in (900, 2_300, 7_001):
        monkeypatch.setattr(files, "_PART_BYTES", part_bytes)
        monkeypatch.setattr(files, "_LOOK_BYTES", 700)
        assert len(files.parts_of(str(log))) > 5
        assert whole(log) == expected


def test_content_decides_whether_a_log_is_compressed(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(hostile(3))
    for name, compress in (
        ("a.gz", gzip.compress),
        ("b", zstd.compress),
        ("c.log", bz2.compress),
        ("d", lzma.compress),
    ):
        log = tmp_path / name
        log.write_bytes(compress(plain.read_bytes()))
        assert whole(log) == whole(plain)
    assert whole(plain, tmp_path / "a.gz").digest.entries == 2 * 3 * 7


@pytest.mark.parametrize(
    "wrap",
    [
        lambda texts: "\n".join(json.dumps({"timestamp": 1, "message": text}) for text in texts),
        lambda texts: json.dumps({"events": [{"message": text, "eventId": "1"} for text in texts]}, indent=2),
        lambda texts: json.dumps(
            {"logGroup": "/aws/rds/a", "logEvents": [{"id": "1", "message": text} for text in texts]}
        ),
        lambda texts: "\n".join(
            json.dumps({"insertId": "1", "textPayload": line, "resource": {"labels": {"database_id": "p:db"}}})
            for text in texts
            for line in text.split("\n")
        ),
    ],
    ids=["CloudWatch, lines", "CloudWatch, aws logs", "CloudWatch, subscription", "Cloud SQL, line by line"],
)
def test_logs_are_taken_out_of_json(wrap: Any, tmp_path: Path) -> None:
    text = MYSQL_8[MYSQL_8.find(b"# Time") :] + logged('SELECT "ä", \'{"message": "none"}\''.encode())
    plain, wrapped = tmp_path / "plain", tmp_path / "wrapped"
    plain.write_bytes(text)
    messages = [f"# Time{each}".rstrip("\n") for each in text.decode().split("# Time")[1:]]
    wrapped.write_text(wrap(messages))
    assert whole(wrapped) == whole(plain)
    assert whole(wrapped).digest.entries == 3


def test_times_and_services_are_those_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    comment = b"SELECT 3 /*service='shop',traceparent='00-%b-%b-01'*/" % (b"ab" * 16, b"cd" * 8)
    log.write_bytes(MYSQL_8 + logged(comment, MYSQL_8[MYSQL_8.find(b"# Time") : MYSQL_8.find(b"use shop")]))
    found = whole(log).digest
    assert (found.since[:19], found.until[:19]) == ("2026-11-21T05:38:03", "2026-11-21T05:38:04")
    (only,) = found.statements
    assert [(each.service, each.calls) for each in only.senders] == [("shop", 1)]
    assert only.server is not None
    assert (only.server.entries, only.server.joined) == (3, 1)
    assert whole(log, service="shop").digest.entries == 1
    for options, entries in ((("--since", "2026-11-21T05:38:04Z"), 1), (("--until", "2026-11-21 05:38:04"), 2)):
        done = run("digest", str(log), "--json", *options)
        assert json.loads(done.stdout)["entries"] == entries
    done = run("digest", str(log), "--since", "1h")
    assert (done.returncode, done.stderr) == (0, "")
    assert "No statement is in the log" in done.stdout


def test_what_is_printed_says_nothing_of_applications(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(PERCONA_8 + MYSQL_8)
    done = run("digest", str(log), environment={"WALLTIME_URL": "http://127.0.0.1:1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "100 logged (in 1 entry), 1.00 s each, p95 1.00 s" in done.stdout
    assert "in 3 entries of the slow log   2026-11-21 05:38:03 … 05:38:04 UTC" in done.stdout
    assert "sent by" not in done.stdout
    piped = subprocess.run(
        [WALLTIME, "digest", "-", "select ?"], input=log.read_bytes(), capture_output=True, check=True
    )
    assert b"2 logged" in piped.stdout
    assert b"foo" not in piped.stdout


def test_long_logs_have_a_bar_on_a_terminal(tmp_path: Path) -> None:
    log = tmp_path / "slow.log.gz"
    log.write_bytes(b"".join(gzip.compress(MYSQL_8 * 10, 0) for _ in range(1_200)))
    assert log.stat().st_size > 8 * 1024 * 1024
    assert "reading" in on_a_terminal(100, "digest", str(log))


def test_bad_input_costs_nothing_that_was_good(tmp_path: Path) -> None:
    good, cut, other = tmp_path / "good.log", tmp_path / "cut.gz", tmp_path / "other.log"
    good.write_bytes(MYSQL_8)
    cut.write_bytes(gzip.compress(hostile(500), 1)[:2_000])
    other.write_text("127.0.0.1 - - GET / HTTP/1.1\n")
    found = whole(good, cut, other)
    assert found.losses == []
    assert [failure.partition(":")[0] for failure in found.failures] == [str(cut), str(other)]
    assert found.digest.entries > 10
    done = run("digest", str(good), str(other))
    assert done.returncode == 1
    assert "in 2 entries" in done.stdout
    assert done.stderr == (
        f"walltime: {other}: not a slow log of MySQL, MariaDB or Percona Server: there is no entry in it\n"
    )
    good.write_bytes(MYSQL_8[MYSQL_8.find(b"# User") : MYSQL_8.find(b"# Query")] + MYSQL_8)
    done = run("digest", str(good))
    assert (done.returncode, done.stderr) == (
        0,
        f"walltime: {good}: left out: 1 header without a readable statement or time\n",
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["no-such.log"], "no-such.log: there is no such file"),
        (["tests/"], "tests/: is a folder; name the files in it"),
        (["select", "from"], "put a statement of several words in quotes"),
        (["-", "-"], "stdin can be read once"),
    ],
)
def test_words_that_mean_nothing_are_refused(words: list[str], expected: str) -> None:
    with pytest.raises((CommandFailed, click.BadParameter), match=expected):
        sorted_words(words)


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("Makefile",), 1, "Makefile: not a slow log of MySQL, MariaDB or Percona Server"),
        (("Makefile", "--url", "http://127.0.0.1:1"), 2, "--url: it has no effect beside a FILE; leave out one"),
        (("Makefile", "--by", "client"), 2, "a slow log has the server's times only"),
        (("Makefile", "--since", "yesterday"), 2, "'yesterday' is not a time; write a time ago"),
        (("--until", "1h"), 2, "--until: it has no effect without FILE"),
    ],
)
def test_options_that_mean_nothing_are_refused(words: tuple[str, ...], code: int, expected: str) -> None:
    assert_one_sentence(run("digest", *words), code, expected)


def test_a_word_is_a_file_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deadbeef").touch()
    long = "select a, b from t where c = ? " * 50
    assert sorted_words(["deadbeef", long, "-", "./deadbeef"]) == (["deadbeef", "-", "./deadbeef"], long)
    assert sorted_words(["0xdeadbeef"]) == ([], "0xdeadbeef")
    assert sorted_words(["update `shop`.`t` set"]) == ([], "update `shop`.`t` set")
