"""
Messages about incidents, in the formats of Alertmanager and Slack.

Alertmanager's is that of its webhook receivers, version 4: https://prometheus.io/docs/alerting/latest/configuration/,
"webhook_config". Slack's is that of incoming webhooks: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from ...format import iso_time, printable
from .current import Current
from .watch import Event

Format = Literal["alertmanager", "slack"]
_NO_END = "0001-01-01T00:00:00Z"
"""Alertmanager's zero time: the alert has not ended."""
_MOST_EVENTS = 20
"""Of one message to Slack; the others are a number."""
_MOST_CHARS = 2_500
"""Slack accepts 3,000 in a section."""
_S = 1_000_000_000
_WORDS = {"opened": "Opened", "severity": "Now critical", "closed": "Closed"}
_SYMBOLS = {"opened": ":warning:", "severity": ":rotating_light:", "closed": ":white_check_mark:"}


def message(format_name: Format, events: Sequence[Event], pages_url: str) -> bytes:
    """
    The body of a POST about the events of one look.

    Args:
        pages_url: Where the pages are, without a slash at the end.
    """
    document = _alertmanager(events, pages_url) if format_name == "alertmanager" else _slack(events, pages_url)
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _alertmanager(events: Sequence[Event], pages_url: str) -> dict[str, Any]:
    alerts = [_alert(event, pages_url) for event in events]
    is_firing = any(each["status"] == "firing" for each in alerts)
    common = {"alertname": "WalltimeIncident"}
    return {
        "version": "4",
        "groupKey": '{}:{alertname="WalltimeIncident"}',
        "truncatedAlerts": 0,
        "status": "firing" if is_firing else "resolved",
        "receiver": "walltime",
        "groupLabels": common,
        "commonLabels": common,
        "commonAnnotations": {},
        "externalURL": pages_url,
        "alerts": alerts,
    }


def _alert(event: Event, pages_url: str) -> dict[str, Any]:
    incident = event.incident
    return {
        "status": "firing" if incident.is_open else "resolved",
        "labels": {
            "alertname": "WalltimeIncident",
            "service": incident.kind.service,
            "kind": incident.kind.name,
            "severity": incident.severity,
            "incident": incident.id,
        },
        "annotations": {
            "summary": printable(incident.headline),
            "description": "\n".join(map(printable, incident.sentences or (incident.headline,))),
            "explained": _time(incident.explained_s) if incident.explained_s else "",
        },
        "startsAt": _time(incident.started_s),
        "endsAt": _NO_END if incident.is_open else _time(incident.ended_s),
        "generatorURL": _page(incident, pages_url),
        "fingerprint": incident.id,
    }


def _slack(events: Sequence[Event], pages_url: str) -> dict[str, Any]:
    texts = [_line(event, pages_url) for event in events[:_MOST_EVENTS]]
    if more := len(events) - len(texts):
        texts.append(f"and {more} more: <{pages_url}/incidents|all incidents>")
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": each, "verbatim": True}} for each in texts]
    first = [f"{_WORDS[what]}: {_escaped(each.headline)}" for what, each in events[:3]]
    return {
        "text": "\n".join(first + [f"and {len(events) - 3} more"] * (len(events) > 3)),
        "blocks": blocks,
    }


def _line(event: Event, pages_url: str) -> str:
    incident = event.incident
    sentences = "\n".join(incident.sentences[:4] or (incident.headline,))
    link = f"<{_page(incident, pages_url)}|{_WORDS[event.what]}>"
    as_of = f", as of {_time(incident.explained_s)}" if incident.explained_s else ""
    return f"{_SYMBOLS[event.what]} *{link}* ({incident.severity}{as_of}) {_escaped(sentences)[:_MOST_CHARS]}"


def _escaped(text: str) -> str:
    """Slack's three control characters."""
    lines = "\n".join(map(printable, text.split("\n")))
    return lines.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _page(incident: Current, pages_url: str) -> str:
    return f"{pages_url}/incidents/{incident.id}"


def _time(seconds: int) -> str:
    return f"{iso_time(seconds * _S)[:19]}Z"
