"""`walltime why` and /api/why as people and scripts ask them: answered, refused, and in one sentence when it fails."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest
from walltime_collector.conversion import from_json
from walltime_collector.format import iso_time
from walltime_collector.query.why.answer import Why

from tests.collector.cli.command import assert_one_sentence, on_a_terminal, run
from tests.collector.conftest import Collector
from tests.ports import refusing_port

KIND = "GET /product/{id}"


def test_why_shows_the_slowest_and_the_others_in_a_pipe_without_colour_or_boxes(collector: Collector) -> None:
    done = run("why", KIND, "--url", collector.url)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{KIND}  shop   the slowest ")
    assert "where the difference comes from" in done.stdout
    assert re.search(r"walltime show [0-9a-f]{32}", done.stdout)
    assert "\x1b" not in done.stdout
    assert not re.search(r"[│┃┌└━─▏▎▍▌▋▊▉█▒]", done.stdout)
    assert all(line == line.rstrip() and len(line) <= 120 for line in done.stdout.splitlines())


def test_json_is_one_document_with_every_number(collector: Collector) -> None:
    done = run("why", KIND, "--json", "--slowest", "20", "--url", collector.url)
    why = from_json(Why, json.loads(done.stdout))
    sent = [each for each in collector.sent if each.name == KIND]

    assert (done.returncode, done.stderr) == (0, "")
    assert why.usual.transactions + why.slow.transactions == len(sent)
    assert why.usual.total_ns + why.slow.total_ns == sum(each.duration_ns for each in sent)
    assert why.threshold_ns == min(
        each.duration_ns for each in sorted(sent, key=lambda each: each.duration_ns)[-why.slow.transactions :]
    )
    assert sum(each.difference_ns for each in why.components) == pytest.approx(why.difference_ns)
    assert why.headline == " ".join(why.sentences[:2])


def test_two_windows_of_time_are_compared_and_the_times_shown(collector: Collector) -> None:
    sent = [each for each in collector.sent if each.name == KIND]
    middle = iso_time(sent[len(sent) // 2].started_ns)
    done = run("why", KIND, "--during", f"{middle}..", "--against", f"1h..{middle}", "--json", "--url", collector.url)
    why = from_json(Why, json.loads(done.stdout))

    assert done.returncode == 0
    assert why.slow.since == why.usual.until == middle
    assert (why.usual.transactions, why.slow.transactions) == (len(sent) // 2, len(sent) - len(sent) // 2)
    assert why.slowest_percent is None


def test_a_terminal_gets_colours_and_no_color_is_respected(collector: Collector) -> None:
    seen = on_a_terminal(120, "why", KIND, "--url", collector.url)
    assert "\x1b[38;2;232;134;58m" in seen  # MySQL's colour
    plain = on_a_terminal(70, "why", KIND, "--url", collector.url, environment={"NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*(3[0-9]|4[0-9]|38|48)[;m]", plain)
    assert "mm more calls" in re.sub(r"\x1b\[[0-9;]*m", "", plain)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["why"], "KIND"),
        (["why", KIND, "--during", "yesterday"], "--during: 'yesterday' is not a window of time; write 'last 90s'"),
        (["why", KIND, "--during", "1m..5m"], "ends before it starts"),
        (["why", KIND, "--against", "5m..1m"], "--against"),
        (["why", KIND, "--during", "5m..1m", "--against", "2m.."], "the two times overlap"),
        (["why", KIND, "--during", "5m..1m", "--slowest", "5"], "--slowest"),
        (["why", KIND, "--slowest", "90"], "--slowest"),
        (["why", KIND, "--slowest", "some"], "--slowest"),
        (["why", KIND, "--since", "soon"], "write 90s, 15m, 2h or 7d"),
        (["why", KIND, "--url", "ftp://127.0.0.1"], "write it like http://127.0.0.1:8464"),
    ],
)
def test_wrong_parameters_are_one_sentence_and_exit_status_2(command: list[str], says: str) -> None:
    assert_one_sentence(run(*command), 2, says)


def test_an_unknown_kind_is_one_sentence_with_the_names_that_are_like_it(collector: Collector) -> None:
    done = run("why", "GET /products/{id}", "--url", collector.url)
    assert_one_sentence(done, 1, f"no transaction 'GET /products/{{id}}' is stored; there is '{KIND}'")
    assert_one_sentence(run("why", KIND, "--service", "x", "--json", "--url", collector.url), 1, "of service 'x'")


def test_a_time_without_transactions_is_one_sentence(collector: Collector) -> None:
    done = run("why", KIND, "--during", "2d..1d", "--url", collector.url)
    assert_one_sentence(done, 1, f"no transaction {KIND!r} started between ")
    assert re.search(r"between \S{19}Z and \S{19}Z;", done.stderr)


def test_a_collector_that_is_not_running_is_one_sentence() -> None:
    url = f"http://127.0.0.1:{refusing_port()}"
    assert_one_sentence(run("why", KIND, "--url", url), 1, f"no collector answers at {url}")


@pytest.mark.parametrize(
    ("query", "status", "where"),
    [
        ("", 400, "kind"),
        ("kind=", 400, "kind"),
        (f"kind={quote(KIND)}&during=soon", 400, "during"),
        (f"kind={quote(KIND)}&against=5m..1m", 400, "against"),
        (f"kind={quote(KIND)}&slowest=nan", 400, "slowest"),
        (f"kind={quote(KIND)}&slowest=0", 400, "slowest"),
        (f"kind={quote(KIND)}&since=1y", 400, "since"),
        (f"kind={quote(KIND)}&until=now", 400, "'until'"),
        (f"kind={quote(KIND)}&during=2d..1d", 404, "during"),
        ("kind=GET", 404, "kind"),
        ("kind=%00%27%22%5C", 404, "kind"),
    ],
)
def test_an_api_error_has_where_what_and_what_now(collector: Collector, query: str, status: int, where: str) -> None:
    answered, document, _ = collector.get(f"/api/why?{query}")

    assert (answered, document["error"]["where"]) == (status, where)
    assert document["error"]["what"]
    assert document["error"]["what_now"]
