"""Write the parts of the documentation that come from code: `python -m tests.docs.generated`."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import walltime
from walltime.settings.settings import Settings
from walltime_collector.config.settings import Settings as CollectorSettings

from tests.docs.site import ROOT
from tests.docstrings import documented_parameters

_HEAD = "| setting | variable | default | meaning |\n|---|---|---|---|\n"


def _shown(default: object) -> str:
    if isinstance(default, tuple):
        return ", ".join(f"`{each}`" for each in default) or "none"
    if isinstance(default, float):
        return f"{default:g}"
    if isinstance(default, Path) and default.is_relative_to(Path.home()):
        default = f"~/{default.relative_to(Path.home())}"
    return str(default) if isinstance(default, (bool, int)) else f"`{default}`" if default else "none"


def sdk_settings() -> str:
    """The table of the SDK's settings, with the docstring of `walltime.configure`."""
    meanings = documented_parameters(walltime.configure)
    rows = []
    for each in fields(Settings):
        variables = ", ".join(f"`{variable}`" for variable in each.metadata["variables"])
        default = _shown(getattr(Settings(), each.name))
        rows.append(f"| `{each.name}` | {variables} | {default} | {meanings[each.name]} |\n")
    return _HEAD + "".join(rows)


def collector_settings() -> str:
    """The table of the collector's settings, with the text below each field; `crashpoint` is for tests."""
    (settings,) = ast.parse(inspect.getsource(CollectorSettings)).body
    assert isinstance(settings, ast.ClassDef)
    rows = []
    for field, text in zip(settings.body, settings.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            name, meaning = ast.unparse(field.target), " ".join(ast.literal_eval(text.value).split())
            if name == "crashpoint":
                continue
            default = CollectorSettings.model_fields[name].get_default(call_default_factory=True)
            rows.append(f"| `{name}` | `WALLTIME_{name.upper()}` | {_shown(default)} | {meaning} |\n")
    return _HEAD + "".join(rows)


TRANSACTION_BYTES, SAMPLED_BYTES, CALL_BYTES = 89, 5.2, 31
TRANSACTION_US, CALL_US, INSERT_MS, SEGMENT_MB, SENT_BYTES = 40, 12, 103, 20, 1_400
KEPT_SHARE, CALLS = 0.02, 20
"""Measured (docs/measurements.md) but the last line: the application of the example."""


def sizing() -> str:
    """Disk and CPU for 1, 10 and 100 thousand transactions a second, from the measured figures."""
    columns = []
    for rate in (1_000, 10_000, 100_000):
        calls = rate * KEPT_SHARE * CALLS
        day = 86_400
        transactions_gb = rate * day * (TRANSACTION_BYTES + SAMPLED_BYTES) / 1e9
        calls_gb = calls * day * CALL_BYTES / 1e9
        network_mb = (rate * SENT_BYTES + calls * 208) / 1e6
        inserts = max(1.0, network_mb / SEGMENT_MB)
        cores = (rate * TRANSACTION_US + calls * CALL_US) / 1e6 + inserts * INSERT_MS / 1e3
        columns.append(
            (
                f"{calls:,.0f} a second",
                f"{network_mb:,.1f} MB/s",
                f"{transactions_gb:,.0f} GB",
                f"{calls_gb:,.1f} GB",
                f"{transactions_gb * 30:,.0f} GB",
                f"{calls_gb * 7:,.0f} GB",
                f"{transactions_gb * 30 + calls_gb * 7:,.0f} GB",
                f"{rate * TRANSACTION_US / 1e6:.2g} cores",
                f"{calls * CALL_US / 1e6:.2g} cores",
                f"{inserts * INSERT_MS / 1e3:.2g} cores",
                f"{cores:.1f} cores",
            )
        )
    labels = (
        f"kept calls: rate × {KEPT_SHARE:.0%} × {CALLS}".replace("%", " %"),
        f"received: rate × {SENT_BYTES:,} bytes + calls × 208 bytes",
        f"bills a day: rate × 86,400 s × ({TRANSACTION_BYTES} + {SAMPLED_BYTES}) bytes",
        f"kept calls a day: calls × 86,400 s × {CALL_BYTES} bytes",
        "bills for 30 days",
        "kept calls for 7 days",
        "**disk in all**",
        f"CPU of bills: rate × {TRANSACTION_US} µs",
        f"CPU of kept calls: calls × {CALL_US} µs",
        f"CPU of INSERTs: {INSERT_MS} ms each, one a second or one for each {SEGMENT_MB} MB",
        "**CPU in all**, merges included, without queries",
    )
    head = "| | 1,000 a second | 10,000 a second | 100,000 a second |\n|---|---|---|---|\n"
    return head + "".join(
        f"| {label} | {' | '.join(cells)} |\n" for label, *cells in zip(labels, *columns, strict=True)
    )


GENERATED: dict[str, tuple[str, Callable[[], str]]] = {
    "sdk settings": ("settings.md", sdk_settings),
    "collector settings": ("settings.md", collector_settings),
    "sizing": ("sizing.md", sizing),
}


def replaced(text: str, name: str, part: str) -> str:
    """Return the page with the part between its two comments replaced."""
    pattern = rf"(<!-- generated: {name} -->\n\n).*?(<!-- end -->)"
    text, count = re.subn(pattern, lambda found: f"{found[1]}{part}\n{found[2]}", text, flags=re.DOTALL)
    assert count == 1, name
    return text


if __name__ == "__main__":
    for name, (page, make) in GENERATED.items():
        file = ROOT / "docs" / page
        file.write_text(replaced(file.read_text(), name, make()))
