"""Formats numbers, durations and text for the commands and the log, and sanitizes text from outside."""

from __future__ import annotations

import re
import shlex
from datetime import datetime, timedelta, timezone

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c|$)"  # titles, links and other strings for the terminal itself
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
_PLAIN_WORD = re.compile(r"[0-9][\w:.+-]*", re.ASCII)
_SINCE = re.compile(r"([0-9]{1,9})\s*(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
LONGEST_SINCE_S = 400 * 86_400
"""The longest retention of any table."""


def duration(ns: float) -> str:
    """A duration with three significant digits: `412 µs`, `12.4 ms`, `1.02 s`, `5,130 s`."""
    sign, size = ("−", -ns) if ns < 0 else ("", ns)
    if size == 0:
        return "0 ms"
    for scale, unit in ((1e3, "µs"), (1e6, "ms")):
        if float(f"{size / scale:.3g}") < 1000:
            return f"{sign}{_three_digits(size / scale)} {unit}"
    return f"{sign}{_three_digits(size / 1e9)} s"


def uncertain(ns: float, error_ns: float) -> str:
    """An estimate with its standard error, in one unit, to two digits of the error: `30 ± 17 ms`, `9.90 ± 0.31 s`."""
    scale, unit = next((each for each in ((1e9, "s"), (1e6, "ms")) if max(abs(ns), error_ns) >= each[0]), (1e3, "µs"))
    whole, _, exponent = f"{error_ns / scale:.1e}".partition("e")
    decimals = max(1 - int(exponent), 0) if float(whole) else 0
    return f"{ns / scale:,.{decimals}f} ± {error_ns / scale:,.{decimals}f} {unit}".replace("-", "−")


def milliseconds(ns: float) -> str:
    """A duration in one fixed unit, to the microsecond, for columns that add up: `1,021.304`."""
    return f"{ns / 1e6:,.3f}".replace("-", "−")


def count(number: float) -> str:
    """A count or a mean: `12,345`, `9.8`, `0.04`."""
    if number == 0 or number >= 100 or float(number).is_integer():
        return f"{number:,.0f}"
    if number < 0.001:
        return "<0.001"
    return f"{number:.1g}" if number < 0.1 else f"{number:.1f}".removesuffix(".0")


def size(number_bytes: float) -> str:
    """A size in bytes: `512 B`, `12.4 KiB`, `1.02 GiB`."""
    scaled, unit = float(number_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if scaled < 1000:
            break
        scaled, unit = scaled / 1024, larger
    return f"{scaled:.0f} B" if unit == "B" else f"{_three_digits(scaled)} {unit}"


def iso_time(ns: int) -> str:
    """Unix nanoseconds as an ISO time in UTC, to the nanosecond."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def unix_ns(iso: str) -> int:
    """The inverse of `iso_time`."""
    return int(datetime.fromisoformat(f"{iso[:19]}+00:00").timestamp()) * 1_000_000_000 + int(iso[20:29])


def time_span(since: str, until: str) -> str:
    """
    Two ISO times: `2026-11-23 23:39:26 … 00:06:26 UTC`.

    Of less than a day, only the start has a date, so that it is as long around midnight as at noon.
    """
    start, end = since[:19].replace("T", " "), until[:19].replace("T", " ")
    is_short = datetime.fromisoformat(end) - datetime.fromisoformat(start) < timedelta(days=1)
    return f"{start} … {end[11:] if is_short else end} UTC"


def age(seconds: float) -> str:
    """A rounded time in one unit: `45 s`, `17 min`, `5 h`, `3 days`."""
    for length, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def share(part: float) -> str:
    """A fraction of one as a percentage: `62.1 %`, `<0.1 %`, `100 %`."""
    if 0 < part < 0.001:
        return "<0.1 %"
    return f"{part:.0%}".replace("%", " %") if part in (0, 1) else f"{part:.1%}".replace("%", " %")


def percent(part: float) -> str:
    """A fraction of one in a sentence: `10 %`, `13.2 %`."""
    return f"{100 * part:.3g} %"


def ratio(part: int, whole: int) -> str:
    """A hit ratio: `93 %`; only exact ones are `100 %` and `0 %`."""
    percent = 100 * part / whole
    if part not in (0, whole):
        percent = min(max(percent, 0.1), 99.9)
    return f"{percent:.0f} %" if percent in (0, 100) or 1 <= percent < 99 else f"{percent:.1f} %"


def plural(number: float, one: str, many: str = "") -> str:
    """`1 error`, `3 errors`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """
    Sanitize text from outside for a terminal, on one line.

    Escape sequences are removed; control, bidirectional and other invisible characters become one space.
    """
    text = _ESCAPES.sub(" ", text)
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def quoted(text: str) -> str:
    """Text from outside for an error message: in quotes, sanitized, at most 80 characters."""
    return repr(printable(text)[:80])


def shell_quoted(text: str) -> str:
    """
    Text as one word for a POSIX shell, which reads back exactly this text, on one line of printable letters.

    What a terminal would not show as it is, as a line break, is written by printf; at the end of the text the shell
    removes line breaks.
    """
    if _PLAIN_WORD.fullmatch(text):
        return text
    if printable(text) == text:
        return f"'{text}'" if "'" not in text else shlex.quote(text)
    encoded = text.encode("utf-8", "replace")
    octal = "".join(chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\{byte:03o}" for byte in encoded)
    return f"\"$(printf '{octal}')\""


def shell_command(command: str, *arguments: str, **options: str | int) -> str:
    """A command to copy into a shell; empty options are left out."""
    named = [f"--{name} {shell_quoted(str(value))}" for name, value in options.items() if value != ""]
    words = [shell_quoted(each) for each in arguments]
    if any(each.startswith("-") for each in arguments):  # it would be taken for an option
        return " ".join([command, *named, "--", *words])
    return " ".join([command, *words, *named])


def since_s(text: str) -> int:
    """
    Parse a length of time, in seconds: `90s`, `15m`, `2h`, `7d`.

    Raises:
        ValueError: It is none, or zero, or longer than any retention.
    """
    match = _SINCE.fullmatch(text.strip())
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not 0 < seconds <= LONGEST_SINCE_S:
        raise ValueError(f"{quoted(text)} is not a length of time; write 90s, 15m, 2h or 7d (at most 400d)")
    return seconds


def _three_digits(number: float) -> str:
    rounded = float(f"{number:.3g}")
    if rounded >= 1000:
        return f"{number:,.0f}"
    return f"{rounded:.{0 if rounded >= 100 else 1 if rounded >= 10 else 2}f}"
