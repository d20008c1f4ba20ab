"""Places where a test kills the process, to prove that no acknowledged data is lost."""

from __future__ import annotations

import itertools
import os
import signal

armed = ""
"""
Set once by `serve` from Settings.crashpoint; empty in production.

`name`, or `name:3` for the third time; `engine:WORD` for the database's process, when it receives that word.
"""

_times = itertools.count(1)


def reach(name: str) -> None:
    """Exit here, as by kill -9, if the test chose this place."""
    if armed and armed.partition(":")[0] == name and next(_times) >= int(armed.partition(":")[2] or 1):
        os.kill(os.getpid(), signal.SIGKILL)


def reach_with(name: str, content: bytes) -> None:
    """Exit here, as by kill -9, if the test chose this place and a word that is in `content`."""
    place, _, word = armed.partition(":")
    if place == name and word.encode() in content:
        os.kill(os.getpid(), signal.SIGKILL)
