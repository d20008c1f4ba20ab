"""Statements whose plan changed, and that take longer since then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ...format import duration, iso_time
from ..other_side import ServerEvent, events
from ..queries import run
from .answer import LEAST_PLAN_SLOWER, NEW_DAYS
from .candidate import Bills, Candidate
from .observed import Observed, grouped
from .statements import short

_S = 1_000_000_000
_DAY_NS = 86_400 * _S
_AROUND_S = 3_600
_FEWEST_CALLS = 20


def changed_plans(observed: Observed) -> Iterator[Candidate]:
    """Those that changed in the last NEW_DAYS days; the price is what calls take longer than in the hour before."""
    end_ns = observed.scope.window.end_ns
    window = replace(observed.scope.window, start_ns=end_ns - NEW_DAYS * _DAY_NS)
    found = events(observed.engine, window, (), ("plan_changed",))
    changes = {each.details.get("fingerprint_id", ""): each for each in found}  # the last one of each
    sent = (each for each in observed.statements if changes and each.id in changes)
    for identity, senders in grouped(sent, lambda each: each.id).items():
        change, texts = changes[identity], tuple({each.text for each in senders})
        if (usual_ns := _usual_ns(observed, texts, change)) is None:
            continue
        saved = ((each.kind, max(each.time_ns - each.calls * usual_ns, 0)) for each in senders)
        if kinds := observed.worth(saved):
            at = f"{iso_time(change.start_ns)[:16].replace('T', ' ')} UTC"
            yield Candidate(
                "changed_plan",
                "",
                f"{senders[0].fingerprint}\0{change.start_ns}",
                kinds,
                of="statements",
                texts=texts,
                usual_ns=usual_ns,
                change=f"Restore the plan of `{short(senders[0].text)}`: it changed on {change.server} at {at},"
                f" {change.details.get('change', '')}.",
                finding=_finding(usual_ns),
                certainty="The price is what its calls take longer than in the hour before the change.",
                statement_id=identity,
                address=change.server,
            )


def _usual_ns(observed: Observed, texts: Sequence[str], change: ServerEvent) -> float | None:
    """Of a call before the change; None when calls do not take longer since then, or are few."""
    from_s = change.start_ns // _S
    until_s = int(float(change.details.get("old_until", from_s)))
    moments = {"from_s": from_s, "until_s": until_s, "around_s": _AROUND_S}
    (row,) = run(observed.engine, "advise/call_times", texts=texts, **moments)
    is_known = min(row["calls_before"], row["calls_after"]) >= _FEWEST_CALLS
    is_slower = is_known and row["after_ns"] >= LEAST_PLAN_SLOWER * row["before_ns"]
    return float(row["before_ns"]) if is_slower else None


def _finding(usual_ns: float) -> Callable[[str, Bills], str]:
    def finding(kind: str, bills: Bills) -> str:
        times = f"{bills.times} {bills.where}"
        return f"{kind} sends it {times}, {duration(bills.call_ns)} each; before the change {duration(usual_ns)} each."

    return finding
