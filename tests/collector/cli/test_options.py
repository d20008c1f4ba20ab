"""An option that would have no effect is refused, not ignored."""

from __future__ import annotations

import pytest

from tests.collector.cli.command import assert_one_sentence, run

NOWHERE = ["--url", "http://127.0.0.1:9"]
TIMES = ["--during", "5m..1m"]


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["find", "--follow", "--since", "1h"], "--since"),
        (["find", "-f", "--sort", "duration"], "--sort"),
        (["find", "--follow", *TIMES], "--during"),
        (["find", "--follow", "--limit", "50"], "--limit"),
        (["find", "--follow", "--after", "x"], "--after"),
        (["find", *TIMES, "--since", "2h"], "--since"),
        (["why", "GET /", *TIMES, "--against", "20m..10m", "--since", "1h"], "--since"),
        (["why", "GET /", *TIMES, "--when", "version = 2", "--since", "1h"], "--since"),
        (["diff", *TIMES, "--version", "1", "2", "--since", "1h"], "--since"),
        (["profile", "GET /", *TIMES, "--since", "1h"], "--since"),
        (["incidents", "0123", "--since", "1h"], "--since"),
        (["incidents", "0123", "--open"], "--open"),
        (["incidents", "--open", "--since", "1h"], "--since"),
        (["advise", "--for", "1d"], "--for"),
        (["advise", "--dismissed", "--limit", "5"], "--limit"),
        (["advise", "GET /", "--restore", "0123456789"], "kind"),
        (["advise", "--restore", "0123456789", "--why", "x"], "--why"),
        (["show", "0" * 31 + "1", "--json", "--span", "0" * 15 + "1"], "--span"),
    ],
)
def test_an_option_without_effect_is_refused(arguments: list[str], option: str) -> None:
    done = run(*arguments, *NOWHERE)
    assert_one_sentence(done, 2, "it has no effect ")
    assert option in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["find", "--follow", "--kind", "GET /", "--status", "5xx"],
        ["find", *TIMES, "--sort", "duration"],
        ["why", "GET /", *TIMES, "--since", "2h"],
        ["incidents", "--since", "1h", "--limit", "5"],
        ["advise", "GET /", "--dismiss", "0123456789", "--since", "2h", "--for", "1d", "--why", "x"],
        ["show", "0" * 31 + "1", "--json", "--calls", "5"],
        ["sql", "SELECT 1", "--json", "--vertical"],
        ["sql", "SELECT 1", "--csv", "--vertical"],
    ],
)
def test_options_that_have_an_effect_are_sent(arguments: list[str]) -> None:
    assert_one_sentence(run(*arguments, *NOWHERE), 1, "no collector answers at ")
