"""Waits that the SDK measures beside the components: for a CPU, and for the asyncio event loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...clickhouse.engine import Engine, Parameter
from ...format import duration, printable
from ..queries import run
from .answer import Population
from .cause import Cause
from .wording import signed

_LEAST_NS = 1_000_000
_NOTABLE = 0.1
_MOSTLY = 0.5
_MUCH_MORE = 1.3
_LEADING = 0.5


def waits(
    engine: Engine, params: Mapping[str, Parameter], usual: Population, slow: Population, causes: Sequence[Cause]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    A sentence for each of these waits that is a good part of the difference: those before the causes, those after.

    A wait that is small beside the largest cause is likely its effect: more calls compute more, so they wait more.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    least_ns = _LEADING * max((each.part.difference_ns for each in causes), default=0)
    found = [*_find(engine, params, usual, slow)]
    before = tuple(words for wait_ns, words in found if wait_ns >= least_ns)
    return before, tuple(words for wait_ns, words in found if wait_ns < least_ns)


def grew_ns(before_ns: float | None, now_ns: float | None) -> float | None:
    return None if before_ns is None or now_ns is None else now_ns - before_ns


def _find(
    engine: Engine, params: Mapping[str, Parameter], usual: Population, slow: Population
) -> Iterator[tuple[float, str]]:
    """By how much each grew, in nanoseconds, and its sentence."""
    difference_ns = slow.mean_ns - usual.mean_ns
    cpu_ns = grew_ns(usual.cpu_wait_ns, slow.cpu_wait_ns) or 0
    loop_ns = grew_ns(usual.loop_wait_ns, slow.loop_wait_ns) or 0
    least_ns = max(_LEAST_NS, _NOTABLE * difference_ns)
    if cpu_ns >= least_ns:
        change = f"{duration(usual.cpu_wait_ns or 0)} → {duration(slow.cpu_wait_ns or 0)}"
        words = f"Waiting for a CPU: {change} a transaction, {signed(cpu_ns)}; {_of_cpu(usual, slow, cpu_ns)}."
        yield cpu_ns, words
    if loop_ns >= least_ns:
        change = f"{duration(usual.loop_wait_ns or 0)} → {duration(slow.loop_wait_ns or 0)}"
        rows = run(engine, "why/held_up", **params, least_ns=_LEAST_NS)
        line = next((printable(row["line"]) for row in rows if row["line"]), "")
        by = f"above all `{line}`" if line else "in a step or callback of its own or of another task"
        words = f"Waiting for the event loop: {change} a transaction, {signed(loop_ns)}; something held it up, {by}."
        yield loop_ns, words


def _of_cpu(usual: Population, slow: Population, wait_ns: float) -> str:
    throttled_ns = slow.cpu_throttled_ns - usual.cpu_throttled_ns
    if throttled_ns >= _MOSTLY * wait_ns:
        return f"for {duration(throttled_ns)} of it the CPU quota of its container was used up"
    if usual.cpu_ns is not None and slow.cpu_ns is not None and slow.cpu_ns >= _MUCH_MORE * usual.cpu_ns:
        change = f"{duration(usual.cpu_ns)} → {duration(slow.cpu_ns)}"
        return f"it also computes more ({change}), and there are not enough CPUs for what runs on the machine"
    return "its threads could run, and other threads or processes on the machine had the CPUs"
