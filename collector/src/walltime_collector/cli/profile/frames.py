"""A frame of a stack in the form that pprof and speedscope need."""

from __future__ import annotations

import re
from typing import NamedTuple

_FRAME = re.compile(r"(?P<name>.+) \((?P<file>.+):(?P<line>\d+)\)")


class Frame(NamedTuple):
    """File and line are empty for what is no code of the application: a component, a library, a state."""

    name: str
    file: str = ""
    line: int = 0


def frame(text: str) -> Frame:
    """Read `function (file:line)`."""
    match = _FRAME.fullmatch(text)
    return Frame(match["name"], match["file"], int(match["line"])) if match else Frame(text)
