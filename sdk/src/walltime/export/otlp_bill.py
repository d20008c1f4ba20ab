"""The bill of a transaction as OTLP attributes. docs/wire.md says what they mean."""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from walltime.core.bill import COUNTERS, MAX_STATEMENTS, put
from walltime.core.call import OTHER
from walltime.core.cpu import waited_ns
from walltime.export.protobuf import attribute, count, counts
from walltime.redaction.cache import size_bounded_cache
from walltime.redaction.redact import redact_sql
from walltime.sampling.samples import Entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from walltime.core.bill import Bill, Cell
    from walltime.core.event_loop import LoopTimes
    from walltime.core.transaction import Transaction


# Durations differ in every transaction. Counts do not: most transactions of a kind make the same calls, so the bytes of
# their counts are cached.
_DURATIONS: Final = tuple([name for name in COUNTERS if name.endswith("_ns")])


class _Counts:
    """The counters of a part of the bill that are no durations."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.of = attrgetter(*names)


_OF_COMPONENT: Final = _Counts(*[name for name in COUNTERS if name not in _DURATIONS])
_OF_TARGET: Final = _Counts("calls", "errors", "hits", "misses", "skipped")
_OF_STATEMENT: Final = _Counts("calls", "errors")


def encode(transaction: Transaction, bill: Bill) -> bytes:
    """Return what is counted of the transaction as attributes of its span; about 25 µs for five components."""
    encoded = [count("walltime.covered_ns", bill.covered_ns)]
    if transaction.queue_ns is not None:
        encoded.append(count("walltime.queue_ns", transaction.queue_ns))
    if transaction.cpu_user_ns is not None and transaction.cpu_system_ns is not None:
        encoded.append(count("walltime.cpu_user_ns", transaction.cpu_user_ns))
        encoded.append(count("walltime.cpu_system_ns", transaction.cpu_system_ns))
    if (cpu_wait_ns := _cpu_wait_ns(transaction)) is not None:
        encoded.append(count("walltime.cpu_wait_ns", cpu_wait_ns))
    if transaction.cpu_throttled_ns:
        encoded.append(count("walltime.cpu_throttled_ns", transaction.cpu_throttled_ns))
    if transaction.loop is not None:
        encoded += _loop(transaction.loop)
    if transaction.peak_rss_growth_bytes:
        encoded.append(count("walltime.peak_rss_growth_bytes", transaction.peak_rss_growth_bytes))
    if bill.undetailed:
        encoded.append(count("walltime.calls_dropped", bill.undetailed))
    for component, cell in bill.components.items():
        time_ns, max_ns, cpu_ns = _duration_keys(component)
        encoded += (
            _counts(component, _OF_COMPONENT.of(cell)), count(time_ns, cell.time_ns), count(max_ns, cell.max_ns)
        )  # fmt: skip
        if cell.cpu_ns:
            encoded.append(count(cpu_ns, cell.cpu_ns))
    targets = bill.targets
    if targets:
        encoded += _arrays("target", _OF_TARGET, targets.values())
        encoded.append(_texts("walltime.target.component", [component for component, _ in targets]))
        encoded.append(_texts("walltime.target.address", [address for _, address in targets]))
    if statements := without_literals(bill.statements):
        encoded += _arrays("statement", _OF_STATEMENT, statements.values())
        encoded.append(_texts("walltime.statement.text", list(statements)))
    if transaction.samples is not None:
        encoded += _samples(transaction)
    return b"".join(encoded)


def _cpu_wait_ns(transaction: Transaction) -> int | None:
    """Return the time for which its thread could have run and had no CPU; None when unknown."""
    if transaction.schedstat is not None:
        wait_ns = waited_ns(transaction.schedstat)
    else:
        wait_ns = None if transaction.loop is None else transaction.loop.cpu_wait_ns
    return None if wait_ns is None else min(wait_ns, transaction.duration_ns)


def without_literals(statements: Mapping[str | bytes, Cell]) -> dict[str, Cell]:
    """Return the statements without their literals, those that are equal then as one; of too many, `OTHER`."""
    redacted: dict[str, Cell] = {}
    for text, cell in statements.items():
        put(redacted, redact_sql(text), cell, MAX_STATEMENTS, OTHER)
    return redacted


def _samples(transaction: Transaction) -> Iterable[bytes]:
    table: dict[Entry, list[int]] = transaction.samples.table()
    if not table:
        return []
    encoded = [count("walltime.sample.interval_ns", round(1e9 / transaction.settings.sample_hz))]
    for name, texts in zip(Entry._fields, zip(*table, strict=True), strict=True):
        encoded.append(_texts(f"walltime.sample.{name}", list(texts)))
    for name, numbers in zip(("count", "time_ns"), zip(*table.values(), strict=True), strict=True):
        encoded.append(counts(f"walltime.sample.{name}", numbers))
    return encoded


def _loop(times: LoopTimes) -> Iterable[bytes]:
    """Return the time on the asyncio event loop."""
    yield count("walltime.loop_run_ns", times.run_ns)
    yield count("walltime.loop_wait_ns", times.wait_ns)
    for name, ns, line in (("held", times.held_ns, times.held_line), ("longest", times.longest_ns, times.longest_line)):
        if ns:
            yield count(f"walltime.loop_{name}_ns", ns)
            if line:
                yield attribute(f"walltime.loop_{name}_line", line)


@lru_cache(maxsize=1024)
def _duration_keys(component: str) -> tuple[str, ...]:
    return tuple([f"walltime.{component}.{name}" for name in _DURATIONS])


@lru_cache(maxsize=1024)
def _counts(component: str, numbers: tuple[int, ...]) -> bytes:
    """The number of a component's calls, and the other counts that are not zero."""
    named = zip(_OF_COMPONENT.names, numbers, strict=True)
    return b"".join([count(f"walltime.{component}.{name}", n) for name, n in named if n or name == "calls"])


def _arrays(part: str, counted: _Counts, cells: Collection[Cell]) -> tuple[bytes, bytes]:
    times_ns = counts(f"walltime.{part}.time_ns", [cell.time_ns for cell in cells])
    return _arrays_of_counts(part, counted.names, tuple(map(counted.of, cells))), times_ns


@lru_cache(maxsize=512)
def _arrays_of_counts(part: str, names: tuple[str, ...], rows: tuple[tuple[int, ...], ...]) -> bytes:
    """The number of calls, and the other counts that are not zero for all; of hits and misses both or none."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    present = {name for name, numbers in columns.items() if any(numbers)} | {"calls"}
    if not present.isdisjoint({"hits", "misses"}):
        present |= {"hits", "misses"}
    return b"".join([counts(f"walltime.{part}.{name}", columns[name]) for name in names if name in present])


def _texts(key: str, texts: list[str]) -> bytes:
    return _encoded_texts((key, *texts))


@size_bounded_cache(max_chars=1_000_000)
def _encoded_texts(key_and_texts: tuple[str, ...]) -> bytes:
    key, *texts = key_and_texts
    return attribute(key, texts)
