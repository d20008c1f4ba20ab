"""One kind: its time and its durations over time, what it calls, single transactions; and `why` for a part of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ...clickhouse.dialect import QUERY_CONNECTIONS
from ...clickhouse.engine import Engine
from ...errors import BadParameter, NotStored
from ...format import quoted
from ...query import kinds
from ...query.answers import Target
from ...query.digest.answer import DigestedStatement
from ...query.digest.rank import statements
from ...query.incidents.answer import Incident
from ...query.other_side import ServerEvent
from ...query.profile.answer import Profile
from ...query.profile.profile import KindBill, split
from ...query.scope import Scope
from ...query.scoped.distribution import Durations, distribution, durations
from ...query.scoped.examples import Transaction, slowest, typical
from ...query.scoped.outlier import Outlier, outlier, outlier_over_time
from ...query.servers.rank import targets
from ...query.timeline import Timeline, timeline
from ...query.why.answer import Why
from ...query.windows import DEFAULT_SLOWEST_PERCENT, Comparison, Window
from ..charts import Chart, by_component, calls_per_transaction, time_per_call
from ..drawing.heatmap import HeatMap, heat_map
from ..drawing.waterfall import Waterfall, waterfall
from ..request import PageRequest
from .incidents import events, marks

PARAMS = {"slowest": "", "when": "", "part": ""}
"""
`slowest`: a percentage, whose transactions are explained. `when`: a condition; those that match are compared with the
others. `part=why` is the explanation alone.
"""
_MOST_EXAMPLES = 6


@dataclass(frozen=True)
class Explanation:
    """What makes the selected transactions different."""

    why: Why | None
    problem: str
    """Why there is no answer."""
    waterfall: Waterfall | None


@dataclass(frozen=True)
class Kind:
    """The view model."""

    service: str
    name: str
    is_explained: bool
    """A part of the transactions is selected: `explanation` is to be fetched, or is here."""
    slowest_percent: float | None
    """The slowest are selected, so many of them; a selected time comes first."""
    explanation: Explanation | None = None
    durations: Durations | None = None
    """Of the selection, or else of the whole time; None where only the explanation was requested."""
    charts: tuple[Chart, ...] = ()
    heat_map: HeatMap | None = None
    outlier: Outlier | None = None
    targets: tuple[Target, ...] = ()
    statements: tuple[DigestedStatement, ...] = ()
    profile: Profile | None = None
    """Of the whole time; None where a part of the transactions is selected."""
    slowest: tuple[Transaction, ...] = ()
    typical: tuple[Transaction, ...] = ()
    one_in: int = 1
    """One in so many transactions was read for the charts; the numbers are estimates."""
    incidents: tuple[Incident, ...] = ()
    """Of this kind, in the time; the open ones first."""
    events: tuple[ServerEvent, ...] = ()
    """On the databases and caches that it calls."""


def kind(request: PageRequest) -> Kind:
    """
    Answer the view.

    Raises:
        NotStored: There is no such kind.
    """
    service, name = request.path["service"], request.path["name"]
    percent = _slowest(request)
    is_explained = request.during is not None or percent is not None or bool(request.params["when"])
    if request.params["part"]:
        scope = replace(request.scope, filters=replace(request.scope.filters, service=service, kind=name))
        try:
            explanation = _explain(request, scope, percent)
        except BadParameter as error:  # this part of the page has no other place to say so
            explanation = _unexplained(f"This cannot be explained: {error.what}; {error.what_now}.")
        return Kind(service, name, is_explained, percent, explanation)
    request = request.sampled(service=service, kind=name)
    scope, selected = request.scope, request.selected
    engine, is_whole = request.engine, request.during is None
    with ThreadPoolExecutor(QUERY_CONNECTIONS - 1, "kind") as threads:
        charting = threads.submit(timeline, engine, scope, request.now_ns)
        marking = threads.submit(marks, request)
        counting = None if is_whole else threads.submit(durations, engine, selected)
        known = distribution(engine, scope)
        if not known.cells:
            _check_it_exists(request, scope)
        by_target = threads.submit(targets, engine, scope)
        by_statement = None if is_explained else threads.submit(statements, engine, scope)
        longest = slowest(engine, selected, _MOST_EXAMPLES)
        steps = charting.result()
        profiling = None if is_explained else threads.submit(_profile, engine, scope, steps)
        whole = _durations(steps, longest[0].duration_ns if is_whole and longest else 0)
        of_targets = by_target.result()
        numbers = counting.result() if counting else whole
        usual = typical(engine, selected, numbers, _MOST_EXAMPLES)
    return Kind(
        service,
        name,
        is_explained,
        percent,
        durations=numbers,
        charts=(by_component(steps), calls_per_transaction(steps), time_per_call(steps)),
        heat_map=heat_map(known, whole),
        outlier=(outlier_over_time(steps) if known.is_estimated else outlier(known)) if is_whole else None,
        targets=() if is_explained else of_targets,
        statements=by_statement.result() if by_statement else (),
        profile=profiling.result() if profiling else None,
        slowest=longest,
        typical=usual,
        one_in=scope.one_in,
        incidents=marking.result(),
        events=events(request, {each.address for each in of_targets}),
    )


def _profile(engine: Engine, scope: Scope, steps: Timeline) -> Profile:
    end_ns = steps.start_ns + len(steps.transactions) * steps.step_s * 1_000_000_000
    components = {each.name: (sum(each.calls), sum(each.time_ns)) for each in steps.components}
    components["other"] = 0, sum(steps.other_ns)
    bill = KindBill(sum(steps.transactions), sum(steps.time_ns), components)
    return split(engine, replace(scope, window=Window(steps.start_ns, end_ns)), bill)


def _durations(steps: Timeline, max_ns: int) -> Durations:
    """The numbers of the whole time; the timeline has all but the longest."""
    percentiles = (round(each or 0) for each in (steps.whole_p50_ns, steps.whole_p95_ns, steps.whole_p99_ns))
    return Durations(sum(steps.transactions), sum(steps.errors), sum(steps.time_ns), max_ns, *percentiles)


def _slowest(request: PageRequest) -> float | None:
    """The percentage of the slowest that is explained; a selected time and a condition come first."""
    text = request.params["slowest"]
    if request.params["part"] not in ("", "why"):
        raise BadParameter("part", f"{quoted(request.params['part'])} is not a part", "use why")
    if not text:
        is_asked = request.params["part"] and request.during is None and not request.params["when"]
        return DEFAULT_SLOWEST_PERCENT if is_asked else None
    try:
        percent = float(text)
    except ValueError:
        percent = 0.0
    if not 0 < percent <= 50:
        raise BadParameter("slowest", f"{quoted(text)} is not a percentage", "write 5, or another one up to 50")
    return None if request.during is not None or request.params["when"] else percent


def _check_it_exists(request: PageRequest, scope: Scope) -> None:
    rows = kinds.kind_in(request.engine, scope.filters.kind, scope.filters.service, scope.window)
    if scope.filters.service not in {row["service"] for row in rows}:
        what = f"no transaction {quoted(scope.filters.kind)} of service {quoted(scope.filters.service)} is stored"
        raise NotStored("kind", what, "the overview has all kinds")


def _explain(request: PageRequest, scope: Scope, percent: float | None) -> Explanation:
    if when := request.params["when"]:
        window = request.during or scope.window
        compared = Comparison(window, window, when=when)
    elif percent is not None:
        compared = Comparison(scope.window, scope.window, percent)
    elif request.during is not None and request.against is not None:
        compared = Comparison(request.during, request.against)
    else:
        return _unexplained("The selection is the whole time: there is nothing before or after it to compare with.")
    if not compared.is_of_one_window and _overlap(compared):
        return _unexplained("The selection and `against` overlap; a transaction can be on one side only.")
    try:
        why = request.sources.explanations.why(scope.filters, compared, request.now_ns)
    except NotStored as error:
        missing = {"against": "There is no transaction to compare with", "during": "No transaction is in the selection"}
        return _unexplained(f"{missing.get(error.where, 'There is no difference to explain')}: {error.what}.")
    return Explanation(why, "", waterfall(why))


def _overlap(compared: Comparison) -> bool:
    slow, usual = compared.slow, compared.usual
    return slow.start_ns < usual.end_ns and usual.start_ns < slow.end_ns


def _unexplained(problem: str) -> Explanation:
    return Explanation(None, problem, None)
