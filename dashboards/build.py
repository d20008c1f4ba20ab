"""Writes generated/*.json, what Grafana is provisioned with: `make dashboards`."""

from __future__ import annotations

import json
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from . import response_time, servers, transaction

GENERATED = Path(__file__).with_name("generated")


def documents() -> dict[str, str]:
    """File name → JSON of every dashboard."""
    boards = [each.build().build() for each in (response_time, transaction, servers)]
    return {f"{board.uid}.json": _document(board) for board in boards}


def main() -> None:
    for name, document in documents().items():
        (GENERATED / name).write_text(document, "utf-8")


def _document(board: Dashboard) -> str:
    for number, panel in enumerate(board.panels or [], start=1):
        panel.id_val = number
    document = json.loads(json.dumps(board, cls=JSONEncoder))
    for variable in document["templating"]["list"]:
        # The SDK gives every variable the same id. Grafana 9.4 stores variables by id; without one it uses the name.
        del variable["id"]
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
