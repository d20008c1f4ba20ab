"""All statements, seen from the applications and from the database's log; one statement in detail."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...errors import BadParameter
from ...format import quoted
from ...http.parameters import one_of
from ...query.digest.answer import DIGEST_RANKINGS, Digest
from ...query.digest.detail import StatementDetail, statement
from ...query.digest.over_time import StatementOverTime, StatementStep, statements_over_time
from ...query.digest.rank import digest_of
from ...query.digest.short import short_lists
from ..charts import Chart, Series, Unit
from ..request import MayChange, PageRequest, may_change

PARAMS = {"by": "total", "containing": ""}
"""`by` is one of DIGEST_RANKINGS; `containing` is a part of a statement's text, or of its id."""
_MOST = 100
_CHARTED = 8
_NAME_CHARS = 70
_ID = re.compile(r"[0-9a-fA-F]{1,16}")
_S = 1_000_000_000
_FAMILY = "mysql"
Value = Callable[[StatementStep, float], float | None]
"""Of a step, and how many seconds of it have passed."""


@dataclass(frozen=True)
class StatementsPage:
    """The view model of all statements."""

    charts: tuple[Chart, ...]
    charted: tuple[str, ...]
    """The ids of the statements in the chart; each has a colour of its own."""
    digest: Digest
    one_in: int
    """One in so many transactions was read; the applications' numbers are estimates."""


@dataclass(frozen=True)
class StatementPage:
    """The view model of one statement; `detail` is about the selection, the charts about the whole time."""

    charts: tuple[Chart, ...]
    detail: StatementDetail
    one_in: int
    may_explain: MayChange


def all_statements(request: PageRequest) -> StatementsPage:
    """Answer the view."""
    by = one_of("by", request.params["by"], DIGEST_RANKINGS)
    containing = request.params["containing"]
    request = request.sampled()
    digest = digest_of(request.engine, request.selected, by=by, limit=_MOST, containing=containing)
    charted = statements_over_time(request.engine, request.scope, _CHARTED)
    charts = [_chart(request, "time", "Time by statement", "ns", charted, "for the applications, each second")]
    ids = tuple(each.fingerprint_id for each in charted)
    return StatementsPage(tuple(charts) if charted else (), ids, digest, request.scope.one_in)


def one_statement(request: PageRequest) -> StatementPage:
    """Answer the view."""
    written = request.path["fingerprint_id"]
    if not _ID.fullmatch(written):
        raise BadParameter("fingerprint_id", f"{quoted(written)} is not an id", "use the one that /statements shows")
    request = request.sampled()
    charted = None if request.during is None else request.scope
    detail = statement(request.engine, request.selected, int(written, 16), charted)
    each = detail.over_time
    has_log = any(step.logged_calls for step in each.sums)

    def lines(identity: str, title: str, unit: Unit, client: Value, logged: Value, about: str = "") -> Chart:
        series = [
            _series(request, each, "application", client, _FAMILY),
            *([_series(request, each, "database", logged, _FAMILY, 2)] if has_log else []),
        ]
        shown = tuple(one for one in series if one.whole is not None)
        return Chart(identity, title, "lines", unit, each.steps.start_ns // _S, each.steps.step_s, shown, about)

    charts = [
        lines("time", "Time", "ns", _time_per_s, _logged_per_s, "total of each second"),
        lines("time-per-call", "Time per call", "ns", _mean_ns, _logged_mean_ns),
        lines("calls", "Calls", "per s", _calls_per_s, _logged_calls_per_s),
    ]
    return StatementPage(tuple(charts), detail, request.scope.one_in, may_change(request.sources.access))


def _chart(
    request: PageRequest, identity: str, title: str, unit: Unit, charted: tuple[StatementOverTime, ...], about: str
) -> Chart:
    series = tuple(
        _series(request, each, _name(each.fingerprint), _time_per_s, f"c{at}") for at, each in enumerate(charted)
    )
    steps = charted[0].steps if charted else None
    start_s, step_s = (steps.start_ns // _S, steps.step_s) if steps else (0, 1)
    return Chart(identity, title, "stacked", unit, start_s, step_s, series, about)


def _name(text: str) -> str:
    short = short_lists(text)
    return short if len(short) <= _NAME_CHARS else f"{short[: _NAME_CHARS - 1]}…"


def _series(
    request: PageRequest, each: StatementOverTime, name: str, value: Value, family: str, shade: int = 0
) -> Series:
    """A step without a call is a gap."""
    seconds = each.steps.seconds(request.scope.window, request.now_ns)
    values = tuple(value(step, passed_s) for step, passed_s in zip(each.sums, seconds, strict=True))
    whole = StatementStep(**{name: sum(getattr(step, name) for step in each.sums) for name in vars(StatementStep())})
    return Series(name, values, value(whole, sum(seconds)), family, shade)


def _time_per_s(step: StatementStep, seconds: float) -> float | None:
    return round(step.time_ns / seconds) if step.calls and seconds else None


def _logged_per_s(step: StatementStep, seconds: float) -> float | None:
    return round(step.logged_ns / seconds) if step.logged_calls and seconds else None


def _mean_ns(step: StatementStep, _: float) -> float | None:
    return round(step.time_ns / step.calls) if step.calls else None


def _logged_mean_ns(step: StatementStep, _: float) -> float | None:
    return round(step.logged_ns / step.logged_calls) if step.logged_calls else None


def _calls_per_s(step: StatementStep, seconds: float) -> float | None:
    return step.calls / seconds if step.calls and seconds else None


def _logged_calls_per_s(step: StatementStep, seconds: float) -> float | None:
    return step.logged_calls / seconds if step.logged_calls and seconds else None
