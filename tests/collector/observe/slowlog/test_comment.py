"""The sender of a statement, from the comment that says it last."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.statements.comment import UNKNOWN_SENDER, Sender, sender

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7"
OTHER_TRACE = "ffffffffffffffffffffffffffffffff"
PARENT = f"traceparent='00-{TRACE}-{SPAN}-01'"
OTHER = f"traceparent='00-{OTHER_TRACE}-{SPAN}-01'"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (f"select 1 /*route='%2Fa%20b',service='shop',{PARENT}*/", Sender(TRACE, SPAN, "shop", "/a b")),
        (f"/*dddbs='db',ddps='shop',{PARENT}*/ select 1", Sender(TRACE, SPAN, "shop", "")),
        (f"select /*{OTHER}*/ 1 /*{PARENT}*/", Sender(TRACE, SPAN)),
        (f"select 1 /*{PARENT}*/ /* a remark */", Sender(TRACE, SPAN)),
        (f"select 1 /*{PARENT}*/ /*application:blog,action:show*/", Sender(TRACE, SPAN)),
        ("select 1 /*application:blog,controller:posts,action:show*/", Sender("", "", "blog", "show")),
        (f"select 1 /*db_driver='pymysql%%3A1.2',route='%%2Fx',{PARENT}*/", Sender(TRACE, SPAN, "", "/x")),
        (f"select 1 /*service='it\\'s',{PARENT}*/", Sender(TRACE, SPAN, "it's", "")),
        ("select 1", UNKNOWN_SENDER),
        ("select 1 /* just words */", UNKNOWN_SENDER),
        ("select 1 /*traceparent='nonsense'*/", UNKNOWN_SENDER),
        (f"select 1 /*traceparent='00-{'0' * 32}-{SPAN}-01'*/", UNKNOWN_SENDER),
        (f"select 1 /*traceparent='00-{TRACE}-{'0' * 16}-01'*/", UNKNOWN_SENDER),
        (f"select 1 /*{PARENT}", UNKNOWN_SENDER),
        (f"select {'x' * 100_000} /*{PARENT}*/", Sender(TRACE, SPAN)),
        (f"/*{PARENT}*/ select {'x' * 100_000}", Sender(TRACE, SPAN)),
    ],
)
def test_the_sender_is_found(statement: str, expected: Sender) -> None:
    assert sender(statement) == expected


@given(st.text(st.sampled_from("=,:;k v%\n()")), st.text(st.sampled_from("/*'\" \n")))
def test_the_last_comment_wins_whatever_stands_before_and_after(before: str, after: str) -> None:
    statement = f"{before} /*{PARENT}*/ {after.replace('/*', '').replace('*/', '')}"
    assert sender(statement)[:2] == (TRACE, SPAN)


@pytest.mark.parametrize(
    "statement",
    [
        f"select '/*{PARENT}*/",
        f'select "/*{PARENT}*/"',
        f"select 'it\\'s /*{PARENT}*/', 5",
        f"select `/*{PARENT}*/`",
        f"select 1 # /*{PARENT}*/",
        f"select 1 -- /*{PARENT}*/",
    ],
)
def test_what_is_no_comment_of_its_own_says_nothing(statement: str) -> None:
    assert sender(statement) == UNKNOWN_SENDER
