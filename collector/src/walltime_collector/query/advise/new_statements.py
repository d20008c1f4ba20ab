"""Statements that a new version of a service brought, and that take much of the time of its transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...format import duration, percent
from ..digest.answer import NewSince
from ..digest.history import by_version, variants
from ..digest.new_since import new_since
from ..digest.wording import since_version
from ..queries import run
from .answer import NEW_DAYS
from .candidate import Bills, Candidate
from .observed import Key, Observed, StatementSums, grouped
from .statements import short

_S, _DAY_S = 1_000_000_000, 86_400
_SEEN_DAYS = 30
"""A version that was not seen for so long is no earlier version."""
_MOST = 20
"""Statements whose versions are looked up, those with the most time."""


def new_statements(observed: Observed) -> Iterator[Candidate]:
    """Those of versions that were first seen in the last NEW_DAYS days, while earlier ones were seen before."""
    services = _with_new_version(observed)
    if not services:
        return
    candidates: list[tuple[list[StatementSums], dict[Key, float]]] = []
    sent = (each for each in observed.statements if each.service in services)
    for senders in grouped(sent, lambda each: (each.service, each.fingerprint)).values():
        if kinds := observed.worth((each.kind, each.time_ns) for each in senders):
            candidates.append((senders, kinds))
    candidates.sort(key=lambda each: -sum(each[1].values()))
    for senders, kinds in candidates[:_MOST]:
        first = senders[0]
        texts = variants(observed.engine, int(first.id, 16), [each.text for each in senders])
        for new in new_since(*by_version(observed.engine, texts), looked_at=len(candidates)):
            if new.service != first.service or new.version not in services[first.service]:
                continue
            yield Candidate(
                "new_statement",
                first.service,
                f"{new.version}\0{first.fingerprint}",
                kinds,
                of="statements",
                texts=tuple({each.text for each in senders}),
                change=f"Check whether `{short(first.text)}` is needed: it is new since version {new.version} of"
                f" {new.service}.",
                finding=_finding(new),
                certainty="The price is all of its time; it may replace something that took time before.",
                statement_id=first.id,
            )


def _finding(new: NewSince) -> Callable[[str, Bills], str]:
    def finding(kind: str, bills: Bills) -> str:
        times = f"{bills.times} {bills.where}, {duration(bills.call_ns)} each"
        return f"{percent(bills.part)} of the time of {kind}: {times}; {since_version(new)}."

    return finding


def _with_new_version(observed: Observed) -> dict[str, set[str]]:
    """The new versions of each service that has an earlier one."""
    now_s = observed.scope.window.end_ns // _S
    services = sorted({service for service, _ in observed.kinds})
    rows = run(observed.engine, "advise/versions", services=services, from_s=now_s - _SEEN_DAYS * _DAY_S)
    found: dict[str, set[str]] = {}
    for versions in grouped(rows, lambda row: str(row["service"])).values():
        for row in versions[1:]:  # the first one is no new one
            if row["first_s"] >= now_s - NEW_DAYS * _DAY_S:
                found.setdefault(str(row["service"]), set()).add(str(row["version"]))
    return found
