"""The commands on a real collector: in a terminal, in a pipe, and when they fail."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.collector.cli.command import WALLTIME, assert_one_sentence, on_a_terminal, run
from tests.collector.conftest import Collector
from tests.ports import refusing_port

UNKNOWN = "e" * 32


def test_top_shows_every_kind_in_a_pipe_without_colour_or_boxes(collector: Collector) -> None:
    done = run("top", "--url", collector.url, "--since", "1h")

    assert (done.returncode, done.stderr) == (0, "")
    for kind in {sent.name for sent in collector.sent}:
        assert kind in done.stdout
    assert "\x1b" not in done.stdout
    assert not re.search(r"[│┃┌└━─▏▎▍▌▋▊▉█]", done.stdout)
    assert all(line == line.rstrip() and len(line) <= 120 for line in done.stdout.splitlines())
    assert f"{len(collector.sent)} transactions" in done.stdout


def test_piped_output_does_not_depend_on_the_window(collector: Collector) -> None:
    sent = collector.sent[0]
    wide, narrow = (
        on_a_terminal(columns, "show", sent.trace_id, "--url", collector.url, is_piped=True) for columns in (200, 60)
    )
    assert re.sub(r"\(.* ago\)", "", wide) == re.sub(r"\(.* ago\)", "", narrow)
    assert "\x1b" not in wide


def test_json_is_one_document_and_nothing_else(collector: Collector) -> None:
    sent = collector.sent[0]
    top = run("top", "--json", "--since", "1h", "--limit", "2", environment={"WALLTIME_URL": collector.url})
    show = run("show", sent.trace_id, "--json", environment={"WALLTIME_URL": collector.url})

    assert (top.returncode, top.stderr, show.returncode, show.stderr) == (0, "", 0, "")
    assert json.loads(top.stdout)["transactions"] == len(collector.sent)
    assert len(json.loads(top.stdout)["kinds"]) == 2
    assert json.loads(show.stdout)["transactions"][0]["duration_ns"] == sent.duration_ns


def test_options_reach_the_request(collector: Collector) -> None:
    arguments = ["top", "--url", collector.url, "--json", "--since", "2h", "--service", "ranker", "--by", "p99"]
    document = json.loads(run(*arguments).stdout)

    assert {kind["service"] for kind in document["kinds"]} == {"ranker"}
    assert (document["service"], document["by"]) == ("ranker", "p99")


@pytest.mark.parametrize(
    "command", [["top", "--since", "1h"], ["status"], ["dead-letter", "list"], ["sql", "SELECT 1"]]
)
def test_global_options_work_before_and_after_the_command(
    collector: Collector, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "token").write_text("unused\n")
    options = ["--url", collector.url, "--json", "--token-file", str(tmp_path / "token")]
    elsewhere = {"WALLTIME_URL": f"http://127.0.0.1:{refusing_port()}"}
    before, after = run(*options, *command, environment=elsewhere), run(*command, *options, environment=elsewhere)

    assert (before.returncode, before.stderr, after.returncode, after.stderr) == (0, "", 0, "")
    assert json.loads(before.stdout).keys() == json.loads(after.stdout).keys()
    both = run("--url", elsewhere["WALLTIME_URL"], *command, "--url", collector.url)
    assert both.returncode == 0, both.stderr  # the one after the command wins


def test_a_token_file_that_cannot_be_read_is_one_sentence_wherever_it_stands(tmp_path: Path) -> None:
    for arguments in (["--token-file", "no", "top"], ["top", "--token-file", "no"]):
        assert_one_sentence(run(*arguments), 1, "no: cannot be read: No such file or directory")


def test_shell_completion_offers_commands_and_options() -> None:
    (line,) = re.findall(r"eval .*", run("--help").stdout)

    def completed(words: str) -> list[str]:
        """By a bash that has the line of the help in its start file."""
        typed = f"COMP_WORDS=({words}) COMP_CWORD={len(words.split(' ')) - 1}"
        script = f'{line}; {typed}; _walltime_completion walltime; echo "${{COMPREPLY[@]}}"'
        path = f"{WALLTIME.parent}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", script], env={"PATH": path}, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert completed("walltime dea") == ["dead-letter"]
    assert completed("walltime dead-letter re") == ["retry"]
    assert "--url" in completed("walltime top --")


def test_show_takes_a_whole_traceparent_and_shows_the_transaction_it_names(collector: Collector) -> None:
    sent = next(sent for sent in collector.sent if sent.parent_span_id)
    done = run("show", f"00-{sent.trace_id}-{sent.span_id}-01", "--url", collector.url)

    assert done.returncode == 0
    assert done.stdout.startswith("GET /rank  ranker")
    assert run("show", sent.trace_id, "--span", sent.span_id, "--url", collector.url).stdout[:40] == done.stdout[:40]
    assert run("show", sent.trace_id, "--url", collector.url).stdout.startswith("GET /recommendations  shop")


def test_a_terminal_gets_colours_and_its_own_width(collector: Collector) -> None:
    for columns in (70, 150):
        seen = on_a_terminal(columns, "top", "--url", collector.url, "--since", "1h")
        plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
        assert "\x1b[38;2;232;134;58m" in seen  # MySQL's colour
        assert "\x1b" not in plain
        assert columns - 10 < max(len(line.rstrip("\r")) for line in plain.splitlines()) <= columns


def test_no_color_is_respected_on_a_terminal(collector: Collector) -> None:
    seen = on_a_terminal(120, "top", "--url", collector.url, "--since", "1h", environment={"NO_COLOR": "1"})

    assert not re.search(r"\x1b\[[0-9;]*(3[0-9]|4[0-9]|38|48)[;m]", seen)
    assert "mm mysql" in re.sub(r"\x1b\[[0-9;]*m", "", seen)


def test_a_terminal_without_unicode_gets_output_too(collector: Collector) -> None:
    done = run("show", collector.sent[0].trace_id, "--url", collector.url, environment={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_is_no_error(collector: Collector) -> None:
    for more in ([], ["--json"]):
        command = [str(WALLTIME), "show", collector.sent[0].trace_id, "--url", collector.url, *more]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:
            assert asking.stdout is not None
            assert asking.stderr is not None
            asking.stdout.close()
            assert asking.stderr.read() == ""
        assert asking.returncode == 0


@pytest.mark.parametrize("command", [["top"], ["show", UNKNOWN], ["top", "--json"]])
def test_a_collector_that_is_not_running_is_one_sentence(command: list[str]) -> None:
    url = f"http://127.0.0.1:{refusing_port()}"
    assert_one_sentence(run(*command, "--url", url), 1, f"no collector answers at {url}")


def test_something_else_on_the_port_is_one_sentence() -> None:
    for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"\x00\x01nonsense\r\n\r\n", b""):
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            asking = subprocess.Popen([WALLTIME, "top", "--url", url], stdout=-1, stderr=-1, text=True)
            peer, _ = server.accept()
            with peer:
                peer.recv(65_536)
                peer.sendall(answer)
            out, err = asking.communicate(timeout=60)
        done = subprocess.CompletedProcess(asking.args, asking.returncode, out, err)
        assert_one_sentence(done, 1, url)


def test_an_unknown_id_is_one_sentence(collector: Collector) -> None:
    assert_one_sentence(run("show", UNKNOWN, "--url", collector.url), 1, f"no transaction of trace {UNKNOWN} is stored")
    assert_one_sentence(run("show", UNKNOWN, "--json", "--url", collector.url), 1, UNKNOWN)


def test_an_unknown_span_is_one_sentence_that_names_the_known_spans(collector: Collector) -> None:
    sent = collector.sent[0]
    done = run("show", sent.trace_id, "--span", "f" * 16, "--url", collector.url)
    assert_one_sentence(done, 1, sent.span_id)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["top", "--since", "yesterday"], "write 90s, 15m, 2h or 7d"),
        (["top", "--limit", "0"], "--limit"),
        (["top", "--limit", "many"], "--limit"),
        (["top", "--by", "name"], "--by"),
        (["top", "--colour"], "--colour"),
        (["top", "extra"], "extra"),
        (["top", "--url", "ftp://127.0.0.1"], "write it like http://127.0.0.1:8464"),
        (["top", "--url", "http://127.0.0.1:99999"], "write it like http://127.0.0.1:8464"),
        (["top", "--url", "http://a b\x1b[31m"], "write it like http://127.0.0.1:8464"),
        (["show"], "TRACE_ID"),
        (["show", "xyz\x1b[31m\n"], "32 hexadecimal digits"),
        (["show", UNKNOWN, "--span", "12"], "16 hexadecimal digits"),
        (["shwo", UNKNOWN], "shwo"),
    ],
)
def test_wrong_usage_is_one_sentence_and_status_2(command: list[str], expected: str) -> None:
    done = run(*command)
    assert_one_sentence(done, 2, expected)
    assert "\x1b" not in done.stderr


def test_help_lists_the_commands_and_the_exit_codes() -> None:
    for arguments in ([], ["--help"]):
        done = run(*arguments)
        assert done.returncode == 0
        assert all(re.search(rf"^  {command} ", done.stdout, re.MULTILINE) for command in ("serve", "top", "show"))
        assert "0    success" in done.stdout  # the exit codes


def test_version_is_the_version_of_the_package() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"walltime {version('walltime-collector')}\n", "")


def test_commands_do_not_import_what_only_the_server_needs() -> None:
    heavy = (
        "chdb",
        "starlette",
        "uvicorn",
        "uvloop",
        "google.protobuf",
        "opentelemetry",
        "walltime_collector.config.settings",
    )
    code = (
        "import sys, walltime_collector.cli, walltime_collector.cli.top, walltime_collector.cli.show;"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_command_imports_what_it_prints_and_reads_with_when_it_runs() -> None:
    code = (
        "import sys, walltime_collector.cli; print([name for name in ('rich', 'lark', 'mcp') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
