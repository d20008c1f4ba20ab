"""Fingerprints beside pt-fingerprint's: the same, but for what docs/decisions/009 lists."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from walltime_collector.observe.slowlog.parser import Parser
from walltime_collector.statements.fingerprint import fingerprint

from tests.collector.observe.slowlog.real_logs import REAL_LOGS

DIFFERENCES = {
    # digits within names stay; at the beginning of a name they are `?` in both
    "select a1 from utf8_t2": ("select a1 from utf8_t2", "select a? from utf?_t?"),
    "select * from 123foo": ("select * from ?foo", "select * from ?oo"),
    # an operator before a number is no sign
    "select a-1, b + 2": ("select a-?, b + ?", "select a?, b ? ?"),
    # a procedure keeps its arguments' number
    "call foo(1,2)": ("call foo(?,?)", "call foo"),
    # the database of `use` stays
    "use `foo`": ("use `foo`", "use ?"),
    # executable comments between other text go, as in the SDK
    "select /*!40001 SQL_NO_CACHE */ a from t": ("select a from t", "select /*!? sql_no_cache */ a from t"),
    "SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`": ("select * from `t`", "mysqldump"),
    "/*M!100100 select 1 */": ("/*m!? select ? */", ""),
    "REPLACE /*a.b:3/3*/ INTO t select 1": ("replace into t select ?", "percona-toolkit"),
    # a comment at the end leaves nothing
    "select a from t /*service='shop'*/": ("select a from t", "select a from t "),
    # a repeated UNION stays
    "select 1 union select 2": ("select ? union select ?", "select ? /*repeat union*/"),
    # what follows a list of rows stays
    "insert into t values (1),(2) on duplicate key update a=1": (
        "insert into t values(?+) on duplicate key update a=?",
        "insert into t values(?+)",
    ),
    # prefixes and brackets of literals
    "select _utf8'a', N'b', x'1f'": ("select ?, ?, ?", "select _utf??, n?, ?"),
    # dollar quotes, hints, comments up to the end of the text
    "select $$a$$": ("select ?", "select $$a$$"),
    "select /*+ NO_CACHE(5) */ a from t": ("select /*+ no_cache(?) */ a from t", "select a from t"),
}


def of_tool(statement: str) -> str:
    tool = shutil.which("pt-fingerprint")
    if not tool:
        pytest.skip("needs pt-fingerprint (apt-get install percona-toolkit)")
    return subprocess.run(
        [tool, "--query", statement], capture_output=True, text=True, check=False
    ).stdout.removesuffix("\n")


def without_digits(text: str) -> str:
    """As pt-fingerprint takes numbers out, which are in names too."""
    return re.sub(r"[xb.+-]\?", "?", re.sub(r"[0-9+-][0-9a-f.xb+-]*", "?", text))


@pytest.mark.parametrize("statement", DIFFERENCES)
def test_each_listed_difference_is_ours(statement: str) -> None:
    assert fingerprint(statement) == DIFFERENCES[statement][0]


@pytest.mark.nightly
@pytest.mark.parametrize("statement", DIFFERENCES)
def test_each_listed_difference_is_the_tool_s(statement: str) -> None:
    assert of_tool(statement) == DIFFERENCES[statement][1]


@pytest.mark.nightly
def test_the_statements_of_real_logs_have_the_tool_s_fingerprints() -> None:
    if not REAL_LOGS.exists():
        pytest.skip("the real logs are not on this machine")
    found: dict[str, str] = {}
    for path in sorted(REAL_LOGS.iterdir()):
        parser = Parser()
        for entry in parser.feed(path.read_bytes()) + parser.finish():
            if len(entry.statement) < 20_000:
                found.setdefault(fingerprint(entry.statement), entry.statement)
    assert len(found) > 30
    different = {
        ours: theirs
        for ours, statement in found.items()
        if statement and without_digits(ours) != without_digits(theirs := of_tool(statement).strip())
    }
    assert different == {}
