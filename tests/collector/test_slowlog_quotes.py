"""Whether a statement ends inside a literal: the same however it was cut, and as MySQL reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.slowlog.quotes import Quotes


def is_open(*pieces: bytes) -> bool:
    quotes = Quotes()
    for piece in pieces:
        quotes.read(piece)
    return quotes.is_open


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"select 'a'", False),
        (b"select 'a", True),
        (b"select 'it''s", True),
        (b"select 'it\\'s'", False),
        (b"select 'a\\", True),
        (b"select 'a\\\\'", False),
        (b'select "it\'s"', False),
        (b"select `it's`", False),
        (b"select /* don't */ 1", False),
        (b"select /* don't", True),
        (b"select 1 -- don't", False),
        (b"select 1 -- don't\n, 'x", True),
        (b"select 1 # don't\n, 2", False),
        (b"select 5--'", True),
        (b"select 'a # b'", False),
        (b"", False),
    ],
)
def test_what_is_open_at_the_end(text: bytes, expected: bool) -> None:
    assert is_open(text) is expected


@given(st.text(st.sampled_from("'\"`\\a\n ")), st.lists(st.integers(1, 5)))
def test_how_it_was_cut_makes_no_difference(text: str, sizes: list[int]) -> None:
    whole = text.encode()
    pieces, at = [], 0
    for size in sizes:
        pieces.append(whole[at : at + size])
        at += size
    assert is_open(*pieces, whole[at:]) == is_open(whole)
