"""Logs the end of an outage of the collector once: since when it was away, and what was lost."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Final

from walltime.errors import warn

LEAST_S: Final = 2.0
"""A shorter outage without a loss is not logged."""


class Outage:
    """The time from the first failed request to the next successful one."""

    def __init__(self, shown: str, counts: dict[str, int]) -> None:
        """
        Args:
            shown: the collector's address without its secrets.
            counts: of the exporter; its losses begin with `lost_`.
        """
        self._shown = shown
        self._counts = counts
        self._began_s: float | None = None
        self._before: dict[str, int] | None = None
        """The losses before the outage, or before the first of several outages that were not logged."""

    def begin(self) -> None:
        """Record a failed request; only the first one counts."""
        if self._began_s is None:
            self._began_s = time.monotonic()
            self._began_at = datetime.now(timezone.utc)
            self._before = self._before or self._losses()

    def end(self, waiting: int) -> None:
        """
        Record a successful request.

        Args:
            waiting: transactions that are still to be sent.
        """
        if self._began_s is None or self._before is None:
            return
        away_s = time.monotonic() - self._began_s
        self._began_s = None
        lost = {why: count - self._before.get(why, 0) for why, count in self._losses().items()}
        if away_s < LEAST_S and not any(lost.values()):
            self._before = None
            return
        reasons = ", ".join(f"{count} {why[5:].replace('_', ' ')}" for why, count in lost.items() if count)
        what = f"{sum(lost.values())} transactions were lost meanwhile ({reasons})" if reasons else "Nothing was lost"
        message = "walltime: the collector at %s is back after %.0f s, away since %s. %s; %d more wait and are sent now"
        began_at = f"{self._began_at:%Y-%m-%d %H:%M:%S} UTC"
        if warn("back", message, self._shown, away_s, began_at, what, waiting):
            self._before = None  # otherwise the next log line includes these losses

    def _losses(self) -> dict[str, int]:
        return {why: count for why, count in self._counts.items() if why.startswith("lost_")}
