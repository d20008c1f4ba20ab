"""The table of `walltime why` by HTTP status."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...format import duration, share
from ...query.why.answer import Why
from ...query.why.statuses import like_with_like_ns, mix_ns
from ...query.why.wording import signed

_STYLES = {"4xx": "yellow", "5xx": "red", "failed": "red"}


def by_status(why: Why) -> RenderableType:
    """One row per status class: what its share and what its time contribute to the difference, and the sums."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("", "share", "mean", "mix", "like with like"):
        table.add_column(heading, justify="right" if heading else "left")
    for each in why.statuses:
        table.add_row(
            Text(each.status, _STYLES.get(each.status, "")),
            Text(f"{share(each.usual_share)} → {share(each.slow_share)}"),
            Text(f"{_mean(each.usual_mean_ns)} → {_mean(each.slow_mean_ns)}"),
            Text(signed(each.mix_ns)),
            Text(signed(each.like_with_like_ns)),
        )
    sums = (mix_ns(why.statuses), like_with_like_ns(why.statuses))
    total = f"{duration(why.usual.mean_ns)} → {duration(why.slow.mean_ns)}"
    table.add_row(Text("all", "bold"), Text(), Text(total, "bold"), *(Text(signed(ns), "bold") for ns in sums))
    return Padding(table, (0, 0, 0, 2))


def _mean(ns: float | None) -> str:
    return "–" if ns is None else duration(ns)
