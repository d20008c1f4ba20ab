"""The collector's log: one line per record, whatever it contains; repeated messages are limited."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from walltime_collector.config.logs import REPEATS, JsonLines, PlainLines, RepeatLimit

HOSTILE = 'a\nb\r\x1b[31mred\x1b[0m\u202egnp\x00\x85"\U000e0001'


@contextmanager
def logger(
    formatter: logging.Formatter, clock: list[float] | None = None
) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    now_s = clock if clock is not None else [0.0]
    handler.addFilter(RepeatLimit(lambda: now_s[0]))
    log = logging.Logger("walltime.test")
    log.addHandler(handler)
    yield log, out
    log.removeHandler(handler)


def failing() -> None:
    raise ValueError(HOSTILE)


def test_a_record_is_one_line_of_json_with_everything_in_it() -> None:
    with logger(JsonLines()) as (log, out):
        log.warning("%s: %d", HOSTILE, 3)
        try:
            failing()
        except ValueError:
            log.exception("it failed")
    lines = out.getvalue().split("\n")
    assert len(lines) == 3
    assert all(letter.isprintable() for line in lines for letter in line)
    first, second = json.loads(lines[0]), json.loads(lines[1])
    assert (first["level"], first["logger"], first["message"]) == ("WARNING", "walltime.test", f"{HOSTILE}: 3")
    assert first["time"].endswith("+00:00")
    assert "in failing" in second["exception"]


def test_a_plain_line_has_no_control_characters_and_no_second_line() -> None:
    with logger(PlainLines("%(levelname)s %(message)s")) as (log, out):
        log.warning("%s", HOSTILE)
        try:
            failing()
        except ValueError:
            log.exception("it failed")
    lines = out.getvalue().removesuffix("\n").split("\n")
    assert lines[0] == 'WARNING a b red gnp "'
    assert lines[1] == "ERROR it failed"
    assert all(line.startswith("  ") for line in lines[2:])
    assert all(letter.isprintable() for line in lines for letter in line)


@pytest.mark.parametrize("level", [logging.WARNING, logging.ERROR])
def test_a_repeated_message_is_logged_a_few_times_a_minute_and_then_counted(level: int) -> None:
    clock = [0.0]
    with logger(PlainLines("%(message)s"), clock) as (log, out):
        for at in range(100):
            log.log(level, "cannot load %d", at)
        log.log(level, "another message")
        clock[0] = 61.0
        for at in range(2):
            log.log(level, "cannot load %d", at)
    lines = out.getvalue().splitlines()
    assert lines[:REPEATS] == [f"cannot load {at}" for at in range(REPEATS)]
    assert lines[REPEATS:] == [
        "another message",
        f"cannot load 0 (and {100 - REPEATS} more like it were not logged)",
        "cannot load 1",
    ]
