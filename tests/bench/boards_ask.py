"""Asks what the boards of dashboards/generated ask, as Grafana's plugin does, and measures it."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx

from tests.bench.process_usage import usage
from tests.bench.visible import ask
from tests.dashboards.grafana import Range, dashboards, expand, is_shared, panels
from tests.servers import Collector

PANEL_MS: Final = 1_000.0
BOARD_S: Final = 3.0
VIEWERS_SHARE: Final = 0.20
"""The bars: of each panel, of each board, and of what the viewers use of a core."""
VIEWERS: Final = 10
REFRESH_S: Final = 30.0
AT_ONCE: Final = 6
"""Connections of a browser to one server over HTTP/1.1."""
WIDTH_PX: Final = 1_600
MOST_CHARS: Final = 160
_TOKEN: Final = "bench"
_STEPS_S: Final = (
    *((1.5, 1), (3.5, 2), (7.5, 5), (12.5, 10), (17.5, 15), (25, 20), (45, 30), (90, 60), (210, 120), (450, 300)),
    *((750, 600), (1_050, 900), (1_500, 1_200), (2_700, 1_800), (5_400, 3_600), (9_000, 7_200), (16_200, 10_800)),
    *((32_400, 21_600), (86_400, 43_200), (604_800, 86_400)),
)
"""Grafana's roundInterval: a length in seconds below the first becomes the second."""


@dataclass(frozen=True)
class PanelTook:
    """A panel; CPU is of collector and database together."""

    panel: str
    interval_s: int
    alone_ms: float
    cpu_ms: float
    rows: int
    error: str


@dataclass(frozen=True)
class BoardTook:
    """A board, and its panels one by one."""

    board: str
    hours: float
    queries: int
    first_s: float
    again_s: float
    cpu_s: float
    """Of the second time."""
    slowest_s: float
    """The panel that took longest beside the others, the first time."""
    errors: int
    """Answers that were errors, of both times."""
    panels: Sequence[PanelTook]


@dataclass(frozen=True)
class Viewed:
    """What viewers of all boards in turn cost, without what the collector uses idle."""

    viewers: int
    queries: int
    errors: int
    seconds: float
    cpu_ms: float
    share: float


@dataclass
class Plugin:
    """Grafana with its plugin, in front of a collector."""

    collector: Collector
    end_s: int
    length_s: float
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        url = "http://" + re.findall(r"clickhouse=(\S+)", self.collector.ready)[0]
        limits = httpx.Limits(max_connections=64)
        # without TLS there is nothing to verify; reading the authorities takes 37 ms
        self.client = httpx.Client(base_url=url, auth=("grafana", _TOKEN), verify=False, timeout=120, limits=limits)  # noqa: S501

    def ask(self, sql: str, interval_s: int, chosen: Mapping[str, Any], later_s: int = 0) -> tuple[int, str]:
        """Send one query; how many rows the answer has, and the beginning of the error if it is one."""
        end_s = self.end_s + later_s
        statement = expand(sql, "4", Range(end_s - int(self.length_s), end_s, interval_s), chosen)
        params = {"default_format": "Native", "database": "walltime"}
        response = self.client.post("/", params=params, content=statement)
        if response.status_code != 200:
            return 0, response.text[:MOST_CHARS]
        return int(json.loads(response.headers["X-ClickHouse-Summary"])["result_rows"]), ""

    def interval_s(self, panel: Mapping[str, Any]) -> int:
        """What Grafana makes of the panel's width in the time shown, at most `maxDataPoints` wide."""
        length_s = self.length_s / min(WIDTH_PX * panel["gridPos"]["w"] / 24, panel.get("maxDataPoints") or WIDTH_PX)
        rounded_s = next((step for below, step in _STEPS_S if length_s < below), _STEPS_S[-1][1])
        least = re.fullmatch(r"(\d+)s", panel.get("interval") or "1s")
        return max(rounded_s, int(least[1]) if least else 1)

    def cpu_s(self) -> float:
        """Of the collector's processes so far."""
        return usage(self.collector.process.pid).cpu_s


@contextmanager
def started(folder: Path, length_s: float) -> Iterator[Plugin]:
    """A collector that has just been started."""
    settings = {"clickhouse_http": "127.0.0.1:0", "clickhouse_http_token": _TOKEN}
    with Collector(folder, **settings) as collector:
        ((end_s,),) = ask(collector, "SELECT toUnixTimestamp(max(minute)) + 30 FROM transactions_1m")
        plugin = Plugin(collector, int(end_s), length_s)
        with plugin.client:
            yield plugin


def measure(folder: Path, length_s: float, only: str = "") -> Iterator[BoardTook]:
    """Every board with the time shown so long."""
    return (_board(folder, length_s, uid, board) for uid, board in dashboards().items() if re.search(only, uid))


def _board(folder: Path, length_s: float, uid: str, board: Mapping[str, Any]) -> BoardTook:
    chosen = _chosen(board)
    with started(folder, length_s) as plugin:
        loads = []
        for later_s in (0, 60):  # the answers of the first time are of another time than those of the second
            cpu_s, started_s = plugin.cpu_s(), time.perf_counter()
            asked = _load(plugin, board, chosen, later_s)
            loads.append((time.perf_counter() - started_s, plugin.cpu_s() - cpu_s, asked))
    with started(folder, length_s) as plugin:
        took = [_alone(plugin, panel, chosen) for panel in panels(board) if not is_shared(panel)]
    (first_s, _, first), (again_s, cpu_s, again) = loads
    return BoardTook(
        uid,
        length_s / 3_600,
        queries=len(first),
        first_s=first_s,
        again_s=again_s,
        cpu_s=cpu_s,
        slowest_s=max(each_s for each_s, _ in first),
        errors=sum(bool(error) for _, error in (*first, *again)),
        panels=took,
    )


def _chosen(board: Mapping[str, Any]) -> dict[str, Any]:
    """The values with which its variables start."""
    starting = (each for each in board["templating"]["list"] if each["type"] != "datasource")
    return {each["name"]: each["current"]["value"] for each in starting}


def _shown(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The panels that Grafana asks for when it opens the board: not those of closed rows, and each answer once."""
    return [panel for panel in board["panels"] if panel.get("targets") and not is_shared(panel)]


def _load(
    plugin: Plugin, board: Mapping[str, Any], chosen: Mapping[str, Any], later_s: int = 0
) -> list[tuple[float, str]]:
    """Ask for all that a board shows at first; how many seconds each query took, and its error."""

    def timed(sql: str, interval_s: int) -> tuple[float, str]:
        started_s = time.perf_counter()
        _, error = plugin.ask(sql, interval_s, chosen, later_s)
        return time.perf_counter() - started_s, error

    took = [timed(*each) for each in _variables(board)]
    with ThreadPoolExecutor(AT_ONCE) as browser:
        return [*took, *browser.map(timed, *zip(*_asked(plugin, board), strict=True))]


def _variables(board: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(each["query"], 60) for each in board["templating"]["list"] if each["type"] == "query"]


def _asked(plugin: Plugin, board: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The queries of the panels that Grafana draws at first, and how far apart their points are; of the marks."""
    drawn = [(each["rawSql"], plugin.interval_s(panel)) for panel in _shown(board) for each in panel["targets"]]
    layers = [each["target"]["rawSql"] for each in board["annotations"]["list"] if "rawSql" in each.get("target", {})]
    return [*drawn, *((sql, 60) for sql in layers)]


def _alone(plugin: Plugin, panel: Mapping[str, Any], chosen: Mapping[str, Any]) -> PanelTook:
    interval_s = plugin.interval_s(panel)
    cpu_s, started_s = plugin.cpu_s(), time.perf_counter()
    answers = [plugin.ask(target["rawSql"], interval_s, chosen) for target in panel["targets"]]
    alone_ms, cpu_ms = (time.perf_counter() - started_s) * 1000, (plugin.cpu_s() - cpu_s) * 1000
    rows, error = sum(rows for rows, _ in answers), next((error for _, error in answers if error), "")
    return PanelTook(panel["title"] or panel["type"], interval_s, alone_ms, cpu_ms, rows, error)


def view(folder: Path, seconds: float, only: str = "", length_s: float = 3_600) -> Viewed:
    """Ten viewers, each with the next board, who refresh every 30 s; each at another second."""
    boards = [board for uid, board in dashboards().items() if re.search(only, uid)]
    errors: list[str] = []
    with started(folder, length_s) as plugin:
        for board in boards:  # first views are measured elsewhere
            _load(plugin, board, _chosen(board))
        before_s = plugin.cpu_s()
        time.sleep(seconds / 4)
        idle_share = (plugin.cpu_s() - before_s) / (seconds / 4)
        began_s, before_s = time.monotonic(), plugin.cpu_s()

        def viewer(number: int, board: Mapping[str, Any]) -> None:
            for turn in itertools.count():
                next_s = began_s + REFRESH_S * (turn + number / VIEWERS)
                if next_s >= began_s + seconds:
                    return
                time.sleep(max(next_s - time.monotonic(), 0))
                ask = partial(plugin.ask, chosen=_chosen(board), later_s=int(time.monotonic() - began_s))
                # as the time has changed, Grafana asks for the values of variables too
                asked = (*_variables(board), *_asked(plugin, board))
                with ThreadPoolExecutor(AT_ONCE) as browser:
                    errors.extend(error for _, error in browser.map(ask, *zip(*asked, strict=True)))

        people = [
            threading.Thread(target=viewer, args=(number, board))
            for number, board in zip(range(VIEWERS), itertools.cycle(boards), strict=False)
        ]
        for each in people:
            each.start()
        for each in people:
            each.join()
        took_s = max(time.monotonic() - began_s, seconds)
        used_s = plugin.cpu_s() - before_s - idle_share * took_s
    failed, asked = sum(map(bool, errors)), len(errors)
    return Viewed(VIEWERS, asked, failed, took_s, used_s * 1000 / asked, used_s / took_s)
