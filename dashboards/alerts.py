"""Examples of alert rules, as Grafana 9.5 and later provisions them: queries/alerts/*.sql → provisioning/alerting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from .source import PLUGIN, Format, target, words

DATASOURCE_UID = "walltime"
"""Of provisioning/datasources; rules have no variables."""
HEAD = "# Made by dashboards/alerts.py; copy it into Grafana's folder provisioning/alerting.\n"


@dataclass(frozen=True)
class Rule:
    """Fires when the number of a row of queries/alerts/<name>.sql is above `limit` for so long; one alert a row."""

    name: str
    limit: float
    lasting: str
    severity: str
    summary: str
    """A template of Grafana's; the labels are the query's texts."""


RULES = (
    Rule(
        "p95", 2, "5m", "warning", "{{ $labels.service }}, {{ $labels.kind }}: p95 is {{ $values.A }} times its usual"
    ),
    Rule(
        "errors", 0.05, "5m", "critical", "{{ $labels.service }}, {{ $labels.kind }}: a share of {{ $values.A }} fails"
    ),
    Rule("hit_ratio", 0.2, "5m", "warning", "{{ $labels.server }}: its hit ratio fell by {{ $values.A }}"),
    Rule("silent", 15, "1m", "critical", "{{ $labels.service }} has sent nothing for {{ $values.A }} minutes"),
    Rule("lag", 120, "2m", "critical", "The collector on {{ $labels.host }}: data waits for {{ $values.A }} s"),
    Rule("incidents", 0, "0s", "warning", "{{ $labels.service }}, {{ $labels.kind }}: not as usual"),
)


def document() -> str:
    """The file of rules."""
    rules = [_rule(each) for each in RULES]
    group = {"orgId": 1, "name": "walltime", "folder": "Walltime", "interval": "1m", "rules": rules}
    written = {"apiVersion": 1, "groups": [group]}
    return HEAD + yaml.dump(written, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _rule(rule: Rule) -> dict[str, Any]:
    title, about = words(f"alerts/{rule.name}")
    source = {"type": PLUGIN, "uid": DATASOURCE_UID}
    asked = target(f"alerts/{rule.name}", Format.TABLE) | {"datasource": source}
    condition = {
        "refId": "B",
        "type": "threshold",
        "expression": "A",
        "datasource": {"type": "__expr__", "uid": "__expr__"},
        "conditions": [{"evaluator": {"type": "gt", "params": [rule.limit]}}],
    }
    recent = {"relativeTimeRange": {"from": 600, "to": 0}}
    return {
        "uid": f"walltime-{rule.name.replace('_', '-')}",
        "title": title,
        "condition": "B",
        "for": rule.lasting,
        "noDataState": "OK",  # no row: nothing to say
        "execErrState": "Error",
        "labels": {"severity": rule.severity},
        "annotations": {"summary": rule.summary, "description": about},
        "data": [
            {"refId": "A", "datasourceUid": DATASOURCE_UID, **recent, "model": asked},
            {"refId": "B", "datasourceUid": "__expr__", **recent, "model": condition},
        ],
    }


class _Dumper(yaml.SafeDumper):
    """Statements over several lines, nothing by reference."""

    def ignore_aliases(self, _: object) -> bool:
        """Two equal parts are written twice."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
