"""Commands that are printed to be copied: a shell reads back the names, whatever is in them, and nothing else."""

from __future__ import annotations

import html
import json
import re
import subprocess
import time

import pytest
from rich.console import Console, RenderableType
from walltime_collector.cli.advise.text import render as render_advice
from walltime_collector.cli.find.rows import render as render_matches
from walltime_collector.cli.incidents.text import detail
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.format import printable, shell_command, shell_quoted
from walltime_collector.health.incidents.messages import message
from walltime_collector.health.incidents.watch import Event
from walltime_collector.query.advise.advise import advise
from walltime_collector.query.find.search import find
from walltime_collector.query.incidents.stored import incident
from walltime_collector.query.names import Kind, quoted_name
from walltime_collector.query.scope import Filters, Scope
from walltime_collector.query.windows import Window

from tests.collector.conftest import Store
from tests.collector.health.incidents.stored import slower
from tests.collector.health.incidents.stored import store as store_incidents
from tests.collector.pages.conftest import Browser, browser
from tests.collector.traffic import MS, Sent

__all__ = ["browser"]
HOSTILE = [
    "GET /plain",
    "'; rm -rf ~; '",
    '"; $(rm -rf ~); `id` !!; "',
    "-rf",
    "--help",
    "a\nb; rm -rf ~",
    "\x1b[31mred\x1b]8;;http://evil\x07link\x7f",
    "[link=http://evil]x[/link] [bold]",
    "<script>alert(1)</script> <!channel> *b* https://evil.example",
    "two  spaces ",
    "=cmd|' /C calc'!A0",
    "\u202egnp.exe\u2028",
    "%s \\n \\",
]
_COMMAND = re.compile(
    r"walltime (?:why|find|profile|show)(?: (?:'[^']*'(?:\"'\"'[^']*')*|\"\$\(printf '[^']*'\)\"|[^\s`'\"]+))+"
)
SERVICE = "it's; \x1b[0m a service"


def words(command: str) -> list[str]:
    """What a POSIX shell makes of the command; the second shell proves that nothing is run."""
    for shell in ("sh", "bash"):
        done = subprocess.run(
            [shell, "-c", f'walltime() {{ printf "%s\\0" "$@"; }}; {command}'], capture_output=True, check=True
        )
        assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


def printed(rendered: RenderableType) -> str:
    console = Console(width=80, color_system=None, markup=False, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(rendered, crop=False)
    return capture.get()


def commands(text: str) -> list[list[str]]:
    """All commands in an output, as words; an output has no character that a terminal obeys."""
    assert all(letter.isprintable() or letter == "\n" for letter in text), repr(text)
    return [words(match[0]) for match in _COMMAND.finditer(text)]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_shell_reads_back_a_quoted_name(name: str) -> None:
    assert printable(shell_quoted(name)) == shell_quoted(name)
    assert words(f"walltime {shell_quoted(name)}") == [name]
    arguments = words(shell_command("walltime why", name, service=name, since="1h", where=""))
    assert arguments[0] == "why"
    assert arguments[arguments.index("--since") + 1] == "1h"
    assert [each for each in arguments if each == name] == [name, name]
    assert "--where" not in arguments
    listed = words(f"walltime {quoted_name(Kind('s', name), [Kind('s', name)])}")
    assert len(listed) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_the_command_of_an_incident_asks_about_its_kind(engine: Engine, name: str) -> None:
    stored = slower(name, service=SERVICE)
    store_incidents(engine, stored)
    ((*asked,),) = commands(printed(detail(incident(engine, stored.id))))
    assert asked.count(name) == 1
    assert asked[asked.index("--service") + 1] == SERVICE
    assert (asked[0], asked[-2] == "--") == ("why", name.startswith("-"))
    for format_name in ("slack", "alertmanager"):
        body = json.loads(message(format_name, [Event("opened", stored)], "http://pages"))
        texts = (
            json.dumps(body, ensure_ascii=False)
            if format_name == "slack"
            else body["alerts"][0]["annotations"]["summary"]
        )
        assert "<!channel>" not in texts
        assert "\x1b" not in texts


@pytest.fixture(scope="module")
def slow_elsewhere(engine: Engine, store: Store) -> Engine:
    """Each kind with a second of no measured call, so that an advice names the command that shows the lines."""
    now_ns = time.time_ns()
    store(
        [
            Sent(
                f"{at:08x}{kind:08x}".ljust(32, "a"),
                f"{at:08x}{kind:08x}",
                name,
                now_ns - (60 - at) * 10**9,
                900 * MS,
                SERVICE,
            )
            for kind, name in enumerate(HOSTILE)
            for at in range(30)
        ]
    )
    return engine


def test_the_command_of_an_advice_and_the_next_page_are_about_the_kind(
    slow_elsewhere: Engine, browser: Browser
) -> None:
    now_ns = time.time_ns()
    scope = Scope(Window(now_ns - 3600 * 10**9, now_ns))
    answer = advise(slow_elsewhere, scope, now_ns, limit=100)
    in_json = commands("\n".join(each.change for each in answer.advice))
    in_terminal = commands(printed(render_advice(answer, Console())))
    page = html.unescape(re.sub(r"<[^>]*>", "", browser.get("/advice").text))
    on_page = [words(match[0]) for match in _COMMAND.finditer(page)]
    for found in (in_json, in_terminal, on_page):
        profiles = [each for each in found if each[0] == "profile"]
        assert sorted(name for name in HOSTILE for each in profiles if name in each[1:]) == sorted(HOSTILE)
        assert {each[each.index("--service") + 1] for each in profiles} == {SERVICE}
    for name in HOSTILE:
        params: dict[str, str | int] = {"kind": name, "service": SERVICE, "limit": 1}
        matches = find(slow_elsewhere, Scope(scope.window, Filters(kind=name, service=SERVICE)), limit=1)
        (following,) = (
            each for each in commands(printed(render_matches(matches, params, Console()))) if each[0] == "find"
        )
        assert following == ["find", "--kind", name, "--service", SERVICE, "--limit", "1", "--after", matches.next]
