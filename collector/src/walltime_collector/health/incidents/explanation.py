"""Explains an incident with `why`, and finds the usual time to compare it with."""

from __future__ import annotations

from typing import Literal

from ...clickhouse.engine import Engine
from ...errors import BadParameter, NotStored, QueryFailed
from ...query.incidents.history import TIME, Series
from ...query.incidents.wording import of_changes
from ...query.queries import run
from ...query.scope import Filters
from ...query.why.answer import Cost, Why
from ...query.why.explain import explain_kind
from ...query.why.finding import BECAUSE
from ...query.windows import Comparison, Window
from .current import Current

_HOUR_S = 3600
_HALF_S = _HOUR_S // 2
_DAY_S = 86_400
_ENOUGH = 100
"""Transactions that an earlier day must have in that hour."""
_ALIKE = 1.25
"""Its typical time may differ from the usual one by this factor."""
_EXPLAINED_AGAIN_S = 60
"""Then when it has lasted twice as long."""
_LONGEST_UNEXPLAINED_S = 3600
_S = 1_000_000_000


def usual_window(engine: Engine, incident: Current, before_s: int, usual_ns: float) -> Window:
    """
    The same hour of the latest earlier day that was as usual; otherwise what came before, from `before_s` on.

    Args:
        usual_ns: The usual time of the kind, as looks measure it.
    """
    params = {"service": incident.kind.service, "kind": incident.kind.name}
    for row in run(engine, "incidents/same_hour", **params, start_s=incident.started_s):
        is_alike = 1 / _ALIKE <= float(row["typical_ns"] or 0) / max(usual_ns, 1) <= _ALIKE
        if int(row["transactions"]) >= _ENOUGH and is_alike:
            middle_s = incident.started_s - int(row["day"]) * _DAY_S
            return Window((middle_s - _HALF_S) * _S, (middle_s + _HALF_S) * _S)
    return Window(min(before_s, incident.started_s - 1) * _S, incident.started_s * _S)


def explain(engine: Engine, incident: Current, now_s: int) -> bool:
    """
    Explain it until it was last seen, and return whether there is an explanation.

    Its sentences and numbers are those of `why`; what `why` cannot say comes before them.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    lasted_s = now_s - incident.started_s
    incident.due_s = now_s + min(max(lasted_s, _EXPLAINED_AGAIN_S), _LONGEST_UNEXPLAINED_S)
    filters = Filters(service=incident.kind.service, kind=incident.kind.name)
    compared = Comparison(Window(incident.started_s * _S, incident.ended_s * _S), incident.usual)
    try:
        why = explain_kind(engine, filters, compared)
    except (BadParameter, NotStored, QueryFailed):
        return False
    incident.explained_s = now_s
    is_slower = why.verdict == "different" and why.typical_ns > 0
    if TIME in incident.changes and not is_slower:
        # looks see a change of time that `why` does not: its sentences would contradict it
        incident.sentences = (of_changes(incident.kind.name, incident.sorted_changes()),)
    else:
        for series in incident.changes:
            usual, now = _number(why, "usual", series), _number(why, "slow", series)
            if usual is not None and now is not None:
                incident.explained(series, usual, now)
        beside = ("errors",) if TIME in incident.changes else ("errors", "calls", "hit_ratio")
        changes = [each for each in incident.sorted_changes() if each.measure in beside]
        incident.sentences = (*([of_changes(incident.kind.name, changes)] if changes else ()), *why.sentences)
    # what happened on a server is what people act on
    reasons = (each.sentence for each in why.findings if each.about == "other_side")
    reason = next((each for each in reasons if each in incident.sentences), "")
    first = [reason.removeprefix(BECAUSE)] if reason else []
    incident.sentences = (*first, *(each for each in incident.sentences if each != reason))
    incident.headline = " ".join(incident.sentences[: 2 + len(first)])
    return True


def _number(why: Why, side: Literal["usual", "slow"], series: Series) -> float | None:
    """What changed, as `why` has it of one side; the time is that without single transactions."""
    population, own = why.usual if side == "usual" else why.slow, (series.component, series.address)
    if series.measure == "time":
        return population.mean_ns - float(getattr(why.singles, f"{side}_ns", 0.0))
    if series.measure == "errors":
        return population.errors / population.transactions
    parts = why.targets if series.measure == "hit_ratio" else why.components
    cost: Cost | None = next((getattr(each, side) for each in parts if (each.component, each.address) == own), None)
    if cost is None or series.measure == "calls":
        return cost.calls_per_transaction if cost else None
    lookups = cost.hits + cost.misses
    return cost.hits / lookups if lookups else None
