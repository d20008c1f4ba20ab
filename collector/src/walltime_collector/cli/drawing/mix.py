"""The table of `walltime why` by the values of the dimension whose mix changed."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...format import duration, printable, share
from ...query.why.answer import Mix, Why
from ...query.why.wording import signed

_STYLES = {"4xx": "yellow", "5xx": "red", "failed": "red"}


def by_stratum(why: Why, mix: Mix) -> RenderableType:
    """One row per value: what its share and what its time contribute to the difference, and the sums."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("", "share", "mean", "mix", "like with like"):
        table.add_column(heading, justify="right" if heading else "left")
    for each in sorted(mix.strata, key=lambda each: -each.usual_share):
        if each.usual_transactions or each.slow_transactions:
            table.add_row(
                Text(printable(each.value) or "others", _STYLES.get(each.value, ""), overflow="fold"),
                Text(f"{share(each.usual_share)} → {share(each.slow_share)}"),
                Text(f"{_mean(each.usual_mean_ns)} → {_mean(each.slow_mean_ns)}"),
                Text(signed(each.mix_ns)),
                Text(signed(each.like_with_like_ns)),
            )
    total = f"{duration(why.usual.mean_ns)} → {duration(why.slow.mean_ns)}"
    sums = (Text(signed(ns), "bold") for ns in (mix.mix_ns, mix.like_with_like_ns))
    table.add_row(Text("all", "bold"), Text(), Text(total, "bold"), *sums)
    return Padding(table, (0, 0, 0, 2))


def _mean(ns: float | None) -> str:
    return "–" if ns is None else duration(ns)
