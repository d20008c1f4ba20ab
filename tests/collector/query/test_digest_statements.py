"""Statements in `walltime digest`: short enough to read, found again by what is printed, and with an honest sender."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walltime_collector.cli.digest.text import render
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import NotStored
from walltime_collector.observe.slowlog.entry import Entry
from walltime_collector.query.digest.short import LONGEST, short_lists, shortened

from tests.collector.conftest import Store
from tests.collector.query.digesting import HOUR_S, digest, keep, log_of, said
from tests.collector.traffic import MS, Sent

COLUMNS = ", ".join(f"catalogue_product.column_{at}" for at in range(30))
WIDE = f"SELECT {COLUMNS} FROM catalogue_product WHERE id = 7"
MIGRATION = "CREATE TABLE django_migrations (id bigint, app varchar(255))"


@pytest.fixture(scope="module")
def logged(engine: Engine, store: Store) -> Engine:
    """A service with two statements, one of which is logged without its name; a migration before, a dump after it."""
    now_ns = time.time_ns()
    sent = Sent("5e" * 16, "5e" * 8, "GET /product", now_ns - 300_000 * MS, 100 * MS, service="oscar")
    other = Sent("6f" * 16, "6f" * 8, "GET /other", now_ns - 300_000 * MS, 100 * MS, service="blog")
    store([sent, other])
    nameless = f" /*traceparent='00-{sent.trace_id}-{sent.span_id}-01'*/"
    at_us = sent.started_ns // 1_000
    keep(
        engine,
        [
            *log_of(sent, WIDE, 5 * MS),
            *log_of(other, "SELECT title FROM posts", 4 * MS),
            Entry(query_ns=3 * MS, started_us=at_us, position=7, statement=f"SELECT stock FROM shelf{nameless}"),
            Entry(query_ns=900 * MS, started_us=at_us - 1_200_000_000, position=8, statement=MIGRATION),
            Entry(query_ns=800 * MS, started_us=at_us + 5_000_000, position=9, statement="SELECT * FROM dumped"),
        ],
        "statements",
    )
    return engine


def test_a_statement_without_a_known_sender_is_marked(logged: Engine) -> None:
    answer = digest(logged, since_s=HOUR_S)
    migration, dump = answer.statements[:2]
    assert (migration.senders, dump.senders) == ((), ())
    assert (migration.is_before_applications, dump.is_before_applications) == (True, False)
    assert answer.unsent_ns == 1_700 * MS
    shown = " ".join(said(render(answer)).split())
    assert "1.70 s of it sent by no known service (--service NAME leaves that out)" in shown
    assert "sent by no known service: before the first transaction was stored: a migration" in shown
    assert "sent by no known service: a migration, a shell, a backup" in shown


def test_a_service_has_its_own_statements_also_those_whose_comment_does_not_name_it(logged: Engine) -> None:
    answer = digest(logged, since_s=HOUR_S, service="oscar")
    texts = {each.fingerprint for each in answer.statements}
    assert {text[:12] for text in texts} == {"select catal", "select stock"}
    assert answer.unsent_ns == 0
    assert "no known service" not in said(render(answer))


def test_twenty_statements_with_long_lists_fit_on_a_few_screens(engine: Engine) -> None:
    now_us = time.time_ns() // 1_000
    keep(
        engine,
        [
            Entry(query_ns=MS, started_us=now_us, position=at, statement=WIDE.replace("WHERE id", f"WHERE wide_{at}_x"))
            for at in range(20)
        ],
        "wide",
    )
    answer = digest(engine, since_s=HOUR_S, limit=30)
    wide = [each for each in answer.statements if "wide_" in each.fingerprint]
    assert len(wide) == 20
    shown = said(render(answer), 120)
    assert "select catalogue_product.column_0, catalogue_product.column_1, … 28 more from" in shown
    assert len(shown.splitlines()) < 6 * len(answer.statements)
    assert "a whole statement: walltime digest ID" in shown


def test_a_statement_matches_by_its_id_by_its_printed_text_and_by_itself(logged: Engine) -> None:
    each = next(one for one in digest(logged, since_s=HOUR_S).statements if "column_29" in one.fingerprint)
    printed = shortened(each.fingerprint)
    forms = (
        each.fingerprint_id,
        each.fingerprint_id[:8].lower(),
        each.fingerprint,
        each.fingerprint[:500],
        WIDE,
        printed,
        f"{printed}  {each.fingerprint_id}",
        f"'{printed}'",
    )
    for written in forms:
        answer = digest(logged, since_s=HOUR_S, statement=written)
        assert each in [replace(one, history=None) for one in answer.statements], written
        assert answer.all_statements == 1 or written == each.fingerprint[:500]
    whole = digest(logged, since_s=HOUR_S, statement=each.fingerprint_id)
    assert each.fingerprint in " ".join(said(render(whole), 100).split())
    with pytest.raises(NotStored, match="no statement 'SELECT nothing' is stored"):
        digest(logged, since_s=HOUR_S, statement="SELECT nothing")


@pytest.mark.parametrize(
    ("statement", "short"),
    [
        ("select a, b, c from t", "select a, b, c from t"),
        (
            f"select count(*) from (select distinct {COLUMNS}, (select max(x) from y) as m from a) sub",
            "select count(*) from (select distinct catalogue_product.column_0, catalogue_product.column_1, … 29 more"
            " from a) sub",
        ),
        (
            f"insert into log ({COLUMNS}) values(?+)",
            "insert into log (catalogue_product.column_0, catalogue_product.column_1, … 28 more) values(?+)",
        ),
        (f"select {COLUMNS}", "select catalogue_product.column_0, catalogue_product.column_1, … 28 more"),
        ("select `from`, `a, b`, c from t", "select `from`, `a, b`, c from t"),
        ("", ""),
        ("select", "select"),
        ("select (", "select ("),
    ],
)
def test_long_lists_become_their_beginning_and_a_number(statement: str, short: str) -> None:
    assert short_lists(statement) == short


words = st.sampled_from(
    ["select", "from", "(", ")", ",", "a", "catalogue_product.structure", "where", "'x,y'", "insert", "into", "`f", " "]
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(words, max_size=60).map(" ".join) | st.text(max_size=200))
def test_any_text_can_be_shortened_and_nothing_but_lists_is_left_out(text: str) -> None:
    short = short_lists(text)
    assert len(short) <= len(text)
    assert len(shortened(text)) <= LONGEST
    at = 0
    for part in re.split(r", … \d+ more", short) if short != text else [text]:
        assert text.find(part, at) >= at
        at = text.find(part, at) + len(part)
