"""The commands that stopped a Redis or Valkey: its SLOWLOG, without their arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from redis.exceptions import NoPermissionError

from ...format import duration, plural
from ..events import TABLE, event_row
from ..look import Look
from ..writer import Row
from .happened import clock
from .redis import NAME, Connection

_MOST = 128
"""As many as the server keeps by default."""
_SAVES = ("SAVE", "BGSAVE", "BGREWRITEAOF")
"""It stops while it writes, or for the fork."""
_LACKS = (
    "which commands were slow is not seen: the user may not run SLOWLOG GET; on the server: ACL SETUSER USER"
    " +slowlog|get"
)


class SlowCommands(Look[Connection]):
    """Each entry once; those of one command that were found together are one event, and saving is one too."""

    every_s = 2.0
    share = 0.3
    """See Look.share: it costs the server 0.1 ms; the rest is the slow commands that it waits for."""
    _last = -1

    def opened(self, connection: Connection) -> str:
        """See Look: what was logged before is not known to be new."""
        try:
            self._last = max((int(each["id"]) for each in connection.slowlog_get(1)), default=-1)
        except NoPermissionError:
            return _LACKS
        return ""

    def look(self, connection: Connection) -> None:
        """See Look."""
        entries, found = connection.slowlog_get(_MOST), defaultdict[str, list[tuple[float, float]]](list)
        for each in entries:
            if int(each["id"]) > self._last and each.get("client_name") != NAME:
                name = each["command"].split(b" ", 1)[0].decode("ascii", "replace").upper()[:30]
                found[name].append((float(each["start_time"]), each["duration"] / 1e6))
        self._last = max((int(each["id"]) for each in entries), default=self._last)
        self.writer.add(TABLE, [self._row(name, ran) for name, ran in found.items()])

    def _row(self, name: str, ran: Sequence[tuple[float, float]]) -> Row:
        """Its times are those of the ends, in whole seconds."""
        longest_s, at_s = max(each for _, each in ran), min(ended_s - took_s for ended_s, took_s in ran)
        what = f"was saving to disk ({name})" if name in _SAVES else f"ran {name}"
        words = f"{self.name} {what} {plural(len(ran), 'time')} at {clock(at_s)}, for up to {duration(longest_s * 1e9)}"
        return event_row(
            self.name,
            "redis",
            "saving" if name in _SAVES else "slow_command",
            f"{words}, and did nothing else meanwhile",
            at_s=at_s,
            until_s=max(ended_s for ended_s, _ in ran) + 1,
            number=sum(took_s for _, took_s in ran),
            details={"command": name, "times": str(len(ran))},
        )
