"""Explains an incident with `why`, and finds the usual time to compare it with."""

from __future__ import annotations

from ...clickhouse.engine import Engine
from ...errors import BadParameter, NotStored, QueryFailed
from ...query.incidents.history import ERRORS
from ...query.incidents.wording import of_changes
from ...query.queries import run
from ...query.scope import Filters
from ...query.why.explain import explain_kind
from ...query.why.sample import sample
from ...query.windows import Comparison, Window
from .current import Current

_HOUR_S = 3600
_HALF_S = _HOUR_S // 2
_DAY_S = 86_400
_ENOUGH = 100
"""Transactions that an earlier day must have in that hour."""
_ALIKE = 1.25
"""Its mean time may differ from the usual one by this factor."""
_S = 1_000_000_000


def usual_window(engine: Engine, incident: Current, before_s: int, usual_ns: float) -> Window:
    """
    The same hour of the latest earlier day that was as usual; otherwise what came before, from `before_s` on.

    Args:
        usual_ns: The usual mean time of the kind.
    """
    params = {"service": incident.kind.service, "kind": incident.kind.name}
    for row in run(engine, "incidents/same_hour", **params, start_s=incident.started_s):
        is_alike = 1 / _ALIKE <= float(row["mean_ns"]) / max(usual_ns, 1) <= _ALIKE
        if int(row["transactions"]) >= _ENOUGH and is_alike:
            middle_s = incident.started_s - int(row["day"]) * _DAY_S
            return Window((middle_s - _HALF_S) * _S, (middle_s + _HALF_S) * _S)
    return Window(min(before_s, incident.started_s - 1) * _S, incident.started_s * _S)


def explain(engine: Engine, incident: Current, now_s: int) -> bool:
    """
    Explain it until it was last seen, and return whether there is an explanation.

    Raises:
        EngineUnavailable: The engine cannot answer now.
    """
    incident.explained_s = now_s
    filters = Filters(service=incident.kind.service, kind=incident.kind.name)
    compared = Comparison(Window(incident.started_s * _S, incident.ended_s * _S), incident.usual)
    try:
        why = explain_kind(engine, filters, compared, sample(engine, filters, compared))
    except (BadParameter, NotStored, QueryFailed):
        return False
    is_about_time = why.verdict == "different" and ERRORS not in incident.changes
    first = () if is_about_time else (of_changes(incident.kind.name, incident.sorted_changes()),)
    incident.sentences = (*first, *why.sentences)
    incident.headline = " ".join(incident.sentences[:2])
    return True
