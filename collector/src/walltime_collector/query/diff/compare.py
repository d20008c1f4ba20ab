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
from ..statistics.blocks import Blocks as Sums
from ..statistics.blocks import Tested, compare
from ..statistics.counts import more_often
from ..statistics.multiple import holm
from ..top import top_of
from ..why.arithmetic import Totals, contributions
from ..why.explain import SMALL
from ..windows import between
from .answer import Change, Diff, KindDifference, Numbers, Part, Side
from .blocks import Blocks, Counted, Name, read_blocks

_MOST_KINDS = 1_000
_TESTS = 3
"""Of each kind: typical times, the part that failed, and single transactions."""
_NOTABLE = 0.1
"""Single transactions are spoken of when they carry so much of the typical difference, and SMALL of the usual time."""


@dataclass(frozen=True)
class Read:
    """What is stored of both sides."""

    engine: Engine
    sides: tuple[Scope, Scope]
    usual: Top
    now: Top
    before: Mapping[Name, Kind]
    after: Mapping[Name, Kind]
    blocks: Blocks

    def tested(self, names: Iterable[Name], counted: Counted) -> dict[Name, Tested]:
        """The tests of those that have enough transactions, uncorrected."""
        windows = [each.window for each in self.sides]
        middles = [(each.start_ns + each.end_ns) / 2 for each in windows]
        apart = abs(middles[1] - middles[0]) / max(windows[0].end_ns - windows[0].start_ns, 1)
        blocks = {name: each for name in names if (each := self.blocks.of(name, counted))}
        tested = {name: compare(*each, apart) for name, each in blocks.items()}
        if counted == "typical":
            return tested
        return {name: replace(each, p_value=max(each.p_value, _exact(*blocks[name]))) for name, each in tested.items()}

    def without_singles(self, name: Name) -> tuple[Kind | None, Kind | None]:
        """The same kind on both sides without its single transactions."""
        condition = f"duration <= {self.blocks.bounds_ns[name]}ns"
        kinds = []
        for scope in self.sides:
            filters = replace(scope.filters, service=name[0], kind=name[1]).matching(condition)
            top = top_of(self.engine, replace(scope, filters=filters), scope.window.end_ns, limit=_MOST_KINDS)
            kinds.append(next((each for each in top.kinds if (each.service, each.name) == name), None))
        return kinds[0], kinds[1]


def diff(engine: Engine, usual: Scope, now: Scope, now_ns: int, *, limit: int = _MOST_KINDS) -> Diff:
    """
    Compare the kinds of two sides.

    Raises:
        NotStored: A side has no transaction.
        EngineUnavailable, QueryFailed: No answer.
    """
    read = _read(engine, (usual, now), now_ns)
    usual, now = read.sides
    for scope, top, where in ((usual, read.usual, "against"), (now, read.now, "during")):
        if not top.transactions:
            raise _missing(scope, where)
    on_both = [name for name in read.after if name in read.before]
    failed = corrected(read.tested(on_both, "errors"))
    more_or_fewer = [name for name, each in failed.items() if not each.is_chance]
    # failures are often much shorter, or longer: like is compared with like
    timed = _read(engine, (_succeeded(usual), _succeeded(now)), now_ns) if more_or_fewer else read
    others = [name for name in on_both if name not in more_or_fewer]
    typical, singles = (
        corrected(read.tested(others, counted) | timed.tested(more_or_fewer, counted))
        for counted in ("typical", "singles")
    )
    kinds = [
        _difference(read, timed if name in more_or_fewer else read, name, (typical, singles, failed))
        for name in on_both
    ]
    kinds += _on_one_side(read)
    kinds.sort(key=lambda each: (_order(each), -abs(each.total_difference_ns), each.service, each.name))
    not_read = max(top.all_kinds - len(top.kinds) for top in (read.usual, read.now))
    return Diff(
        _side(usual, read.usual),
        _side(now, read.now),
        len(typical),
        not_read + len(kinds[limit:]),
        tuple(kinds[:limit]),
    )


def _exact(usual: Sums, now: Sums) -> float:
    """Of shares: few failures are not spread like sums of times."""
    (tries, usual_part), (whole, part) = (side.sum(0).astype(int).tolist() for side in (usual, now))
    return min(2 * min(more_often(part, whole, usual_part, tries), more_often(usual_part, tries, part, whole)), 1.0)


def corrected(tested: Mapping[Name, Tested]) -> dict[Name, Tested]:
    """The p-values corrected for all tests of the answer."""
    p_values = holm([each.p_value for each in tested.values()], _TESTS * len(tested))
    return {name: replace(each, p_value=p) for (name, each), p in zip(tested.items(), p_values, strict=True)}


def _read(engine: Engine, scopes: tuple[Scope, Scope], now_ns: int) -> Read:
    """All transactions, or a sample where there are very many and the sums per minute cannot answer."""
    sides = sampled(engine, scopes[0]), sampled(engine, scopes[1])
    usual, now = (top_of(engine, each, now_ns, limit=_MOST_KINDS) for each in sides)
    before, after = ({(each.service, each.name): each for each in top.kinds} for top in (usual, now))
    blocks = Blocks({}, {}, ((0, 0), (0, 0)), {})
    if usual.transactions and now.transactions:
        blocks = read_blocks(engine, (sides[0], usual.transactions), (sides[1], now.transactions))
    return Read(engine, sides, usual, now, before, after, blocks)


def _missing(scope: Scope, where: str) -> NotStored:
    filters = scope.filters
    of = [
        f"of version {filters.version}" if filters.version else "",
        f"with '{filters.where}'" if filters.where else "",
    ]
    what = printable(" ".join(["no transaction", *filter(None, of), "started", between(scope.window)]))
    return NotStored(where, what, "choose another time, version or condition")


def _succeeded(scope: Scope) -> Scope:
    return replace(scope.whole, filters=scope.filters.matching("not error"))


def _difference(read: Read, timed: Read, name: Name, tested: tuple[Mapping[Name, Tested], ...]) -> KindDifference:
    typical, singles, failed = (each.get(name) for each in tested)
    usual, now = timed.before.get(name), timed.after.get(name)
    (singles_before, before_ns), (singles_now, after_ns) = timed.blocks.singles(name)
    single_ns, bound_ns = 0.0, 2**63
    if usual and now and typical and singles:
        least_ns = max(_NOTABLE * abs(typical.difference), SMALL * usual.mean_ns)
        if not singles.is_chance or abs(after_ns - before_ns) >= least_ns:
            single_ns, bound_ns = after_ns - before_ns, timed.blocks.bounds_ns[name]
            usual, now = timed.without_singles(name)
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
    changes = KindDifference(
        *name,
        change,
        _numbers(read.before[name], usual, singles_before),
        _numbers(read.after[name], now, singles_now),
        total_ns,
        typical.p_value if typical else None,
        (),
        difference_ns,
        relative,
        single_ns,
        _part(failed),
        failed.p_value if failed else None,
        _part(singles),
        singles.p_value if singles else None,
        typical.low if typical and not typical.is_chance else None,
        typical.high if typical and not typical.is_chance else None,
        contributions(_totals(usual), _totals(now)) if usual and now else (),
    )
    if _order(changes):
        return changes
    return replace(changes, sql=tuple(_sql(each, name, bound_ns, with_failed=read is timed) for each in read.sides))


def _part(tested: Tested | None) -> Part:
    if tested is None or tested.is_chance:
        return ""
    return "more" if tested.difference > 0 else "fewer"


def _sql(scope: Scope, name: Name, bound_ns: int, *, with_failed: bool = True) -> str:
    of_kind = replace(scope, filters=replace(scope.filters, service=name[0], kind=name[1]))
    return written("diff/kind", **of_kind.parameters(), bound_ns=bound_ns, with_failed=with_failed)


def _on_one_side(read: Read) -> list[KindDifference]:
    """New kinds and those that are gone, except where the other side has kinds that were not read."""
    new = [] if read.usual.all_kinds > len(read.before) else [each for each in read.after if each not in read.before]
    gone = [] if read.now.all_kinds > len(read.after) else [each for each in read.before if each not in read.after]
    whole = read.usual.transactions + read.now.transactions
    kinds = []
    for name in (*new, *gone):
        is_new = name in read.after
        kind, top, scope = (
            (read.after[name], read.now, read.sides[1]) if is_new else (read.before[name], read.usual, read.sides[0])
        )
        # each of its transactions is on this side with the probability that any is, unless they come in bursts
        p_value = (top.transactions / whole) ** (kind.transactions // scope.one_in)
        kinds.append(
            KindDifference(
                *name,
                "new" if is_new else "gone",
                None if is_new else _numbers(kind, kind, 0),
                _numbers(kind, kind, 0) if is_new else None,
                float(kind.total_ns if is_new else -kind.total_ns),
                min(max(p_value * (len(new) + len(gone)), read.blocks.absent(name, is_new=is_new)), 1.0),
                (_sql(scope, name, 2**63),),
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


def _side(scope: Scope, top: Top) -> Side:
    start, end = iso_time(scope.window.start_ns), iso_time(scope.window.end_ns)
    filters = scope.filters
    return Side(start, end, filters.version, filters.where, top.transactions, top.errors, top.total_ns, scope.one_in)
