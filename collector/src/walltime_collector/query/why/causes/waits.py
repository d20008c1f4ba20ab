"""Waits that the SDK measures beside the components: for a CPU, for the event loop, and in a queue before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....format import duration, printable
from ...queries import Row, run
from ...statistics import CHANCE, SUPPORT
from ...statistics.estimates import difference
from ...statistics.multiple import holm
from ..finding import About, Finding
from ..reading import Reading
from ..wording import signed

KNOWN = 0.95
"""Of the transactions; a mean of fewer says nothing of the rest."""
_LEAST_NS = 1_000_000
_NOTABLE, _MOSTLY, _MUCH_MORE = 0.1, 0.5, 1.3
_LOOKED_AT = 5
"""Waits: those of this module, and for the garbage collector and the interpreter."""
_FEWEST_HELD = 5


@dataclass(frozen=True)
class Waited:
    """Both sides of why/evidence/<query>.sql, whose means differ beyond chance; single transactions count less."""

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

    def is_notable(self, reading: Reading, least_ns: float = 0) -> bool:
        """It is a good part of the difference."""
        return self.grew_ns > 0 and self.grew_ns >= max(least_ns, _NOTABLE * reading.difference_ns)

    def finding(self, reading: Reading, sentence: str, subject: str, about: About = "wait") -> Finding:
        evidence = reading.evidence(self.query, numbers(self.usual, self.slow, "wait_ns", "throttled_ns", "cpu_ns"))
        part_ns = None if about == "queue" else self.grew_ns  # the queue is before their time
        return Finding(about, sentence, part_ns, p_value=self.p_value, subject=subject, evidence=evidence)


def findings(reading: Reading) -> list[Finding]:
    """
    A finding for each wait that is a good part of the difference, and for the queue, which is no part of it.

    A wait that is small beside the largest cause is likely its effect: more calls compute more, so they wait more.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    makers = (_cpu, _event_loop, _queue) if reading.is_different else (_queue,)
    return [found for make in makers if (found := make(reading))]


def waited(reading: Reading, query: str, mean_ns: float | None = 0) -> Waited | None:
    """What why/evidence/<query>.sql finds; None when it is unknown, as `mean_ns` is then, of too few, or chance."""
    both = None if mean_ns is None else reading.sides(query)
    if not both or any(row["transactions"] < SUPPORT or row["known"] < KNOWN for row in both):
        return None
    usual, slow = ((row["wait_ns"], row["variance"], row["transactions"]) for row in both)
    (p_value,) = holm([difference(usual, slow).p_value], _LOOKED_AT)
    return Waited(query, *both, p_value) if p_value < CHANCE else None


def numbers(usual: Row, slow: Row, *columns: str) -> Mapping[str, float]:
    """Of Evidence: those that are known."""
    known = ((row, each) for row in (usual, slow) for each in columns if row[each] is not None)
    return {f"{row['side']}_{each}": float(row[each]) for row, each in known}


def _cpu(reading: Reading) -> Finding | None:
    wait = waited(reading, "cpu_wait", reading.slow.cpu_wait_ns)
    if not wait or not wait.is_notable(reading, _LEAST_NS):
        return None
    throttled_ns = wait.slow["throttled_ns"] - wait.usual["throttled_ns"]
    before_ns, now_ns = wait.usual["cpu_ns"], wait.slow["cpu_ns"]
    why = "its threads could run and had no CPU: others had them, or a limit kept them from it"
    if throttled_ns >= _MOSTLY * wait.grew_ns:  # an upper bound; 0 also where it is unknown
        why = f"for up to {duration(throttled_ns)} of it the CPU quota of its container was used up"
    elif before_ns and now_ns and now_ns >= _MUCH_MORE * before_ns:
        why = f"it also computes more ({duration(before_ns)} → {duration(now_ns)}), for which there was no free CPU"
    words = f"Waiting for a CPU: {wait.change}, {signed(wait.grew_ns)}; {why}."
    return wait.finding(reading, words, "cpu")


def _event_loop(reading: Reading) -> Finding | None:
    wait = waited(reading, "loop_wait", reading.slow.loop_wait_ns)
    if not wait or not wait.is_notable(reading, _LEAST_NS):
        return None
    rows = run(reading.engine, "why/held_up", **reading.params)
    line = next((row["line"] for row in rows if row["share"] >= _MOSTLY and row["held"] >= _FEWEST_HELD), "")
    by = f"something held it up, above all `{printable(line)}`" if line else "what held it up was not seen"
    words = f"Waiting for the event loop: {wait.change}, {signed(wait.grew_ns)}; {by}."
    return wait.finding(reading, words, line or "event loop")


def _queue(reading: Reading) -> Finding | None:
    wait = waited(reading, "queue", reading.slow.queue_ns)
    if not wait or abs(wait.grew_ns) < max(_NOTABLE * reading.usual.mean_ns, _LEAST_NS):
        return None
    now, before = duration(wait.slow["wait_ns"]), duration(wait.usual["wait_ns"])
    words = f"Before they began they queued for {now} instead of {before}, which is no part of these times."
    return wait.finding(reading, words, "queue", "queue")
