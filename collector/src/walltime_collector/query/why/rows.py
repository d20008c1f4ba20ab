"""The rows of an answer of `why`: the command, the page and programs show the same ones, under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One line: a part of the difference, or something that goes with it."""

    about: Literal["mean", "mix", "component", "folded", "single", "value", "stratum", "server", "statement"]
    """mean: of one group, before and after the parts. folded: several small parts. single: single transactions."""
    label: str
    cells: Mapping[str, str]
    """Texts by the heading of their column; an empty one is missing."""
    difference_ns: float = 0
    """Per transaction."""
    more_ns: float | None = None
    """The part of it that is more calls; None where there is no such split, as of `slower_ns`."""
    slower_ns: float | None = None
    component: str = ""
    address: str = ""
    """The server, when the row is one component on one server."""
    statement: str = ""
    """The whole text, where `label` is a short one."""
    dimension: str = ""
    value: str = ""
    also: tuple[str, ...] = ()
    """The components that are folded; other values of the same transactions; the longest single transactions."""
    faults: tuple[str, ...] = ()
    """Headings whose cell is a fault: calls that fail, hits that are lost."""
    is_cut: bool = False
    """It is so large that the other parts are seen only when its bar is cut."""


@dataclass(frozen=True)
class Table:
    """Rows of one sort, in the order in which they are shown."""

    title: str = ""
    headings: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Shown:
    """What is shown of an answer beside its sentences."""

    usual: str = "usual"
    """What the two groups are called."""
    slow: str = "selected"
    notes: tuple[str, ...] = ()
    """How sure the difference is, and which part of the transactions is compared."""
    parts: Table = Table()
    """From the mean of the usual group over all parts to that of the slow one: they add up."""
    tables: tuple[Table, ...] = ()
    """What goes with the parts; only those that have rows."""
