"""The part of a server's page that is the server's own: what it says of itself, beside who keeps it busy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...format import shell_command
from ...query import other_side
from ...query.components import family
from ...query.other_side import Observed
from ...query.scope import Steps
from ...query.servers.status import active, cache_status, mysql_status
from ...query.windows import Window
from ..charts import Chart
from ..drawing.server_load import active_chart, load_charts
from ..request import PageRequest

_SYSTEMS = {"mysql": "mysql", "memcache": "memcached", "redis": "redis"}
"""By family of components: as the options name it."""
_URLS = {"mysql": "mysql://walltime@", "memcached": "", "redis": "redis://"}
_PLACE = re.compile(r"\w[\w.-]*(:\d{1,5})?|\[[\da-fA-F:.]+\](:\d{1,5})?|/[\w./-]+", re.ASCII)


@dataclass(frozen=True)
class ObservedPart:
    """What a database or cache says of itself."""

    option: str
    """The command that observes it; empty where it answered in this time, or has no address to ask."""
    is_asked: bool
    """Whether the collector asks it now, though it has not answered in this time."""
    version: str
    uptime_s: int
    """When it answered last."""
    charts: tuple[Chart, ...]
    """The most telling first."""
    quiet: tuple[str, ...]
    """What did not happen in this time, in place of its chart."""


def observed_part(request: PageRequest, component: str, address: str, steps: Steps) -> ObservedPart | None:
    """
    None for what is no database or cache.

    Args:
        steps: Of the page's other charts.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    system = _SYSTEMS.get(family(component))
    if system is None:
        return None
    engine, scope = request.engine, request.scope
    server = other_side.observed(engine, address, Window(steps.start_ns, steps.at_ns(steps.count)))
    ask = mysql_status if system == "mysql" else cache_status
    status = ask(engine, server, steps) if server is not None else None
    if status is None:
        return _silent(request, system, address)
    charts, quiet = load_charts(system, family(component), status, steps)
    if system == "mysql":
        kinds, seconds = active(engine, scope, steps, system, address), steps.seconds(scope.window, request.now_ns)
        charts.insert(0, active_chart(kinds, seconds, status, steps))
    version = _named(system, status.whole.version)
    return ObservedPart("", True, version, status.whole.uptime_s, tuple(charts), quiet)


def option(system: str, address: str) -> str:
    """What observes the server of this address; empty when it is none that can be asked."""
    if not _PLACE.fullmatch(address):
        return ""
    url = f"{_URLS[system]}?socket={address}" if address[0] == "/" else f"{_URLS[system]}{address}"
    named = f"{address}={url}" if address[0] == "[" else url  # of an IPv6 address, a URL gives no name
    return shell_command("walltime serve", **{system: named})


def _silent(request: PageRequest, system: str, address: str) -> ObservedPart:
    known = [Observed(name, system) for name in request.sources.health.report()["servers"]]
    is_asked = other_side.meant(address, known) is not None
    return ObservedPart("" if is_asked else option(system, address), is_asked, "", 0, (), ())


def _named(system: str, version: str) -> str:
    """`MySQL 9.7.4`, `MariaDB 10.11.14`."""
    name = {"mysql": "MariaDB" if "MariaDB" in version else "MySQL", "redis": "Redis"}.get(system, system)
    return f"{name} {version.split('-', 1)[0]}"
