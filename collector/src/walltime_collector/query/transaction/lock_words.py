"""Words for waits for locks: in the bill of the transaction that waited, and of the one that held the lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...format import duration, plural, printable
from ..answers import Bill
from ..lock_waits import LockWait
from ..names import shown

MOST = 5
"""Waits of a transaction that are shown one by one, the longest; the rest are one line."""


@dataclass(frozen=True)
class LockLine:
    """A sentence with the other transaction in it, which can be a link."""

    before: str
    other: str
    """`request 7d5ab9e1 POST /checkout`."""
    after: str
    trace_id: str = ""
    """Of the other transaction; empty: no link."""
    span_id: str = ""

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{self.before}{self.other}{self.after}"


def lock_lines(bill: Bill) -> list[LockLine]:
    """What it waited for and who held it, the longest first; then whom it held up."""
    waited = sorted((each for each in bill.lock_waits if not each.is_holder), key=lambda each: -each.waited_ns)
    held_up = sorted((each for each in bill.lock_waits if each.is_holder), key=lambda each: -each.waited_ns)
    return [*map(_line, waited[:MOST]), *_rest(waited, "waited"), *_held_up(held_up)]


def _line(wait: LockWait) -> LockLine:
    other = _other(wait)
    if wait.sort == "deadlock":
        end = "this one was rolled back" if wait.is_rolled_back else "the other one was rolled back"
        place = f" over {_place(wait)}" if wait.object else ""
        return LockLine("deadlock with ", other, f"{place}: {end}", wait.other_trace_id, wait.other_span_id)
    waits = "waited" if wait.is_over else "waited at least"
    before = f"{waits} {duration(wait.waited_ns)} for {_place(wait)} held by "
    return LockLine(before, other, _meanwhile(wait), wait.other_trace_id, wait.other_span_id)


def _held_up(held_up: Sequence[LockWait]) -> Iterator[LockLine]:
    if not held_up:
        return
    requests = {each.other_trace_id or each.other_connection_id for each in held_up}
    whole_ns = sum(each.waited_ns for each in held_up)
    yield LockLine(f"held up {plural(len(requests), 'request')} for {duration(whole_ns)} in all", "", "")
    for each in held_up[:MOST]:
        before = f"for {duration(each.waited_ns)}, with {_place(each)}{_meanwhile(each)}: "
        yield LockLine(before, _other(each), "", each.other_trace_id, each.other_span_id)
    yield from _rest(held_up, "were held up")


def _rest(waits: Sequence[LockWait], what: str) -> Iterator[LockLine]:
    if rest := waits[MOST:]:
        whole_ns = sum(each.waited_ns for each in rest)
        yield LockLine(f"{len(rest)} more {what}, for {duration(whole_ns)} in all", "", "")


def _other(wait: LockWait) -> str:
    if not wait.other_connection_id:
        return "a connection that is not known"
    if not wait.other_trace_id:
        return f"connection {wait.other_connection_id}, which names no request"
    name = f" {shown(wait.other_name)}" if wait.other_name else ""
    return f"request {wait.other_trace_id[:8]}{name}"


def _place(wait: LockWait) -> str:
    """`a row of products (PRIMARY 21)`."""
    table = printable(wait.object.rpartition(".")[2])
    if wait.sort in ("row", "deadlock") and wait.index_name:
        return f"a row of {table} ({printable(wait.index_name)}{wait.key and ' '}{printable(wait.key)})"
    if wait.sort == "metadata":
        return f"the metadata lock of {table}" if "." in wait.object else f"a {table or 'metadata'} lock"
    return f"the table {table}"


def _meanwhile(wait: LockWait) -> str:
    if wait.holder_idle_ns:
        return f", idle in its transaction for {duration(wait.holder_idle_ns)}"
    return f", which ran {printable(wait.holder_running)[:120]}" if wait.holder_running else ""
