"""Under its answer a command prints the address of the page that shows the same, on a terminal only."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

import pytest
from walltime_collector.cli.client import Client
from walltime_collector.format import iso_time

from tests.collector.cli.command import on_a_terminal, run
from tests.collector.conftest import Collector
from tests.servers import over_http

KIND = "GET /product/{id}"
ON_KIND = "/kinds/shop/GET%20%2Fproduct%2F%7Bid%7D"
AT = r"2\d{3}-\d\d-\d\dT[\d:.]+Z"


def shown(collector: Collector, *arguments: str) -> str:
    """The last line on a terminal that is too narrow for it."""
    seen = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(60, *arguments, "--url", collector.url + "/"))
    return seen.rstrip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["top"], r"/\?time=last\+15m"),
        (["top", "--since", "2h", "--service", "shop", "--by", "p95"], r"/\?time=last\+2h&service=shop&by=p95"),
        (["status"], "/collector"),
        (["digest", "--since", "2h", "--service", "shop"], r"/statements\?time=last\+2h&service=shop"),
        (["digest", "--since", "all"], r"/statements\?time=last\+400d"),
        (["digest", "select", "--by", "calls"], r"/statements\?time=last\+15m&by=calls&containing=select"),
        (
            ["diff", "--when", "mysql.query.calls > 1", "--since", "2h", "--service", "shop"],
            rf"/diff\?time={AT}\.\.{AT}&when=mysql.query.calls\+%3E\+1&service=shop",
        ),
        (["profile", KIND, "--since", "2h"], rf"{ON_KIND}\?time={AT}\.\.{AT}"),
        (["why", KIND, "--since", "2h"], rf"{ON_KIND}\?time={AT}\.\.{AT}&slowest=5"),
    ],
)
def test_the_page_has_the_window_and_the_filters_of_the_command(
    collector: Collector, arguments: list[str], path: str
) -> None:
    address = shown(collector, *arguments)
    assert re.fullmatch(re.escape(collector.url) + path, address), address
    assert over_http("GET", address).status_code == 200


def test_the_page_of_two_compared_windows_has_both_and_the_time_around_them(collector: Collector) -> None:
    started = [iso_time(collector.sent[at].started_ns) for at in (0, len(collector.sent) // 2, -1)]
    first, middle, last = (at.rstrip("Z").rstrip("0") + "Z" for at in started)
    address = shown(collector, "why", KIND, "--during", f"{middle}..{last}", "--against", f"{first}..{middle}")
    during, against, whole = (f"{start}..{end}" for start, end in ((middle, last), (first, middle), (first, last)))
    assert parse_qsl(address.partition("?")[2]) == [("time", whole), ("during", during), ("against", against)]
    assert address.startswith(f"{collector.url}{ON_KIND}?")
    assert over_http("GET", address).status_code == 200


def test_the_page_of_a_diff_of_two_windows_has_its_answer(collector: Collector) -> None:
    middle = iso_time(collector.sent[len(collector.sent) // 2].started_ns)
    windows = ["--during", f"{middle}..now", "--against", f"2h..{middle}"]
    address = shown(collector, "diff", *windows)
    page = over_http("GET", address.replace("/diff?", "/diff.json?")).json()["answer"]
    now, usual = (dict(parse_qsl(address.partition("?")[2]))[name].split("..") for name in ("during", "against"))
    assert [page[side][end].rstrip("0Z") for side in ("now", "usual") for end in ("since", "until")] == [
        at.rstrip("0Z") for at in (*now, *usual)
    ]
    assert usual[1].rstrip("0Z") == middle.rstrip("0Z")


def test_show_prints_the_address_of_the_transaction_that_it_shows(collector: Collector) -> None:
    callee = next(sent for sent in collector.sent if sent.parent_span_id)
    whole = f"{collector.url}/transactions/{callee.trace_id}"
    assert shown(collector, "show", callee.trace_id[:20]) == whole
    assert shown(collector, "show", callee.trace_id, "--span", callee.span_id) == f"{whole}?span={callee.span_id}"


def test_an_id_of_a_statement_leads_to_its_page(collector: Collector) -> None:
    statements = run("digest", "--since", "1h", "--json", "--url", collector.url).stdout
    (first, *_) = re.findall(r'"fingerprint_id": "(\w{16})"', statements)
    assert shown(collector, "digest", first, "--since", "1h") == f"{collector.url}/statements/{first}?time=last+1h"


def test_a_pipe_and_json_get_no_address(collector: Collector) -> None:
    for arguments in (["top"], ["status"], ["show", collector.sent[0].trace_id]):
        assert f"{collector.url}/" not in run(*arguments, "--url", collector.url).stdout
        assert f"{collector.url}/" not in on_a_terminal(80, *arguments, "--url", collector.url, is_piped=True)
    assert "/?time" not in on_a_terminal(80, "top", "--json", "--url", collector.url)


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://walltime.example", "https://walltime.example/collector"),
        ("https://walltime.example:8464/", "https://walltime.example:8464/collector"),
        ("http://somebody:secret@[::1]:8464", "http://[::1]:8464/collector"),
        ("http://proxy.example/walltime/", "http://proxy.example/walltime/collector"),
    ],
)
def test_a_page_is_at_the_address_of_the_collector_without_its_password(url: str, page: str) -> None:
    assert Client(url).page("/collector") == page
