"""What command and page say about a statement over time."""

from __future__ import annotations

from ...format import count, printable
from ..names import shown
from .answer import NewSince, Plan, StatementHistory


def since_version(new: NewSince) -> str:
    """`new since version 2.1 of shop: 340 of 350 GET /search sent it, none of 12,345 in earlier versions`."""
    sent = f"{count(new.sent)} of {count(new.of)} {shown(new.name)} sent it"
    version = f"version {printable(new.version)} of {printable(new.service)}"
    return f"new since {version}: {sent}, none of {count(new.earlier)} in earlier versions"


def first_seen(history: StatementHistory) -> str:
    """`2026-11-21 09:30 UTC`."""
    return _moment(history.first_seen)


def plan_seen(plan: Plan) -> str:
    """`on 10.0.0.5:3306, shop, 2026-11-21 09:30 UTC to 2026-11-24 14:00 UTC`."""
    where = ", ".join(filter(None, (plan.server, plan.database)))
    until = "" if plan.last_seen == plan.first_seen else f" to {_moment(plan.last_seen)}"
    return f"on {where}, {_moment(plan.first_seen)}{until}"


def _moment(iso: str) -> str:
    return f"{iso[:16].replace('T', ' ')} UTC"
