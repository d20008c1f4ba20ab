"""The collector's image: every package is pinned with its hash, and nothing that it reads can run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "collector" / "src").rglob("*.py"))
RUN_WHAT_THEY_READ = {"pickle", "cPickle", "dill", "shelve", "marshal", "jsonpickle", "yaml"}


@pytest.mark.parametrize("name", ["collector.txt", "build.txt"])
def test_every_package_of_the_image_is_pinned_with_its_hashes(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.match(r"[\w.-]+==[\w.+!-]+ .*--hash=sha256:[0-9a-f]{64}", line), line


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_code_that_is_read_can_run(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert not {each.name.partition(".")[0] for each in node.names} & RUN_WHAT_THEY_READ
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in RUN_WHAT_THEY_READ
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}
