"""Calls of any times, one after the other or nested."""

from __future__ import annotations

from hypothesis import strategies as st
from walltime.core.call import CONTINUED, Call, Target, lines

COMPONENTS = ("mysql.query", "mysql.connect", "memcache.get", "memcache.set", "http.request", "render")


@st.composite
def calls(draw: st.DrawFn, component: str | None = None) -> Call:
    own_ns = draw(st.integers(0, 10**9))
    asked = draw(st.integers(0, 5))
    target: Target | None = draw(st.sampled_from([None, ("10.0.0.7", 11211), ("::1", 3306), "/run/mysqld.sock"]))
    return (
        lines(component or draw(st.sampled_from(COMPONENTS)))[target],
        draw(st.sampled_from([None, "SELECT 1", b"SELECT 2", bytearray(b"SELECT 3"), ["unhashable"], CONTINUED])),
        0,
        own_ns,
        own_ns,
        draw(st.sampled_from([None, None, "1213", "1205", "OSError"])),
        asked,
        draw(st.integers(-1, asked)),
    )
