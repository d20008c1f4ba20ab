"""Says once in the log that the collector is back, since when it was away, and what was lost meanwhile."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Final

from walltime.errors import warn

LEAST_S: Final = 2.0
"""A shorter outage without a loss is not worth a line: the next request was taken."""


class Outage:
    """The time from the first request that the collector did not take until the next one that it took."""

    def __init__(self, shown: str, counts: dict[str, int]) -> None:
        """
        Args:
            shown: the collector's address, as it may be in a log.
            counts: of the exporter; losses are those that begin with `lost_`.
        """
        self._shown = shown
        self._counts = counts
        self._began_s: float | None = None
        self._before: dict[str, int] | None = None
        """The losses before the outage, or before the first of several whose end was not logged."""

    def begin(self) -> None:
        """Note that a request was not taken; only the first counts."""
        if self._began_s is None:
            self._began_s = time.monotonic()
            self._began_at = datetime.now(timezone.utc)
            self._before = self._before or self._losses()

    def end(self, waiting: int) -> None:
        """
        Note that a request was taken.

        Args:
            waiting: transactions that wait to be sent after it.
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
            self._before = None  # else the next line says what was lost

    def _losses(self) -> dict[str, int]:
        return {why: count for why, count in self._counts.items() if why.startswith("lost_")}
