"""
Estimates of time from sampled stacks: the standard error of n samples is their time ÷ √n.

The samples of a line are a Poisson process: their number varies by its square root. A line that one transaction is at
for long is sampled often at once; who compares two populations adds up the squares of each transaction's samples
instead (queries/why/sampled_lines.sql).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

from ..format import plural, printable, uncertain

REST = "(other)"
"""The line of all stacks of a transaction beyond the most frequent ones."""
COMPUTING = frozenset({"computing", "gil", "cpu"})
"""States of a thread that computes, or would if it had the GIL and a CPU."""
_Z = 1.96
"""Standard errors, of 95 %."""
_STATES: Mapping[str, str] = {
    "gil": "waiting for the GIL",
    "cpu": "waiting for a CPU",
    "lock": "waiting for a lock",
    "sleep": "sleeping",
    "file": "in a file operation",
    "socket": "waiting for a socket",
    "process": "waiting for a process",
    "loop": "suspended in asyncio",
}


@dataclass(frozen=True)
class Sampled:
    """The samples of one stack; or of one line, and then `stack` is empty."""

    component: str
    """The framework component in progress, or `other`."""
    line: str
    """Of the application: `shop/serializers.py:88`; empty if none was on the stack."""
    function: str
    library: str
    """The function that the line had called; empty while the line itself ran."""
    state: str
    """`computing`, or what it waited for: `gil`, `cpu`, `lock`, `sleep`, `file`, `socket`, `process`, `loop`."""
    stack: str
    """Frames, outermost first, joined by `;`."""
    samples: int
    time_ns: int
    """An estimate: each sample stands for the time since the look before."""
    error_ns: int
    """Its standard error."""

    @property
    def is_named(self) -> bool:
        """Whether it is known which line of the application it was."""
        return self.line not in ("", REST)

    @property
    def where(self) -> str:
        """`shop/serializers.py:88 to_json`."""
        return printable(f"{self.line} {self.function}") or "no line of the application"

    @property
    def what(self) -> str:
        """`computing in json.encoder.iterencode`."""
        return doing(self.state) + (f" in {printable(self.library)}" if self.library else "")

    @property
    def estimate(self) -> str:
        """`3 samples, 30 ± 17 ms`."""
        return f"{plural(self.samples, 'sample')}, {uncertain(self.time_ns, self.error_ns)}"


def sampled(names: Iterable[str], samples: int, time_ns: float) -> Sampled:
    """
    Samples with the standard error of their time.

    Args:
        names: Component, line, function, library, state and stack.
    """
    component, line, function, library, state, stack = names
    error_ns = round(time_ns / sqrt(samples)) if samples else 0
    return Sampled(component, line, function, library, state, stack, samples, int(time_ns), error_ns)


def by_line(stacks: Iterable[Sampled]) -> tuple[Sampled, ...]:
    """Samples of the same line, library function and state as one, the most time first."""
    sums: dict[tuple[str, ...], tuple[int, int]] = {}
    for each in stacks:
        key = (each.component, each.line, each.function, each.library, each.state, "")
        samples, time_ns = sums.get(key, (0, 0))
        sums[key] = samples + each.samples, time_ns + each.time_ns
    lines = (sampled(key, *both) for key, both in sums.items())
    return tuple(sorted(lines, key=lambda each: (-each.time_ns, each.component, each.line)))


def doing(state: str) -> str:
    """The state in a sentence: `waiting for a lock`."""
    return _STATES.get(state, printable(state))


def share_interval(part: int, whole: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share of `part` of `whole` samples; 0 to 1 without samples."""
    if not whole:
        return 0.0, 1.0
    share, square = part / whole, _Z * _Z
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    width = _Z * sqrt(share * (1 - share) / whole + square / (4 * whole * whole)) / (1 + square / whole)
    return max(0.0, min(share, middle - width)), min(1.0, max(share, middle + width))
