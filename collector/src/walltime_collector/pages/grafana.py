"""Where a link of the Grafana boards leads: the page of the same time, filters and comparison."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..errors import BadParameter
from ..format import iso_time, quoted
from . import urls

_FILTERS = ("service", "kind", "host", "version", "environment")
_ALL = ("", "All", "$__all")
_RELATIVE = re.compile(r"now(?:-(\d+)([smhdwMy]))?(?:/[smhdwMyQf]+)?")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "M": 2_592_000, "y": 31_536_000}
_S = 1_000_000_000


def grafana_route() -> Route:
    """The route of `/grafana`, to which a board adds `from`, `to` and its variables (`var-service`)."""
    return Route("/grafana", _redirect)


def _redirect(request: Request) -> Response:
    given = {name: request.query_params.getlist(name) for name in request.query_params}
    return RedirectResponse(page(given, time.time_ns()), 302)


def page(given: Mapping[str, Sequence[str]], now_ns: int) -> str:
    """
    The address of the page: of one transaction, of one kind, of a comparison, or the overview.

    Raises:
        BadParameter: A time cannot be understood.
    """
    if trace := re.search(r"[0-9a-f]{32}", " ".join(given.get("var-trace_id", ())).lower()):
        return urls.transaction(trace[0])
    chosen = {name: _chosen(given, name) for name in _FILTERS}
    several = [_one_of(name, values) for name, values in chosen.items() if len(values) > 1]
    params = {
        "time": _time(" ".join(given.get("from", ())), " ".join(given.get("to", ())), now_ns),
        **{name: values[0] for name, values in chosen.items() if len(values) == 1},
        "annotation": " ".join(given.get("var-filter", ())),
        "where": " and ".join(several),
    }
    if against := "".join(given.get("var-against", ())):  # the board that compares two times or versions
        return urls.diff(params | _usual_side(given, against, now_ns))
    if "service" in params and "kind" in params:
        return urls.kind(params.pop("service"), params.pop("kind"), params)
    return urls.overview(params)


def _usual_side(given: Mapping[str, Sequence[str]], against_s: str, now_ns: int) -> dict[str, str]:
    old, new = (_chosen(given, name) for name in ("old_version", "new_version"))
    if old:
        before = _one_of("version", old)
        return {"when": _one_of("version", new) if new else f"not ({before})", "against_when": before}
    if against_s == "0":
        return {}  # as much time before it
    if not (against_s.isascii() and against_s.isdigit() and len(against_s) <= 9):
        raise BadParameter("against", f"{quoted(against_s)} is no number of seconds", "open the link in a board again")
    ends_ns = [_at_ns(" ".join(given.get(side, ())), now_ns) for side in ("from", "to")]
    now, before = ("..".join(iso_time(ns - earlier_s * _S) for ns in ends_ns) for earlier_s in (0, int(against_s)))
    return {"time": now, "against": before}


def _chosen(given: Mapping[str, Sequence[str]], name: str) -> list[str]:
    return [each for each in given.get(f"var-{name}", ()) if each not in _ALL]


def _one_of(name: str, values: Sequence[str]) -> str:
    return f"{name} in ({', '.join(map(_text, values))})"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _time(start: str, end: str, now_ns: int) -> str:
    ago = _RELATIVE.fullmatch(start)
    if end == "now" and ago and ago[1]:
        in_days = f"{int(ago[1]) * _SECONDS[ago[2]] // _SECONDS['d']}d"
        return f"last {ago[1] + ago[2] if ago[2] in 'smhd' else in_days}"  # the page stays live, as the board
    return f"{iso_time(_at_ns(start, now_ns))}..{iso_time(_at_ns(end, now_ns))}" if start and end else ""


def _at_ns(text: str, now_ns: int) -> int:
    if ago := _RELATIVE.fullmatch(text):
        return now_ns - int(ago[1] or 0) * _SECONDS.get(ago[2], 0) * _S
    if text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text) * 1_000_000
    try:
        return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * _S)
    except ValueError:
        raise BadParameter("time", f"{quoted(text)} is no time of Grafana", "open the link in a board again") from None
