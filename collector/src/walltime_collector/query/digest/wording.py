"""What command and page say about a statement over time."""

from __future__ import annotations

from ...format import count, printable
from ..names import shown
from .answer import NewSince, StatementHistory


def since_version(new: NewSince) -> str:
    """`new since version 2.1 of shop: 340 of 350 GET /search sent it, none of 12,345 in earlier versions`."""
    sent = f"{count(new.sent)} of {count(new.of)} {shown(new.name)} sent it"
    version = f"version {printable(new.version)} of {printable(new.service)}"
    return f"new since {version}: {sent}, none of {count(new.earlier)} in earlier versions"


def first_seen(history: StatementHistory) -> str:
    """`2026-11-21 09:30 UTC`."""
    return f"{history.first_seen[:16].replace('T', ' ')} UTC"
