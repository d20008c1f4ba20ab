"""Kinds that hold locks for which others wait, as the database showed it while the waits lasted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...format import duration, plural
from ..names import shown
from ..queries import Row, run
from .answer import LEAST_HELPED, LEAST_LOCKED_NS, MOST
from .candidate import Candidate
from .observed import Observed

_MOST_WAITS = 5_000


def held(observed: Observed) -> Sequence[Row]:
    """By holder and table, with what was waited for them: rows of queries/advise/held.sql."""
    params = observed.scope.whole.parameters()
    return run(observed.engine, "advise/held", **params, least_ns=LEAST_LOCKED_NS, limit=_MOST_WAITS)


def of_holders(observed: Observed, rows: Sequence[Row]) -> Iterator[Candidate]:
    """One for each kind that holds a table's locks, of which at least LEAST_HELPED transactions waited."""
    for row in rows:
        kinds = observed.worth(((service, name), waited_ns) for service, name, waited_ns in row["locked"])
        spans, waited_ns = row["spans"]
        if len(spans) < LEAST_HELPED or not kinds or not row["by_name"]:
            continue
        name, table = shown(row["by_name"]), row["table_name"].rpartition(".")[2]
        is_idle = row["idle"] >= MOST * row["waits"]
        change = f"Make the transaction of {name} shorter: it holds locks of {table} while it works."
        if is_idle:
            change = (
                f"Commit earlier in {name}: it holds locks of {table} for {duration(row['idle_ns'])} after its last"
                f" statement{_before(observed, row)}."
            )
        yield Candidate(
            "row_locks",
            row["by_service"],
            f"{row['by_name']}\0{row['table_name']}",
            kinds,
            of="locks",
            spans=spans,
            locked_ns=waited_ns,
            change=change,
            finding=f"{plural(row['waits'], 'wait')} for them were seen, half of them {duration(row['waited_ns'])} or"
            f" longer; in {row['idle']} of them {name} was idle in its transaction.",
            evidence=(row["holder"],),
        )


def _before(observed: Observed, row: Row) -> str:
    """What it does with most of that time, if the sums of its calls say so: `; commit before it calls 10.0.0.9:80`."""
    kind = observed.kinds.get((row["by_service"], row["by_name"]))
    calls = [
        each
        for each in observed.targets
        if (each.service, each.name) == (row["by_service"], row["by_name"]) and not each.component.startswith("mysql.")
    ]
    most = max(calls, key=lambda each: each.time_ns, default=None)
    if not kind or not most or most.time_ns < MOST * row["idle_ns"] * kind.transactions:
        return ""
    return f"; commit before it calls {most.address} ({most.component})"
