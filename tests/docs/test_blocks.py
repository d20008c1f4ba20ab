"""Every code block of the documentation is right: Python runs, commands parse, outputs are real, files are read."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import tomli
import walltime
import yaml
from shop.services import MariaDB
from walltime_collector.cli import app
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.config.settings import Settings

from tests.collector.cli.command import run
from tests.docs.blocks import Block, blocks, shows
from tests.docs.shop import served
from tests.server_folder import server_folder
from tests.servers import over_http

BLOCKS: dict[str, list[Block]] = defaultdict(list)
for each in blocks():
    BLOCKS[each.language].append(each)


def of(*languages: str) -> pytest.MarkDecorator:
    found = [block for language in languages for block in BLOCKS[language]]
    return pytest.mark.parametrize("block", found, ids=str)


@pytest.fixture(scope="module")
def web_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("documented")) as url:
        yield url


def test_every_block_has_a_language_that_is_tested_here() -> None:
    tested = {"python", "console", "shell", "sh", "sql", "toml", "yaml", "json", "xml", "ini", "text"}
    assert BLOCKS.keys() - tested == set()
    assert [str(block) for block in BLOCKS["text"] if "\n$ walltime" in f"\n{block.text}"] == []


@of("sh", "shell")
def test_commands_in_a_shell_are_parsed(block: Block) -> None:
    """By bash, and each `walltime …` by the command itself; what is in brackets or after # may be left out."""
    text = re.sub(r"\[(--[^\]]*)\]", r"\1", block.text)
    checked = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    for command in re.findall(r"^(?:\w+=\S+ )*walltime( .*(?:\n .*)*)", text.replace("\\\n", " "), re.MULTILINE):
        parse(command)


@of("console")
def test_commands_before_an_output_are_parsed(block: Block) -> None:
    commands = list(block.commands())
    assert commands
    for command, _ in commands:
        if found := re.match(r"(?:\w+=\S+ )*walltime( .*)", command):
            parse(found[1])


def parse(text: str) -> None:
    arguments = shlex.split(re.split(r" (?:\|\|?|&&?)(?: |$)", text)[0], comments=True)
    command: Any = app
    context, name = None, "walltime"
    while hasattr(command, "get_command"):
        context = command.make_context(name, arguments, parent=context)
        name, *arguments = context._protected_args + context.args
        command = command.get_command(context, name)
        assert command is not None, f"walltime has no command {name}"
    command.make_context(name, arguments, parent=context)


@of("console")
def test_outputs_are_those_of_the_documented_hour(block: Block, web_url: str) -> None:
    """Of commands that ask this collector: on pages of `start`, and with a variable in front, it is another one."""
    if "start" in block.page.parts:
        return
    incident = str(over_http("GET", f"{web_url}/api/incidents").json()["incidents"][0]["id"])
    for command, documented in block.commands():
        words = [incident if word == "ID" else word for word in shlex.split(command, comments=True)]
        if words[0] != "walltime":
            continue
        done = run(*words[1:], environment={"WALLTIME_URL": web_url, "COLUMNS": "120", "NO_COLOR": "1"})
        assert shows(documented, done.stdout + done.stderr), f"$ {command}\n{done.stdout}{done.stderr}"


@of("sh", "shell")
def test_addresses_of_the_collector_answer(block: Block, web_url: str) -> None:
    for address in re.findall(r"curl (?:-s )?'?http://127\.0\.0\.1:8464(/[^'\s]*)", block.text):
        assert over_http("GET", f"{web_url}{address}").status_code == 200


@pytest.mark.parametrize("block", [block for block in BLOCKS["sql"] if not block.title], ids=str)
def test_sql_is_permitted_and_runs(block: Block, web_url: str) -> None:
    """As `walltime sql` runs it. Grafana's macros are times."""
    text = block.text.replace("$__fromTime", "now() - 3600").replace("$__toTime", "now()")
    answer = over_http("POST", f"{web_url}/api/sql", json={"sql": text})
    assert answer.status_code == 200, answer.text
    assert answer.json()["rows"], "the documented hour has no rows of this"


def test_sql_for_other_servers_runs_or_is_parsed_there(tmp_path: Path) -> None:
    """
    On MariaDB it runs; ClickHouse's engine parses what only a server can run. There is no MySQL to run it on.

    The shortened statements are compared with the real ones in tests/collector/clickhouse/test_engine_cluster.py.
    """
    titles = {block.title for block in BLOCKS["sql"]} - {""}
    assert titles <= {"MariaDB", "MySQL 8", "Percona Server", "ClickHouse", "ClickHouse, shortened"}
    engine = EmbeddedEngine(tmp_path / "chdb", "walltime")
    with server_folder() as folder, MariaDB(folder) as server, server.admin() as connection:
        for block in BLOCKS["sql"]:
            for statement in filter(None, map(str.strip, block.text.split(";\n"))):
                if block.title == "MariaDB":
                    connection.cursor().execute(statement)
                elif block.title == "ClickHouse":
                    engine.query("SELECT formatQuery({statement:String}) AS text", {"statement": statement.rstrip(";")})
    engine.close()


@of("toml", "yaml", "json", "xml", "ini")
def test_files_are_read(block: Block) -> None:
    if block.language == "toml":
        settings = tomli.loads(block.text)
        assert settings.keys() <= Settings.model_fields.keys()
    elif block.language == "yaml":
        assert list(yaml.safe_load_all(block.text))
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "xml":
        ElementTree.fromstring(block.text)  # noqa: S314  our own text
    else:
        unit = configparser.ConfigParser(strict=False)
        unit.read_string(block.text)
        assert unit.sections()


class Template:
    def render(self, product: object) -> str:
        return str(product)


def names() -> dict[str, Any]:
    """What the fragments take for granted: an application, its libraries, objects of a framework."""
    import logging

    import flask
    import pymemcache
    import structlog
    from flask_caching import Cache
    from pymemcache.client.hash import HashClient

    return {
        "walltime": walltime,
        "app": flask.Flask("documented"),
        "template": Template(),
        "product": 1,
        "run_import": lambda: None,
        "logging": logging,
        "structlog": structlog,
        "handler": logging.NullHandler(),
        "pymemcache": pymemcache,
        "HashClient": HashClient,
        "servers": [("127.0.0.1", 11211)],
        "Cache": Cache,
    }


@pytest.mark.parametrize("page", sorted({block.page for block in BLOCKS["python"]}), ids=str)
def test_the_python_of_a_page_runs(page: Path) -> None:
    """The blocks of a page one after the other; files of an example (with a title) run in test_start.py."""
    found = names()
    for block in BLOCKS["python"]:
        if block.page == page:
            code = compile(block.text, str(block), "exec")
            if not block.title:
                exec(code, found)  # noqa: S102  our own text
    if page.name in ("README.md", "instrumentation.md"):
        assert isinstance(found["app"], walltime.WSGIMiddleware)
    found["structlog"].reset_defaults()
    walltime.uninstrument()
    walltime.shutdown()
