"""A frame of a stack in the form that pprof and speedscope need."""

from __future__ import annotations

import re
from typing import NamedTuple

_PLACE = re.compile(r"(.+):(\d{1,9})\)")


class Frame(NamedTuple):
    """File and line are empty for what is no code of the application: a component, a library, a state."""

    name: str
    file: str = ""
    line: int = 0


def frame(text: str) -> Frame:
    """Read `function (file:line)`."""
    name, _, place = text.rpartition(" (")
    match = _PLACE.fullmatch(place)
    return Frame(name, match[1], int(match[2])) if name and match else Frame(text)
