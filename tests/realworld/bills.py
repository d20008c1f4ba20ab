"""What the bills of a run say: calls, and how much of the time is on a named line."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CONTAINERS = frozenset({"view", "middleware", "other"})
"""Their own time is named as far as samples say on which line it was."""


def bills(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def columns(bill: dict[str, Any], *names: str) -> Iterator[tuple[Any, ...]]:
    """The samples of a bill: of each what `walltime.sample.` names."""
    yield from zip(*(bill["attributes"].get(f"walltime.sample.{name}", ()) for name in names), strict=True)


def times_ns(bill: dict[str, Any]) -> dict[str, int]:
    """Component → exclusive time, with `other`."""
    attributes = bill["attributes"]
    times = {
        key.removeprefix("walltime.").removesuffix(".time_ns"): value
        for key, value in attributes.items()
        if key.endswith(".time_ns") and isinstance(value, int)
    }
    return {**times, "other": bill["duration_ns"] - attributes["walltime.covered_ns"]}


def total(all_bills: Iterable[dict[str, Any]], attribute: str) -> int:
    return sum(bill["attributes"].get(attribute, 0) for bill in all_bills)


@dataclass
class Kind:
    """The time of all transactions of a name."""

    name: str
    transactions: int = 0
    duration_ns: int = 0
    times_ns: Counter[str] = field(default_factory=Counter)
    sampled_ns: Counter[str] = field(default_factory=Counter)
    """Component → time of its samples that have a line or a function."""
    squares: float = 0.0
    """Sum of the squares of the samples' times, ns²: the variance of their sum."""

    @property
    def chance(self) -> float:
        """Two standard errors of the sampled time, as a share of the duration."""
        return 2 * math.sqrt(self.squares) / self.duration_ns

    @property
    def unnamed_ns(self) -> int:
        return sum(max(0, self.times_ns[name] - self.sampled_ns[name]) for name in CONTAINERS)

    @property
    def named(self) -> float:
        return 1 - self.unnamed_ns / self.duration_ns

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {ns / self.duration_ns:.0%}" for name, ns in self.times_ns.most_common(8))
        named = f"{self.named:4.0%} ± {self.chance:3.0%} named"
        return f"{named}, {self.duration_ns / 1e6 / self.transactions:6.1f} ms  {self.name}: {parts}"


def kinds(all_bills: Iterable[dict[str, Any]], least_share: float = 0.05) -> list[Kind]:
    """Those that take at least this share of the whole time, the largest first."""
    by_name: dict[str, Kind] = defaultdict(lambda: Kind(""))
    for bill in all_bills:
        kind = by_name[bill["name"]]
        kind.name = bill["name"]
        kind.transactions += 1
        kind.duration_ns += bill["duration_ns"]
        kind.times_ns.update(times_ns(bill))
        for component, line, library, count, time_ns in columns(
            bill, "component", "line", "library", "count", "time_ns"
        ):
            if line or library:
                kind.sampled_ns[component] += time_ns
                kind.squares += time_ns**2 / count * (component in CONTAINERS)
    least_ns = least_share * sum(kind.duration_ns for kind in by_name.values())
    large = [kind for kind in by_name.values() if kind.duration_ns >= least_ns]
    return sorted(large, key=lambda kind: -kind.duration_ns)
