"""Compares all kinds of two sides: exact splits of differences, and tests of chance, corrected for their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ...clickhouse.engine import Engine
from ...errors import NotStored
from ...format import iso_time, printable
from ..answers import Kind, Top
from ..components import sums
from ..queries import written
from ..sampled import sampled
from ..scope import Scope
from ..statistics.blocks import Blocks, Tested, compare
from ..statistics.counts import more_often
from ..statistics.multiple import holm
from ..statistics.tails import are_notable
from ..top import top_of
from ..why.arithmetic import Totals, contributions
from ..why.durations import LONGEST_NS
from ..why.explain import SMALL
from ..windows import between
from .answer import Change, Diff, KindDifference, Numbers, Part, Side
from .slices import Counted, Name, Slices, blocks, read_slices
from .statements import statements_on_one_side

_MOST_KINDS = 1_000
_TESTS = 3
"""Of each kind: typical times, the part that failed, and single transactions."""


@dataclass(frozen=True)
class Read:
    """What is stored of one side."""

    scope: Scope
    top: Top
    kinds: Mapping[Name, Kind]
    slices: Slices


Sides = tuple[Read, Read]
"""The usual one, and the other."""


def diff(engine: Engine, usual: Scope, now: Scope, now_ns: int, *, limit: int = _MOST_KINDS) -> Diff:
    """
    Compare the kinds of two sides.

    Raises:
        NotStored: A side has no transaction.
        EngineUnavailable, QueryFailed: No answer.
    """
    sides = _read(engine, (usual, now), now_ns)
    for side, where in zip(sides, ("against", "during"), strict=True):
        if not side.top.transactions:
            raise _missing(side.scope, where)
    on_both: dict[Name, Sides] = {name: sides for name in sides[1].kinds if name in sides[0].kinds}
    failed = corrected(judged(on_both, "errors"))
    timed = dict(on_both)
    if more_or_fewer := [name for name, each in failed.items() if not each.is_chance]:
        # failures are often much shorter, or longer: like is compared with like
        scopes = [replace(side.scope.whole, filters=side.scope.filters.matching("not error")) for side in sides]
        timed |= dict.fromkeys(more_or_fewer, _read(engine, scopes, now_ns))
    typical, singles = corrected(judged(timed, "typical")), corrected(judged(timed, "singles"))
    kinds = [_difference(engine, sides, timed[name], name, (typical, singles, failed)) for name in on_both]
    kinds += _on_one_side(sides)
    kinds.sort(key=lambda each: (_order(each), -abs(each.total_difference_ns), each.service, each.name))
    not_read = max(side.top.all_kinds - len(side.kinds) for side in sides)
    one_sided = statements_on_one_side(engine, *((side.scope, side.kinds) for side in sides))
    return Diff(
        _side(sides[0]),
        _side(sides[1]),
        len(typical),
        not_read + len(kinds[limit:]),
        tuple(kinds[:limit]),
        tuple(one_sided[:limit]),
    )


def judged(kinds: Mapping[Name, Sides], counted: Counted) -> dict[Name, Tested]:
    """The tests of those that have enough transactions, uncorrected."""
    found = {}
    for name, sides in kinds.items():
        usual, now = (each.scope.window for each in sides)
        if pair := blocks(*(each.slices.counted(name, counted) for each in sides)):
            found[name] = compare(*pair, usual.apart(now))
            if counted != "typical":
                found[name] = replace(found[name], p_value=max(found[name].p_value, _exact(*pair)))
    return found


def _exact(usual: Blocks, now: Blocks) -> float:
    """Of shares: few failures are not spread like sums of times."""
    (tries, usual_part), (whole, part) = (side.sum(0).astype(int).tolist() for side in (usual, now))
    return min(2 * min(more_often(part, whole, usual_part, tries), more_often(usual_part, tries, part, whole)), 1.0)


def corrected(tests: Mapping[Name, Tested]) -> dict[Name, Tested]:
    """The p-values corrected for all tests of the answer."""
    p_values = holm([each.p_value for each in tests.values()], _TESTS * len(tests))
    return {name: replace(each, p_value=p) for (name, each), p in zip(tests.items(), p_values, strict=True)}


def _read(engine: Engine, scopes: Iterable[Scope], now_ns: int) -> Sides:
    """All transactions, or a sample where there are very many and the sums per minute cannot answer."""
    scopes = [sampled(engine, each) for each in scopes]
    tops = [top_of(engine, each, now_ns, limit=_MOST_KINDS) for each in scopes]
    slices = read_slices(engine, *((scope, top.transactions) for scope, top in zip(scopes, tops, strict=True)))
    usual, now = (
        Read(scope, top, {(each.service, each.name): each for each in top.kinds}, sliced)
        for scope, top, sliced in zip(scopes, tops, slices, strict=True)
    )
    return usual, now


def _missing(scope: Scope, where: str) -> NotStored:
    filters = scope.filters
    of = [
        f"of version {filters.version}" if filters.version else "",
        f"with '{filters.where}'" if filters.where else "",
    ]
    what = printable(" ".join(["no transaction", *filter(None, of), "started", between(scope.window)]))
    return NotStored(where, what, "choose another time, version or condition")


def _difference(
    engine: Engine, sides: Sides, timed: Sides, name: Name, tests: tuple[Mapping[Name, Tested], ...]
) -> KindDifference:
    typical, singles, failed = (each.get(name) for each in tests)
    usual, now = (each.kinds.get(name) for each in timed)
    (singles_before, before_ns), (singles_now, after_ns) = (each.slices.singles(name) for each in timed)
    single_ns, bound_ns = 0.0, LONGEST_NS
    added_ns = after_ns - before_ns
    if usual and now and typical and singles and are_notable(singles, added_ns, typical.difference, usual.mean_ns):
        single_ns, bound_ns = added_ns, timed[0].slices.bounds_ns[name]
        usual, now = (_without_singles(engine, each.scope, name, bound_ns) for each in timed)
    difference_ns = relative = total_ns = 0.0
    if usual and now:
        usual_ns = usual.total_ns / usual.transactions
        difference_ns = now.total_ns / now.transactions - usual_ns
        relative, total_ns = difference_ns / max(usual_ns, 1), difference_ns * now.transactions
    change: Change = "slower" if difference_ns > 0 else "faster"
    if typical is None:
        change = "too_few"
    elif typical.is_chance:
        change = "chance"
    elif abs(relative) < SMALL:
        change = "small"
    between_ns: tuple[float | None, float | None] = (None, None)
    if typical and not typical.is_chance:
        between_ns = typical.low, typical.high
    changes = KindDifference(
        *name,
        change,
        _numbers(sides[0].kinds[name], usual, singles_before),
        _numbers(sides[1].kinds[name], now, singles_now),
        total_ns,
        typical.p_value if typical else None,
        (),
        difference_ns,
        relative,
        single_ns,
        *_part(failed),
        *_part(singles),
        *between_ns,
        contributions(_totals(usual), _totals(now)) if usual and now else (),
    )
    if _order(changes):
        return changes
    return replace(changes, sql=tuple(_sql(each.scope, name, bound_ns, with_failed=timed is sides) for each in sides))


def _without_singles(engine: Engine, scope: Scope, name: Name, bound_ns: int) -> Kind | None:
    filters = replace(scope.filters, service=name[0], kind=name[1]).matching(f"duration <= {bound_ns}ns")
    top = top_of(engine, replace(scope, filters=filters), scope.window.end_ns, limit=_MOST_KINDS)
    return next((each for each in top.kinds if (each.service, each.name) == name), None)


def _part(part: Tested | None) -> tuple[Part, float | None]:
    if part is None or part.is_chance:
        return "", part.p_value if part else None
    return "more" if part.difference > 0 else "fewer", part.p_value


def _sql(scope: Scope, name: Name, bound_ns: int = LONGEST_NS, *, with_failed: bool = True) -> str:
    of_kind = replace(scope, filters=replace(scope.filters, service=name[0], kind=name[1]))
    return written("diff/kind", **of_kind.parameters(), bound_ns=bound_ns, with_failed=with_failed)


def _on_one_side(sides: Sides) -> list[KindDifference]:
    """New kinds and those that are gone, except where the other side has kinds that were not read."""
    found = [
        (side, other, name)
        for side, other in (sides[::-1], sides)
        if other.top.all_kinds <= len(other.kinds)
        for name in side.kinds
        if name not in other.kinds
    ]
    kinds = []
    for side, other, name in found:
        kind, is_new = side.kinds[name], side is sides[1]
        # each of its transactions is on this side with the probability that any is, unless they come in bursts
        part = side.top.transactions / (side.top.transactions + other.top.transactions)
        p_value = part ** (kind.transactions // side.scope.one_in) * len(found)
        numbers = _numbers(kind, kind, 0)
        kinds.append(
            KindDifference(
                *name,
                "new" if is_new else "gone",
                None if is_new else numbers,
                numbers if is_new else None,
                float(kind.total_ns if is_new else -kind.total_ns),
                min(max(p_value, side.slices.absent(name, other.slices.length_ns)), 1.0),
                (_sql(side.scope, name),),
            )
        )
    return kinds


def _order(each: KindDifference) -> int:
    if each.change in ("slower", "faster") or each.failed or each.singles:
        return 0
    return 1 if each.change in ("new", "gone") else 2


def _totals(kind: Kind) -> Totals:
    components = {each.name: sums(vars(each)) for each in kind.components}
    return Totals(kind.transactions, kind.total_ns, kind.other_ns, components)


def _numbers(kind: Kind, timed: Kind | None, singles: int) -> Numbers:
    if timed is None:  # all of them failed
        return Numbers(kind.transactions, kind.errors, 0, singles, 0, 0.0, 0, 0, 0)
    mean_ns = timed.total_ns / timed.transactions
    times = timed.total_ns, mean_ns, timed.p50_ns, timed.p95_ns, timed.p99_ns
    return Numbers(kind.transactions, kind.errors, timed.transactions, singles, *times)


def _side(read: Read) -> Side:
    start, end = iso_time(read.scope.window.start_ns), iso_time(read.scope.window.end_ns)
    filters, top = read.scope.filters, read.top
    sums = top.transactions, top.errors, top.total_ns
    return Side(start, end, filters.version, filters.where, *sums, read.scope.one_in)
