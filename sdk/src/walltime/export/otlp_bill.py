"""
The bill of a transaction as OTLP attributes: a template of all that its numbers do not change, and the numbers in it.

Most transactions of a route have the same components, servers and kinds of numbers. Numbers are written as wide as the
greatest needs (`protobuf.varints`), so that where they stand does not depend on them either.
docs/wire.md says what the attributes mean.
"""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from walltime.core.bill import counted, shape, total
from walltime.export.protobuf import MAX_OF_VARINTS, array_heads, attribute, heads, varints, width_of
from walltime.redaction.cache import remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from walltime.core.bill import Bill, Cell
    from walltime.core.call import Line
    from walltime.core.transaction import Transaction

_OF_TRANSACTION: Final = (
    "walltime.covered_ns", "walltime.queue_ns", "walltime.cpu_user_ns", "walltime.cpu_system_ns",
    "walltime.peak_rss_growth_bytes", "walltime.calls_dropped",
)  # fmt: skip
_OF_TARGET: Final = ("calls", "time_ns", "errors", "hits", "misses", "skipped")
_OF_STATEMENT: Final = ("calls", "time_ns", "errors")
_ALWAYS: Final = frozenset({"calls", "time_ns", "max_ns"})
"""Said also when they are zero."""
_TOGETHER: Final = frozenset({"hits", "misses"})
"""Arrays of which there are both or none."""
_ZERO: Final = 0
"""The place of a number that is always zero."""

_of_statement = attrgetter(*_OF_STATEMENT)


def encode(transaction: Transaction, bill: Bill) -> bytes:
    """Return what is counted of the transaction as attributes of its span; 4 µs for five components."""
    lines, cells = tuple(bill.lines), [*bill.lines.values()]
    cpu_user_ns, cpu_system_ns, queue_ns = transaction.cpu_user_ns, transaction.cpu_system_ns, transaction.queue_ns
    has_cpu = cpu_user_ns is not None and cpu_system_ns is not None
    numbers = [
        0, bill.covered_ns, queue_ns or 0, cpu_user_ns or 0, cpu_system_ns or 0, transaction.peak_rss_growth_bytes,
        bill.undetailed,
    ]  # fmt: skip
    for cell, numbers_of in zip(cells, _getters(lines), strict=True):
        numbers += numbers_of(cell)
    for places, numbers_of in _sums(lines):
        numbers += numbers_of(total(cells, places))
    statements = bill.statements
    for cell in statements.values():
        numbers += _of_statement(cell)
    has = (False, True, queue_ns is not None, has_cpu, has_cpu, *map(bool, numbers[5:]))
    greatest = max(numbers)
    if greatest > MAX_OF_VARINTS:
        numbers = [min(n, MAX_OF_VARINTS) for n in numbers]
    width = width_of(greatest)
    template = _template(lines, len(statements), has, width)
    encoded = template.text % varints(template.chosen(numbers), width)
    return encoded + _statement_texts(tuple(statements)) if statements else encoded


@remembered(max_chars=1_000_000)
def _statement_texts(texts: tuple[str, ...]) -> bytes:
    return attribute("walltime.statement.text", texts)


# ---- which numbers there are, and where ----


@lru_cache(maxsize=1024)
def _getters(lines: tuple[Line, ...]) -> tuple[Callable[[Cell], tuple[int, ...]], ...]:
    """For each line, what gives its cell's numbers."""
    return tuple([attrgetter(*counted(line)) for line in lines])


@lru_cache(maxsize=1024)
def _sums(lines: tuple[Line, ...]) -> list[tuple[tuple[int, ...], Callable[[Cell], tuple[int, ...]]]]:
    """The components and servers with more than one line: the places of these, and what gives their sum's numbers."""
    several = {places for of in shape(lines) for places in of.values() if len(places) > 1}
    return [(places, attrgetter(*_names(lines, places))) for places in sorted(several)]


def _names(lines: tuple[Line, ...], places: tuple[int, ...]) -> list[str]:
    """What is counted of these lines together."""
    return [*dict.fromkeys([name for place in places for name in counted(lines[place])])]


class _Template(NamedTuple):
    chosen: Callable[[Sequence[int]], Sequence[int]]
    """Gives the numbers that are said, in their order."""
    text: bytes
    """The attributes, with `%b` for each of these."""


@lru_cache(maxsize=512)
def _template(lines: tuple[Line, ...], statements: int, has: tuple[bool, ...], width: int) -> _Template:
    """
    Return the template of bills with these lines and so many statements.

    Args:
        has: of each number, whether it is said.
    """
    components, targets = shape(lines)
    chosen = [place for place in range(1, 1 + len(_OF_TRANSACTION)) if has[place]]
    before = [heads(_OF_TRANSACTION[place - 1])[width] for place in chosen]
    at = 1 + len(_OF_TRANSACTION)
    places_of: dict[tuple[int, ...], dict[str, int]] = {}
    """For one line or several, where each of their numbers is."""
    for places in [*[(place,) for place in range(len(lines))], *[places for places, _ in _sums(lines)]]:
        names = _names(lines, places)
        places_of[places] = {name: at + n for n, name in enumerate(names)}
        at += len(names)
    for component, places in components.items():
        for name, place in places_of[places].items():
            if has[place] or name in _ALWAYS:
                chosen.append(place)
                before.append(heads(f"walltime.{component}.{name}")[width])
    of_targets = {name: [places_of[places].get(name, _ZERO) for places in targets.values()] for name in _OF_TARGET}
    of_statements = {
        name: range(at + n, at + n + statements * len(_OF_STATEMENT), len(_OF_STATEMENT))
        for n, name in enumerate(_OF_STATEMENT)
    }
    for of, arrays in (("target", of_targets), ("statement", of_statements)):
        said = {name for name, numbers in arrays.items() if name in _ALWAYS or any(has[place] for place in numbers)}
        if said & _TOGETHER:
            said |= _TOGETHER
        for name, numbers in arrays.items():
            if name in said:
                chosen += numbers
                before += array_heads(f"walltime.{of}.{name}", len(numbers), width)
    text = b"".join([head.replace(b"%", b"%%") + b"%b" for head in before])
    if targets:
        text += attribute("walltime.target.component", [component for component, _ in targets]).replace(b"%", b"%%")
        text += attribute("walltime.target.address", [address for _, address in targets]).replace(b"%", b"%%")
    return _Template(itemgetter(*chosen) if len(chosen) > 1 else itemgetter(slice(chosen[0], chosen[0] + 1)), text)
