"""Compares all kinds of two sides: exact splits of differences, and tests of chance, corrected for their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ...clickhouse.engine import Engine
from ...errors import NotStored
from ...format import iso_time, printable
from ..answers import Kind, Top
from ..components import sums
from ..sampled import sampled
from ..scope import Scope
from ..top import top_of
from ..why import chance
from ..why.arithmetic import Totals, contributions
from ..why.chance import Chance
from ..why.explain import SMALL
from ..windows import between
from .answer import Change, Diff, Failed, KindDifference, Numbers, Side
from .blocks import Blocks, Counted, Name, read_blocks

_MOST_KINDS = 1_000
_SHUFFLED = 0.05
"""A kind with a larger p-value in the fast test is not tested by shuffles."""
_MOST_SHUFFLED = 100
"""Shuffles take CPU time for each kind; of more kinds, those with the most time are tested by them."""


@dataclass(frozen=True)
class _Read:
    """What is stored of both sides."""

    sides: tuple[Scope, Scope]
    usual: Top
    now: Top
    before: Mapping[Name, Kind]
    after: Mapping[Name, Kind]
    blocks: Blocks

    def judged(self, names: Iterable[Name], counted: Counted) -> dict[Name, Chance]:
        """The tests of those that have enough transactions, uncorrected."""
        judged: dict[Name, Chance] = {}
        for name in names:
            if blocks := self.blocks.of(name, counted):
                most = _SHUFFLED if len(judged) < _MOST_SHUFFLED else 0
                judged[name] = chance.judge_one_of_many(*blocks, most_shuffled=most)
        return judged


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
    of_failed = corrected(read.judged(on_both, "errors"))
    more_or_fewer = [name for name, each in of_failed.items() if not each.explains_it]
    # failures are often much shorter, or longer: like is compared with like
    timed = _read(engine, (_succeeded(usual), _succeeded(now)), now_ns) if more_or_fewer else read
    of_times = read.judged([name for name in on_both if name not in more_or_fewer], "total_ns")
    of_times = corrected(of_times | timed.judged(more_or_fewer, "total_ns"))
    kinds = []
    for name in on_both:
        source = timed if name in more_or_fewer else read
        kinds.append(_difference(read, source, name, of_times.get(name), of_failed.get(name)))
    kinds += _on_one_side(read)
    kinds.sort(key=lambda each: (_order(each), -abs(each.total_difference_ns), each.service, each.name))
    not_read = max(top.all_kinds - len(top.kinds) for top in (read.usual, read.now))
    return Diff(
        _side(usual, read.usual),
        _side(now, read.now),
        len(of_times),
        not_read + len(kinds[limit:]),
        tuple(kinds[:limit]),
    )


def corrected(judged: Mapping[Name, Chance]) -> dict[Name, Chance]:
    """Holm's correction: p-values become the chance that any of so many tests has such a one by chance."""
    largest, result = 0.0, {}
    for at, (name, each) in enumerate(sorted(judged.items(), key=lambda item: item[1].p_value)):
        largest = max(largest, min((len(judged) - at) * each.p_value, 1.0))
        result[name] = replace(each, p_value=largest)
    return result


def _read(engine: Engine, scopes: tuple[Scope, Scope], now_ns: int) -> _Read:
    """All transactions, or a sample where there are very many and the sums per minute cannot answer."""
    sides = sampled(engine, scopes[0]), sampled(engine, scopes[1])
    usual, now = (top_of(engine, each, now_ns, limit=_MOST_KINDS) for each in sides)
    before, after = ({(each.service, each.name): each for each in top.kinds} for top in (usual, now))
    blocks = Blocks({}, {})
    if usual.transactions and now.transactions:
        blocks = read_blocks(engine, (sides[0], usual.transactions), (sides[1], now.transactions))
    return _Read(sides, usual, now, before, after, blocks)


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


def _difference(
    read: _Read, timed: _Read, name: Name, times: Chance | None, of_failed: Chance | None
) -> KindDifference:
    usual, now = timed.before.get(name), timed.after.get(name)
    difference_ns = relative = total_ns = 0.0
    if usual and now:
        usual_ns = usual.total_ns / usual.transactions
        difference_ns = now.total_ns / now.transactions - usual_ns
        relative, total_ns = difference_ns / max(usual_ns, 1), difference_ns * now.transactions
    change: Change = "slower" if difference_ns > 0 else "faster"
    if times is None:
        change = "too_few"
    elif times.explains_it:
        change = "chance"
    elif abs(relative) < SMALL:
        change = "small"
    failed: Failed = ""
    if of_failed and not of_failed.explains_it:
        failed = "more" if of_failed.difference_ns > 0 else "fewer"
    is_beyond_chance = times is not None and not times.explains_it
    return KindDifference(
        *name,
        change,
        failed,
        _numbers(read.before[name], usual),
        _numbers(read.after[name], now),
        difference_ns,
        relative,
        total_ns,
        times.p_value if times else None,
        of_failed.p_value if of_failed else None,
        times.low_ns if times and is_beyond_chance else None,
        times.high_ns if times and is_beyond_chance else None,
        contributions(_totals(usual), _totals(now)) if usual and now else (),
    )


def _on_one_side(read: _Read) -> list[KindDifference]:
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
        # each of its transactions is on this side with the probability that any transaction is
        p_value = (top.transactions / whole) ** (kind.transactions // scope.one_in)
        kinds.append(
            KindDifference(
                *name,
                change="new" if is_new else "gone",
                failed="",
                usual=None if is_new else _numbers(kind, kind),
                now=_numbers(kind, kind) if is_new else None,
                difference_ns=0.0,
                relative=0.0,
                total_difference_ns=float(kind.total_ns if is_new else -kind.total_ns),
                p_value=min(p_value * (len(new) + len(gone)), 1.0),
                failed_p_value=None,
                low_ns=None,
                high_ns=None,
                components=(),
            )
        )
    return kinds


def _order(each: KindDifference) -> int:
    if each.change in ("slower", "faster") or each.failed:
        return 0
    return 1 if each.change in ("new", "gone") else 2


def _totals(kind: Kind) -> Totals:
    components = {each.name: sums(vars(each)) for each in kind.components}
    return Totals(kind.transactions, kind.total_ns, kind.other_ns, components)


def _numbers(kind: Kind, timed: Kind | None) -> Numbers:
    if timed is None:  # all of them failed
        return Numbers(kind.transactions, kind.errors, 0, 0, 0.0, 0, 0, 0)
    mean_ns = timed.total_ns / timed.transactions
    times = timed.total_ns, mean_ns, timed.p50_ns, timed.p95_ns, timed.p99_ns
    return Numbers(kind.transactions, kind.errors, timed.transactions, *times)


def _side(scope: Scope, top: Top) -> Side:
    start, end = iso_time(scope.window.start_ns), iso_time(scope.window.end_ns)
    filters = scope.filters
    return Side(start, end, filters.version, filters.where, top.transactions, top.errors, top.total_ns, scope.one_in)
