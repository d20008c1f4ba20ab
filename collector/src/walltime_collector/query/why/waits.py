"""Waits that the SDK measures beside the components: for a CPU, for the event loop, and in a queue before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...format import duration, printable
from ..queries import Row, run
from ..statistics import CHANCE, SUPPORT, means
from ..statistics.multiple import holm
from .finding import About, Finding
from .reading import Reading
from .wording import signed

_LEAST_NS = 1_000_000
_NOTABLE = 0.1
_MOSTLY = 0.5
_MUCH_MORE = 1.3
_KNOWN = 0.95
"""Of the transactions; a mean of fewer says nothing of the rest."""
_LOOKED_AT = 5
"""Waits: those of this module, and for the garbage collector and the interpreter."""
_FEWEST_HELD = 5


@dataclass(frozen=True)
class Waited:
    """Means per transaction, without what single ones waited; they differ beyond chance."""

    query: str
    usual: Row
    slow: Row
    p_value: float

    @property
    def grew_ns(self) -> float:
        return float(self.slow["wait_ns"] - self.usual["wait_ns"])

    @property
    def change(self) -> str:
        return f"{duration(self.usual['wait_ns'])} → {duration(self.slow['wait_ns'])} a transaction"

    def finding(self, reading: Reading, sentence: str, subject: str, about: About = "wait") -> Finding:
        """The sentence with its numbers; what the transactions waited before they began is no part of their time."""
        evidence = reading.evidence(self.query, numbers(self.usual, self.slow, "wait_ns", "throttled_ns", "cpu_ns"))
        part_ns = None if about == "queue" else self.grew_ns
        return Finding(about, sentence, part_ns, p_value=self.p_value, subject=subject, evidence=evidence)


def numbers(usual: Row, slow: Row, *columns: str) -> Mapping[str, float]:
    """Of Evidence: what is known."""
    sides = {"usual": usual, "slow": slow}
    return {
        f"{side}_{column}": float(row[column])
        for side, row in sides.items()
        for column in columns
        if row[column] is not None
    }


def sides(reading: Reading, query: str) -> tuple[Row, Row] | None:
    """The rows of queries/evidence/<query>.sql for both sides, usual and slow."""
    rows = {row["side"]: row for row in run(reading.engine, f"evidence/{query}", **reading.params)}
    return (rows["usual"], rows["slow"]) if len(rows) == 2 else None


def waited(reading: Reading, query: str) -> Waited | None:
    """
    What queries/evidence/<query>.sql finds; None when it is unknown, of too few, or chance.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    if not (both := sides(reading, query)):
        return None
    usual, slow = both
    if any(row["transactions"] < SUPPORT or row["known"] < _KNOWN for row in both):
        return None
    error_ns = means.error(usual["variance"], usual["transactions"], slow["variance"], slow["transactions"])
    (p_value,) = holm([means.p_value(slow["wait_ns"] - usual["wait_ns"], error_ns)], _LOOKED_AT)
    return Waited(query, usual, slow, p_value) if p_value < CHANCE else None


def findings(reading: Reading) -> list[Finding]:
    """
    A finding for each wait that is a good part of the difference, and for the queue, which is no part of it.

    A wait that is small beside the largest cause is likely its effect: more calls compute more, so they wait more.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    found = _cpu(reading), _event_loop(reading), _queue(reading)
    return [each for each in found if each]


def _cpu(reading: Reading) -> Finding | None:
    if reading.slow.cpu_wait_ns is None or not (wait := waited(reading, "cpu_wait")) or not _is_notable(wait, reading):
        return None
    words = f"Waiting for a CPU: {wait.change}, {signed(wait.grew_ns)}; {_of_cpu(wait)}."
    return wait.finding(reading, words, "cpu")


def _of_cpu(wait: Waited) -> str:
    """What is known of the reason: the quota is an upper bound, and unknown without one."""
    usual, slow = wait.usual, wait.slow
    throttled_ns = slow["throttled_ns"] - usual["throttled_ns"]
    if throttled_ns >= _MOSTLY * wait.grew_ns:
        return f"for up to {duration(throttled_ns)} of it the CPU quota of its container was used up"
    if usual["cpu_ns"] and slow["cpu_ns"] >= _MUCH_MORE * usual["cpu_ns"]:
        change = f"{duration(usual['cpu_ns'])} → {duration(slow['cpu_ns'])}"
        return f"it also computes more ({change}), and there was no CPU for threads that could run"
    return "its threads could run and had no CPU: others had them, or a limit kept them from it"


def _event_loop(reading: Reading) -> Finding | None:
    if reading.slow.loop_wait_ns is None or not (wait := waited(reading, "loop_wait")):
        return None
    if not _is_notable(wait, reading):
        return None
    rows = run(reading.engine, "why/held_up", **reading.params)
    line = next((row["line"] for row in rows if row["share"] >= _MOSTLY and row["held"] >= _FEWEST_HELD), "")
    by = f"something held it up, above all `{printable(line)}`" if line else "what held it up was not seen"
    words = f"Waiting for the event loop: {wait.change}, {signed(wait.grew_ns)}; {by}."
    return wait.finding(reading, words, line or "event loop")


def _queue(reading: Reading) -> Finding | None:
    if reading.slow.queue_ns is None or not (wait := waited(reading, "queue")):
        return None
    if abs(wait.grew_ns) < max(_NOTABLE * reading.usual.mean_ns, _LEAST_NS):
        return None
    now, before = duration(wait.slow["wait_ns"]), duration(wait.usual["wait_ns"])
    words = f"Before they began they queued for {now} instead of {before}, which is no part of these times."
    return wait.finding(reading, words, "queue", "queue")


def _is_notable(wait: Waited, reading: Reading) -> bool:
    return wait.grew_ns >= max(_LEAST_NS, _NOTABLE * reading.difference_ns)
