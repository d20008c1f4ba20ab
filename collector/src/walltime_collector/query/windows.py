"""Reads windows of time as people write them, and what `why` compares: two windows, or the slowest and the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ..errors import BadParameter
from ..format import iso_time, quoted, since_s

GRAMMAR = "'last 90s' or START..END, each a time ago (5m), an ISO time (2026-11-21T09:30:00Z, UTC) or now"
DEFAULT_SLOWEST_PERCENT = 5.0

_ISO = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.(?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<zone>Z|[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
_LAST = re.compile(r"last\s+(\S.*)", re.IGNORECASE)
_AGO = re.compile(r"(?<!\s)\s+ago$", re.IGNORECASE)
_S = 1_000_000_000


@dataclass(frozen=True)
class Window:
    """Transactions that started in [start_ns, end_ns), Unix nanoseconds."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.start_ns

    def apart(self, other: Window) -> float:
        """The distance of the middles, in lengths of this one."""
        return abs(other.start_ns + other.end_ns - self.start_ns - self.end_ns) / 2 / max(self.length_ns, 1)


@dataclass(frozen=True)
class Comparison:
    """
    Two windows, or a part of one with the rest: then both are equal.

    The part is the slowest `slowest_percent`, or the transactions for which the condition `when` is true.
    """

    slow: Window
    usual: Window
    slowest_percent: float | None = None
    when: str = ""

    @property
    def is_of_one_window(self) -> bool:
        """Whether a part is compared with the rest."""
        return self.slowest_percent is not None or bool(self.when)

    @property
    def whole(self) -> Window:
        """From the first start to the last end."""
        return Window(min(self.slow.start_ns, self.usual.start_ns), max(self.slow.end_ns, self.usual.end_ns))

    def parameters(self) -> dict[str, int]:
        """Of queries/why/_compared.sql, without `when`."""
        return {
            "slow_start_ns": self.slow.start_ns,
            "slow_end_ns": self.slow.end_ns,
            "usual_start_ns": self.usual.start_ns,
            "usual_end_ns": self.usual.end_ns,
        }


def comparison(
    now_ns: int,
    *,
    during: str = "",
    against: str = "",
    slowest: float | None = None,
    since: str = "1h",
    when: str = "",
) -> Comparison:
    """
    Read the options of `why`.

    `during` is compared with `against`, or with the time `since` before it; without `during`, the `slowest` per cent of
    the last `since` with the rest of it. With `when` those that match are compared with the rest of `during`, or of the
    last `since`.

    Raises:
        BadParameter: One of them cannot be understood, or they contradict each other.
    """
    length_ns = _length_s("since", since) * _S
    if when:
        if against or slowest is not None:
            where = "against" if against else "slowest"
            raise BadParameter(where, "those that match are compared with the rest of their time", "leave it out")
        whole = window("during", during, now_ns) if during else Window(now_ns - length_ns, now_ns)
        return Comparison(whole, whole, when=when)
    if not during:
        if against:
            raise BadParameter("against", "it says what to compare with, but not what", "say --during as well")
        percent = DEFAULT_SLOWEST_PERCENT if slowest is None else slowest
        if not 0 < percent <= 50:
            raise BadParameter("slowest", f"{percent:g} is not a share to look at", "use per cents from 0.01 to 50")
        whole = Window(now_ns - length_ns, now_ns)
        return Comparison(whole, whole, percent)
    if slowest is not None:
        raise BadParameter("slowest", "a comparison is by time or by percentile", "leave out --slowest or --during")
    slow = window("during", during, now_ns)
    usual = window("against", against, now_ns) if against else Window(max(slow.start_ns - length_ns, 0), slow.start_ns)
    if slow.start_ns < usual.end_ns and usual.start_ns < slow.end_ns:
        raise BadParameter("against", "the two times overlap", "a transaction can be on one side only: move an end")
    return Comparison(slow, usual)


def window(where: str, text: str, now_ns: int) -> Window:
    """
    Read one window of time, written as in `GRAMMAR`.

    Raises:
        BadParameter: It is not one, ends before it starts, or has not begun yet.
    """
    written = text.strip()
    if last := _LAST.fullmatch(written):
        return Window(now_ns - _length_s(where, last[1]) * _S, now_ns)
    start, dots, end = written.partition("..")
    if not dots or not start.strip():
        raise _misunderstood(where, text)
    parsed = Window(moment(where, start, now_ns), moment(where, end or "now", now_ns))
    if parsed.start_ns >= parsed.end_ns:
        what_now = "write the earlier time first, as in 5m..1m"
        raise BadParameter(where, f"{quoted(text)} ends before it starts", what_now)
    if parsed.start_ns >= now_ns:
        raise BadParameter(where, f"{quoted(text)} has not begun yet", "times without a zone are UTC")
    return parsed


def moment(where: str, text: str, now_ns: int) -> int:
    """
    Read one time, Unix nanoseconds: a time ago, an ISO time or now.

    Raises:
        BadParameter: It is none.
    """
    written = _AGO.sub("", text.strip())
    if written.lower() == "now":
        return now_ns
    if iso := _ISO.fullmatch(written):
        try:
            return _unix_ns(iso)
        except ValueError as error:
            raise BadParameter(where, f"there is no time {quoted(text)}", f"write {GRAMMAR}") from error
    return now_ns - _length_s(where, written) * _S


def between(window: Window) -> str:
    """`between 2026-11-23T05:46:26Z and 2026-11-23T05:52:26Z`, for messages."""
    return f"between {iso_time(window.start_ns)[:19]}Z and {iso_time(window.end_ns)[:19]}Z"


def written(window: Window) -> str:
    """The window as START..END, which `window` reads."""
    return "..".join(re.sub(r"\.?0*Z$", "Z", iso_time(ns)) for ns in (window.start_ns, window.end_ns))


def _unix_ns(iso: re.Match[str]) -> int:
    time = iso["time"] or "00:00"
    zone = (iso["zone"] or "Z").upper().replace("Z", "+0000").replace(":", "")
    at = datetime.strptime(f"{iso['date']} {time}{':00' * (time.count(':') == 1)} {zone}", "%Y-%m-%d %H:%M:%S %z")
    seconds = (at - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(seconds=1)
    if not 0 <= seconds < 9_000_000_000:
        raise ValueError("DateTime64 does not reach there")
    return seconds * _S + int((iso["fraction"] or "0").ljust(9, "0"))


def _length_s(where: str, text: str) -> int:
    try:
        return since_s(text)
    except ValueError:
        if where == "since":
            what = f"{quoted(text)} is not a time to look back"
            raise BadParameter(where, what, "write 90s, 15m, 2h or 7d (at most 400d)") from None
        raise _misunderstood(where, text) from None


def _misunderstood(where: str, text: str) -> BadParameter:
    return BadParameter(where, f"{quoted(text)} is not a window of time", f"write {GRAMMAR}")
