"""Messages about incidents: the documented formats, sent once, tried again, over verified TLS, without the secret."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
import trustme
from walltime_collector.errors import SettingsRefused
from walltime_collector.health.counters import Health
from walltime_collector.health.incidents.current import Current
from walltime_collector.health.incidents.messages import Format
from walltime_collector.health.incidents.watch import Event
from walltime_collector.health.incidents.webhook import Webhook
from walltime_collector.query.incidents.looks import KindName

from tests.collector.health.incidents.receiver import receiving
from tests.servers import eventually

PAGES = "https://walltime.example.com"


def event(what: Literal["opened", "severity", "closed"], name: str = "GET /<b>&{id}") -> Event:
    incident = Current(KindName("shop", name), 1_800_000_000, 1_800_000_060, 1_800_000_120)
    incident.headline = "GET /<b>: 5 ms → 20 ms."
    incident.sentences, incident.explained_s = (incident.headline, "mysql.query: 9× the calls."), 1_800_000_090
    if what == "closed":
        incident.ended_because = "over"
    return Event(what, incident)


@contextmanager
def sending(url: str, format_name: Format = "alertmanager", **options: Any) -> Iterator[tuple[Webhook, Health]]:
    health = Health()
    webhook = Webhook(url, format_name, health, PAGES, **options)
    webhook.start()
    try:
        yield webhook, health
    finally:
        webhook.stop(5)


def count(health: Health, what: str) -> int:
    return int(health.report()["counts"].get(f"incident_messages_{what}", 0))


def test_alertmanagers_format_is_that_of_its_webhook_receivers() -> None:
    with receiving() as receiver, sending(f"http://127.0.0.1:{receiver.port}/hook?key=1") as (webhook, _):
        webhook.notify([event("opened")])
        webhook.notify([event("closed")])
        eventually(lambda: len(receiver.messages) == 2)
    opened, closed = receiver.messages
    # https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
    assert set(opened) == {
        *("version", "groupKey", "truncatedAlerts", "status", "receiver", "groupLabels", "commonLabels"),
        *("commonAnnotations", "externalURL", "alerts"),
    }
    assert (opened["version"], opened["status"], closed["status"]) == ("4", "firing", "resolved")
    (alert,), (resolved,) = opened["alerts"], closed["alerts"]
    assert set(alert) == {
        *("status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint"),
    }
    assert alert["labels"]["alertname"] == "WalltimeIncident"
    assert (alert["labels"]["service"], alert["labels"]["kind"]) == ("shop", "GET /<b>&{id}")
    assert (alert["startsAt"], alert["endsAt"]) == ("2027-01-15T08:00:00Z", "0001-01-01T00:00:00Z")
    assert resolved["endsAt"] == "2027-01-15T08:02:00Z"
    assert alert["annotations"]["explained"] == "2027-01-15T08:01:30Z"
    assert resolved["fingerprint"] == alert["fingerprint"]
    assert alert["generatorURL"] == f"{PAGES}/incidents/{alert['fingerprint']}"
    assert receiver.paths == ["/hook?key=1"] * 2


def test_slacks_format_is_that_of_incoming_webhooks_with_its_control_characters_escaped() -> None:
    with receiving() as receiver, sending(f"http://127.0.0.1:{receiver.port}/services/T/B/x", "slack") as (webhook, _):
        webhook.notify([event("opened", f"kind {number}") for number in range(30)])
        eventually(lambda: receiver.messages)
    (message,) = receiver.messages
    assert set(message) == {"text", "blocks"}
    assert len(message["blocks"]) == 21
    assert message["blocks"][-1]["text"]["text"].startswith("and 10 more")
    for block in message["blocks"]:
        assert set(block) == {"type", "text"}
        assert (block["type"], block["text"]["type"]) == ("section", "mrkdwn")
        assert len(block["text"]["text"]) <= 3000
        assert "<b>" not in block["text"]["text"]
    assert "GET /&lt;b&gt;: 5 ms" in message["text"]
    assert "(warning, as of 2027-01-15T08:01:30Z)" in message["blocks"][0]["text"]["text"]


def test_a_message_is_tried_again_until_it_is_accepted_and_the_next_one_waits() -> None:
    with receiving() as receiver, sending(f"http://127.0.0.1:{receiver.port}/") as (webhook, health):
        receiver.answers = [503, 429]
        webhook.notify([event("opened")])
        webhook.notify([event("closed")])
        eventually(lambda: count(health, "sent") == 2)
    assert [each["status"] for each in receiver.messages] == ["firing"] * 3 + ["resolved"]
    assert (count(health, "retried"), count(health, "lost")) == (2, 0)


def test_a_refused_message_is_lost_counted_and_no_log_has_the_url(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with receiving() as receiver:
        url = f"http://user:pass%20word@127.0.0.1:{receiver.port}/services/secret"
        with sending(url) as (webhook, health):
            receiver.answers = [404]
            webhook.notify([event("opened")])
            eventually(lambda: count(health, "lost") == 1)
            webhook.notify([event("closed")])
            eventually(lambda: count(health, "sent") == 1)
    assert receiver.headers[0]["Authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="
    assert "404 Not Found" in caplog.text
    assert not {"secret", "pass", "127.0.0.1"} & set(caplog.text.replace("/", " ").replace(":", " ").split())


def test_a_message_that_nobody_accepts_is_given_up_and_the_queue_is_bounded() -> None:
    with sending("http://127.0.0.1:9/", given_up_s=0.5) as (webhook, health):  # the discard port: nobody listens
        webhook.notify([event("opened")])
        eventually(lambda: count(health, "lost") == 1)
        for _ in range(150):
            webhook.notify([event("opened")])
        eventually(lambda: count(health, "lost") >= 50)


def test_a_certificate_that_nobody_vouches_for_gets_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    certificate = tmp_path / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    with receiving(certificate) as receiver:
        with sending(f"https://127.0.0.1:{receiver.port}/", given_up_s=0.5) as (webhook, health):
            webhook.notify([event("opened")])
            eventually(lambda: count(health, "lost") == 1)
        assert receiver.messages == []
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with sending(f"https://127.0.0.1:{receiver.port}/") as (webhook, health):
            webhook.notify([event("opened")])
            eventually(lambda: count(health, "sent") == 1)


@pytest.mark.parametrize(
    "url", ["hooks.slack.com/x", "ftp://a/b", "https:///secret", "http://[::1", "http://host:port/"]
)
def test_what_is_no_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        Webhook(url, "slack", Health(), PAGES, where="WALLTIME_INCIDENT_WEBHOOK")
    assert str(refused.value).startswith("WALLTIME_INCIDENT_WEBHOOK: ")
    assert url not in str(refused.value)
