"""
The server reads a statement with our comment as it reads it without: fuzzed statements and values on a real MariaDB.

The outcome of both is compared: the names and values of all results, or the number of the error.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pymysql
import pytest
from pymysql.constants import CLIENT
from shop.services import MariaDB
from walltime.core.ids import Ids
from walltime.core.sql_comment import tag
from walltime.core.transaction import Transaction
from walltime.settings.settings import Settings

from tests.server_folder import server_folder

FEW, MANY = 2_000, 100_000
HOSTILE: Final = (
    "*/", "/*", "/*!", "/*!50000 ", "/*M! ", "/*+ x */", "--", "-- ", "#", "'", '"', "`", "\\", "\\'", "''", "%",
    "%s", "%%", "?", ":name", ";", "; ", "\0", "\n", "\r", "\t", "\v", "\f", " ", "\xa0", "\x85", "é", "日本", "😀",
    "\x7f", "@", "$$", "x'", "0x", "/", "*", "-", "traceparent='00-", "\\N", ".", ",", "(", ")", "=",
)  # fmt: skip
PIECES: Final = (
    "SELECT 1", "SELECT 'a' AS b", "SELECT 1 AS `c`", "SELECT id FROM words WHERE word = 'x'",
    "SELECT COUNT(*) FROM words",
    "SELECT 2 * 3 / 4", "SELECT /* why */ 5", "SELECT 1 /*! + 1 */", "SELECT 1 /*!99999 + 1 */", "SELECT 1 -- end",
    "SELECT 1 # end", "SELECT 1 --", 'SELECT "double"', "SELECT _utf8mb4'x'", "SELECT N'x'", "SELECT x'41'",
    "SELECT 0b11", "SELECT 1e3", "SELECT .5", "SELECT @a", "SELECT @@version_comment", "SELECT NULL", "SELECT \\N",
    "SELECT 1 UNION SELECT 2", "(SELECT 1)", "SHOW TABLES LIKE 'words'", "SET @a = 1", "DO 1", "VALUES (1, 2)",
    "BEGIN", "COMMIT", "ROLLBACK", "", "SELECT 1 LIMIT 1", "SELECT DATE '2020-01-01'", "SELECT CURRENT_USER() IS NULL",
    "WITH a AS (SELECT 1) SELECT * FROM a", "SELECT 'it''s'", "SELECT 'back\\'slash'", "EXPLAIN SELECT 1",
)  # fmt: skip


class Watched(MariaDB):
    """One whose performance_schema keeps the last statements of each thread."""

    def command(self) -> Sequence[str | Path]:
        return [
            *[argument for argument in super().command() if argument != "--skip-performance-schema"],
            "--performance-schema=ON",
            "--performance-schema-consumer-events-statements-current=ON",
            "--performance-schema-consumer-events-statements-history=ON",
        ]


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDB]:
    with server_folder() as folder, Watched(folder) as server:
        with pymysql.connect(**server.account()) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE words (id INT PRIMARY KEY AUTO_INCREMENT, word VARCHAR(200)) CHARSET utf8mb4")
        yield server


@pytest.fixture(params=["append", "prepend"])
def commented(request: pytest.FixtureRequest) -> Settings:
    return Settings(sql_comment_position=request.param, sql_comment_keys=KEYS)


NEXT: Final = "DO 4711"
"""A statement is in performance_schema's history for certain when the next one of its connection has begun."""
KEYS: Final = ("traceparent", "route", "service", "user", "a'*/", "file", "line")


UNPARSED: Final = frozenset({1064, 1525})
"""A quote that is never closed: no syntax, or no date where it takes our first quote for its end."""


def hostile_text(source: random.Random, most: int = 6) -> str:
    return "".join(
        source.choice(HOSTILE) if source.random() < 0.6 else source.choice("abc 123_")
        for _ in range(source.randint(0, most))
    )


def transaction(source: random.Random, settings: Settings) -> Transaction:
    """A transaction whose every text that goes into the comment is hostile."""
    made = Transaction(hostile_text(source), "server", Ids(source.getrandbits(128) or 1, 11, 1), 0, 0, settings)
    made.set_user(hostile_text(source))
    made.annotate("a'*/", hostile_text(source, 300))
    return made


def statement(source: random.Random) -> str:
    """A statement, whole or with a hostile text somewhere in it or around it."""
    sql = source.choice(PIECES)
    for _ in range(source.choice((0, 1, 1, 2, 3))):
        at = source.choice((0, len(sql), len(sql), source.randint(0, len(sql))))
        sql = sql[:at] + source.choice(HOSTILE) + sql[at:]
    return sql


def outcome(connection: Any, sql: bytes) -> list[object]:
    """What the server makes of it: all its results, or the number of its error."""
    results: list[object] = []
    try:
        connection.query(sql)
        while True:
            result = connection._result
            columns = [] if result.description is None else [column[0] for column in result.description]
            # rows the statement itself is visible in, or the time is, say nothing about how it was read
            results.append((columns, result.rows, result.affected_rows))
            if not result.has_next:
                return results
            connection.next_result()
    except pymysql.err.MySQLError as error:
        connection._result = None  # else it waits for the rest of the results, which do not come after an error
        return [*results, UNPARSED if error.args[0] in UNPARSED else error.args[0]]


def same_outcomes(server: MariaDB, commented: Settings, seed: int, count: int) -> None:
    source = random.Random(seed)
    connections = {
        (charset, flag): pymysql.connect(
            **{**server.account(), "charset": charset, "client_flag": flag, "autocommit": True, "read_timeout": 10}
        )
        for charset in ("utf8mb4", "latin1")
        for flag in (0, CLIENT.MULTI_STATEMENTS)
    }
    succeeded = 0
    for _ in range(count):
        charset, flag = key = source.choice(list(connections))
        connection = connections[key]
        if source.random() < 0.4:
            value = (
                hostile_text(source, 12).encode("latin-1", "ignore").decode("latin-1")
                if charset == "latin1"
                else hostile_text(source, 12)
            )
            sql = f"SELECT {connection.escape(value)} AS v, {source.randint(0, 9)}"
        else:
            sql = statement(source)
        plain = sql.encode(connection.encoding, "replace")
        tagged = tag(transaction(source, commented), plain)
        expected = outcome(connection, plain)
        assert outcome(connection, tagged) == expected, (charset, flag, plain, tagged)
        succeeded += isinstance(expected[-1], tuple)
    for connection in connections.values():
        connection.close()
    assert count * 0.3 < succeeded < count, "most fuzz must not be nonsense, and some of it should"


def test_a_tagged_statement_has_the_outcome_of_the_plain_one(server: MariaDB, commented: Settings) -> None:
    same_outcomes(server, commented, 1, FEW // 2)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_hundred_thousand_tagged_statements_have_the_outcome_of_the_plain_ones(
    server: MariaDB, commented: Settings
) -> None:
    same_outcomes(server, commented, 2, MANY // 2)


def test_the_server_takes_the_same_tokens_from_a_tagged_statement(server: MariaDB, commented: Settings) -> None:
    source = random.Random(3)
    connection: Any = pymysql.connect(**server.account(), autocommit=True)
    admin, number = server.admin(), connection.thread_id()

    def digests() -> list[str]:
        connection.query(NEXT)
        with admin.cursor() as cursor:
            cursor.execute(
                "SELECT EVENT_ID, DIGEST FROM performance_schema.events_statements_history "
                "JOIN performance_schema.threads USING (THREAD_ID) "
                "WHERE PROCESSLIST_ID = %s AND EVENT_ID > %s AND SQL_TEXT <> %s",
                (number, seen[-1], NEXT),
            )
            rows = sorted(cursor.fetchall())
        seen.extend(event for event, _ in rows)
        return [digest for _, digest in rows]

    seen = [0]
    compared = 0
    while compared < 150:
        plain = statement(source).encode()
        parsed = outcome(connection, plain)
        expected = digests()
        outcome(connection, tag(transaction(source, commented), plain))
        found = digests()
        if isinstance(parsed[-1], tuple):
            assert found == expected, plain
            compared += 1
    connection.close()
    admin.close()


def test_performance_schema_keeps_the_comment_of_a_long_statement_and_one_digest(server: MariaDB) -> None:
    settings = Settings(service_name="shop")
    connection: Any = pymysql.connect(**server.account())
    admin, number = server.admin(), connection.thread_id()
    for size in (10, 800, 900, 940, 980, 1020, 1060, 5000):
        sent = transaction(random.Random(size), settings)
        connection.query(tag(sent, f"SELECT '{'x' * size}'"))
        connection.query(NEXT)
        with admin.cursor() as cursor:
            cursor.execute(
                "SELECT SQL_TEXT, DIGEST_TEXT FROM performance_schema.events_statements_history "
                "JOIN performance_schema.threads USING (THREAD_ID) WHERE PROCESSLIST_ID = %s AND SQL_TEXT LIKE '%%x%%'"
                "ORDER BY EVENT_ID DESC LIMIT 1",
                (number,),
            )
            ((text, digest),) = cursor.fetchall()
        assert f"traceparent='00-{sent.request_id}-000000000000000b-01'" in text, size
        assert digest.strip() == "SELECT ?", "the comment makes no other statement of it"
    connection.close()
    admin.close()


def test_what_fits_into_a_packet_still_does_with_a_comment(server: MariaDB) -> None:
    admin = server.admin()
    with admin.cursor() as cursor:
        cursor.execute("SELECT @@max_allowed_packet")
        ((before,),) = cursor.fetchall()
        cursor.execute("SET GLOBAL max_allowed_packet = 1048576")
    sent = transaction(random.Random(1), Settings())
    tagged = 0
    for below in (2, 3, 10, 50, 100, 300, 2000):
        connection = pymysql.connect(**server.account())
        plain = b"SELECT '" + b"x" * ((1 << 20) - below - len("SELECT ''")) + b"'"
        with_comment = tag(sent, plain)
        connection.query(plain)
        connection.query(with_comment)
        tagged += with_comment != plain
        connection.close()
    assert 1 <= tagged <= 3
    with admin.cursor() as cursor:
        cursor.execute("SET GLOBAL max_allowed_packet = %s", (before,))
    admin.close()
