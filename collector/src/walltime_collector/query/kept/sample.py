"""Reads a sample of the kept calls of a Scope: only single calls have keys and places in the code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...clickhouse.engine import Engine, Parameter
from ..answers import Call
from ..queries import Row, run
from ..scope import Scope
from ..transaction.kept_calls import kept_call

_MAX_TRANSACTIONS = 400
_MAX_CALLS = 6_000
_MAX_GRANULES = 24
"""Of `spans`; reading one takes 1.3 to 7 ms."""
_GRANULE_ROWS = 2_048


@dataclass(frozen=True)
class Sample:
    """What an estimate is made from."""

    transactions: int
    calls: int
    is_fair: bool
    """False when no transaction was kept by chance: those that are slow or failed are then over-represented."""


@dataclass(frozen=True)
class SampledCall:
    """A kept call, its transaction, and for how many calls it stands."""

    call: Call
    weight: float
    trace_id: str
    service: str
    name: str


@dataclass(frozen=True)
class KeptSample:
    """Calls of `transactions` kept transactions."""

    transactions: int
    is_fair: bool
    """Whether the transactions were kept by chance; the weights of others are 1."""
    calls: tuple[SampledCall, ...]

    @property
    def size(self) -> Sample:
        """What it consists of."""
        return Sample(self.transactions, len(self.calls), self.is_fair)


def kept_sample(
    engine: Engine,
    scope: Scope,
    *,
    component: str = "",
    address: str = "",
    texts: Sequence[str] = (),
    kinds: Sequence[str] = (),
    minutes: Sequence[int] = (),
) -> KeptSample:
    """
    Kept calls of a component on a server, or of statements with one of these texts.

    Only transactions that were kept by chance, if there are any; otherwise all that were kept.

    Args:
        kinds: `service TAB name` of the transactions that make such calls; none is any.
        minutes: Unix seconds; only transactions of these minutes are looked at. None means all.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    owners = run(
        engine,
        "kept/transactions",
        **scope.parameters(),
        address=address,
        texts=texts,
        kinds=kinds,
        minutes=minutes,
        limit=_MAX_TRANSACTIONS,
    )
    is_fair = bool(owners) and bool(owners[0]["is_fair"])
    owners = [each for each in owners if bool(each["is_fair"]) == is_fair]
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        host, port = address, ""
    which = {"component": component, "texts": texts, "host": host.strip("[]"), "port": port}
    read, found = kept_calls(engine, owners, scope.window.start_ns, scope.window.end_ns, **which)
    calls = []
    for owner, call in found:
        weight = 1 / (owner["sample_probability"] or 1.0) if is_fair else 1.0
        calls.append(SampledCall(call, weight, owner["trace"], owner["service"], owner["name"]))
    return KeptSample(read, is_fair, tuple(calls))


def kept_calls(
    engine: Engine, owners: Sequence[Row], start_ns: int, end_ns: int, **which: Parameter
) -> tuple[int, list[tuple[Row, Call]]]:
    """
    How many of these transactions were read, the first of them, and their calls in the order of their starts.

    Args:
        which: Parameters of queries/kept/calls.sql that choose calls; empty ones by default.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    if owners:
        (stored,) = run(engine, "kept/stored", start_ns=start_ns, end_ns=end_ns)
        owners = _near(owners, int(stored["spans"]))
    if not owners:
        return 0, []
    owner_of = {(each["trace"], each["span"]): each for each in owners}
    asked = {"component": "", "texts": (), "host": "", "port": "", **which}
    traces = sorted({trace for trace, _ in owner_of})
    rows = run(engine, "kept/calls", **asked, start_ns=start_ns, traces=traces, limit=_MAX_CALLS)
    found = []
    for row in rows:
        if owner := owner_of.get((row["trace"], row["parent"])):
            found.append((owner, kept_call({**row, "address": "", "statement": ""}, int(owner["started_ns"]))))
    return len(owners), found


def _near(owners: Sequence[Row], spans: int) -> Sequence[Row]:
    """The first of them, as many as have their calls in _MAX_GRANULES granules: trace ids order the table."""
    granules = spans // _GRANULE_ROWS + 1
    read: set[int] = set()
    for at, each in enumerate(owners):
        read.add(int(each["trace"], 16) * granules >> 128)
        if len(read) > _MAX_GRANULES:
            return owners[:at]
    return owners
