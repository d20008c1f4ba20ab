"""All servers of a Scope, and one of them with its users and what they request of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...errors import NotStored
from ...format import printable
from ..answers import Target
from ..components import Sums
from ..queries import Row
from ..sampled import run_sums
from ..scope import Scope, Steps
from .answer import Server, ServerDetail, Servers, User, ratio
from .moments import moments
from .requested import requested

_MAX_SERVERS = 2_000
_MAX_USERS = 100
_MAX_TARGETS = 1_000
_STEP_S = 86_400 * 7
"""Where no steps are wanted."""


def servers(engine: Engine, scope: Scope) -> Servers:
    """
    All servers of a Scope, with their sums in every step.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    totals = _totals(engine, scope)
    steps = Steps.of(scope, totals["transactions"])
    rows = _run_steps(engine, scope, steps)
    return Servers(
        steps,
        totals["transactions"],
        totals["total_ns"],
        _skipped(totals),
        tuple(_server(row, steps, totals["total_ns"]) for row in rows),
    )


def server(engine: Engine, scope: Scope, component: str, address: str) -> ServerDetail:
    """
    One component on one server.

    Raises:
        NotStored: It was not called in this Scope.
        EngineUnavailable: The engine cannot answer now.
    """
    totals = _totals(engine, scope)
    steps = Steps.of(scope, totals["transactions"])
    params = {**scope.divided(), "component": component, "address": address}
    with ThreadPoolExecutor(1, "server") as threads:
        using = threads.submit(run_sums, engine, "servers/users", **params, limit=_MAX_USERS)
        rows = _run_steps(engine, scope, steps, address)
        users = using.result()
    found = [_server(row, steps, totals["total_ns"]) for row in rows]
    if not users or component not in {each.component for each in found}:
        raise NotStored(
            "server",
            f"no call of {printable(component)} on {printable(address)} is stored of this time",
            "choose a longer time, or remove a filter; /servers lists those that are called",
        )
    kinds = [f"{row['service']}\t{row['name']}" for row in users]
    this = next(each for each in found if each.component == component)
    sample, texts = requested(engine, scope, this, kinds)
    return ServerDetail(
        this,
        steps,
        tuple(each for each in found if each.component != component),
        _skipped(totals).get(component, 0),
        int(users[0]["all_kinds"]),
        tuple(
            from_row(
                User,
                row,
                share=row["time_ns"] / max(row["all_time_ns"], 1),
                hit_ratio=ratio(row["hits"], row["misses"]),
            )
            for row in users
        ),
        sample,
        texts,
    )


def targets(engine: Engine, scope: Scope) -> tuple[Target, ...]:
    """
    Components on their servers, the one with the most time first, at most _MAX_TARGETS.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    params = scope.aligned().divided(_STEP_S)
    rows = run_sums(engine, "servers/steps", **params, address="", limit=_MAX_TARGETS)
    return tuple(from_row(Target, row) for row in rows)


def _totals(engine: Engine, scope: Scope) -> Row:
    (totals,) = run_sums(engine, "servers/totals", **scope.divided())
    return totals


def _run_steps(engine: Engine, scope: Scope, steps: Steps, address: str = "") -> Sequence[Row]:
    return run_sums(engine, "servers/steps", **scope.divided(steps.step_s), address=address, limit=_MAX_SERVERS)


def _skipped(totals: Row) -> dict[str, int]:
    return {
        key.removeprefix("walltime.").removesuffix(".skipped"): int(number)
        for key, number in sorted(totals["skipped"].items())
        if int(number)
    }


def _server(row: Row, steps: Steps, total_ns: int) -> Server:
    known = {int(step): Sums(*map(int, counters)) for step, *counters in row["steps"]}
    sums = [known.get(step, Sums()) for step in steps.numbers]
    calls, time_ns = row["calls"], row["time_ns"]
    return from_row(
        Server,
        row,
        share=time_ns / max(total_ns, 1),
        mean_ns=round(time_ns / max(calls, 1)),
        hit_ratio=ratio(row["hits"], row["misses"]),
        steps=tuple(sums),
        moments=moments(sums, steps),
    )
