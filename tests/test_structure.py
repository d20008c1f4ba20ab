"""The structure that a reader relies on: folders without cycles, small folders, small files."""

from __future__ import annotations

import ast
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = [ROOT / "sdk" / "src" / "walltime", ROOT / "collector" / "src" / "walltime_collector"]
MAX_ENTRIES = 14
"""Of a folder: files or folders. What is more is no longer read but searched."""
MAX_LINES = 300
MAX_MEDIAN_LINES = 110

each_package = pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.name))


@cache
def modules(package: Path) -> dict[str, Path]:
    """Dotted name → file."""
    named = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return named


@cache
def imports(package: Path) -> dict[str, set[str]]:
    """Module → the modules of the package that it imports, for types alone too."""
    known = modules(package)
    graph: dict[str, set[str]] = defaultdict(set)
    for name, file in known.items():
        graph[name] = set()
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            for target in targets(node, name, is_package=file.name == "__init__.py"):
                module = target if target in known else target.rpartition(".")[0]  # else it is a name in a module
                if module in known and module != name:
                    graph[name].add(module)
    return graph


def targets(node: ast.AST, module: str, *, is_package: bool) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = module.split(".")
            parts = parts[: len(parts) - node.level + is_package]
            base = ".".join([*parts, *([node.module] if node.module else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)


def cycle_of(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@each_package
def test_no_module_imports_itself_through_others(package: Path) -> None:
    assert cycle_of(imports(package)) == []


@each_package
def test_the_folders_of_a_folder_have_an_order(package: Path) -> None:
    """Files and folders beside each other: whoever imports a neighbour is never imported by it, at any depth."""
    folders = [package, *(each for each in package.rglob("*") if each.is_dir() and any(each.rglob("*.py")))]
    for folder in folders:
        prefix = ".".join(folder.relative_to(package.parent).parts) + "."
        graph: dict[str, set[str]] = defaultdict(set)
        for module, imported in imports(package).items():
            for target in imported:
                if module.startswith(prefix) and target.startswith(prefix):
                    here, there = (name.removeprefix(prefix).partition(".")[0] for name in (module, target))
                    if here != there:
                        graph[here].add(there)
        assert cycle_of(graph) == [], folder


@each_package
def test_folders_and_files_are_small(package: Path) -> None:
    for folder in [package, *(each for each in package.rglob("*") if each.is_dir())]:
        folders = [each for each in folder.iterdir() if each.is_dir() and each.name != "__pycache__"]
        assert len(folders) <= MAX_ENTRIES, f"{folder} has {len(folders)} folders"
        files = list(folder.glob("*.py"))
        assert len(files) <= MAX_ENTRIES + 1, f"{folder} has {len(files)} modules"  # __init__.py is not read as one
        others = [each for each in folder.iterdir() if each.suffix in (".html", ".js", ".css")]
        assert folder.name == "vendor" or len(others) <= MAX_ENTRIES, f"{folder} has {len(others)} files of the pages"
        assert [each for each in others if ".min" not in each.suffixes and _lines(each) > MAX_LINES] == []
    lines = {file: _lines(file) for file in modules(package).values()}
    assert {file: count for file, count in lines.items() if count > MAX_LINES} == {}
    assert statistics.median(lines.values()) <= MAX_MEDIAN_LINES


def _lines(file: Path) -> int:
    return len(file.read_text("utf-8").splitlines())


def test_the_tests_mirror_the_source() -> None:
    """A folder of tests/sdk and tests/collector has the name of the folder whose behaviour it shows."""
    for package, tests in zip(PACKAGES, (ROOT / "tests" / "sdk", ROOT / "tests" / "collector"), strict=True):
        for file in tests.rglob("test_*.py"):
            room = file.parent.relative_to(tests)
            assert (package / room).is_dir() or room == Path(), f"{file} shows no folder of {package.name}"


def test_no_test_file_is_imported_by_another() -> None:
    importers = []
    for file in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            for target in targets(node, "", is_package=False):
                if ".test_" in f".{target.rpartition('.')[0]}" or (target.startswith("tests.") and ".test_" in target):
                    importers.append((str(file.relative_to(ROOT)), target))
    assert importers == []
