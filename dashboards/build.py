"""Writes generated/*.json and the alert rules, what Grafana is provisioned with: `make dashboards`."""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from pathlib import Path

from . import alerts, boards

GENERATED = Path(__file__).with_name("generated")
ALERTS = GENERATED.with_name("provisioning") / "alerting" / "walltime.yaml"


def documents() -> dict[str, str]:
    """File name → JSON of every board: BOARD of every module of boards/."""
    modules = [import_module(f"{boards.__name__}.{each.name}") for each in pkgutil.iter_modules(boards.__path__)]
    return {f"{module.BOARD['uid']}.json": _document(module.BOARD) for module in modules}


def main() -> None:
    written = documents()
    for old in GENERATED.glob("*.json"):
        if old.name not in written:
            old.unlink()
    for name, document in written.items():
        (GENERATED / name).write_text(document, "utf-8")
    ALERTS.write_text(alerts.document(), "utf-8")


def _document(board: object) -> str:
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
