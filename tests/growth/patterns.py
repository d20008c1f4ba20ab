"""The regular expressions of both packages, and inputs for each that make a search start or go back often."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from re import _constants, _parser  # type: ignore[attr-defined]  # as Python itself compiles a pattern
from typing import Any, NamedTuple

import walltime
import walltime_collector

_METHODS = frozenset({"search", "sub", "subn", "finditer", "findall", "split", "match", "fullmatch"})
_REPEATED = _METHODS - {"search", "match", "fullmatch"}
_CHARACTERS = "aA1 '\"`\\/*-#$.,;:()[]{}<>=%@_\n\t\x01\x80\u20acghzxe059?!&+~"
_MOST_REPEATED = 40


class Used(NamedTuple):
    """A pattern, and a method with which its module or another one applies it."""

    name: str
    pattern: re.Pattern[Any]
    method: str

    def apply(self, text: Any) -> None:
        """Search like the code does; every place where a repeated search begins counts."""
        if self.method == "finditer":
            for _ in self.pattern.finditer(text):
                pass
        else:
            getattr(self.pattern, self.method)(text)


def used_patterns() -> list[Used]:
    """All compiled patterns that modules have as globals, also in dictionaries and tuples."""
    found: dict[tuple[str, str | bytes, int, str], Used] = {}
    trees: dict[str, ast.Module] = {}
    patterns: list[tuple[str, str, re.Pattern[Any]]] = []
    for name, tree, text in _modules():
        trees[name] = tree
        if "re.compile" not in text:
            continue
        loaded = importlib.import_module(name)
        assigned = {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for variable in sorted(assigned & set(vars(loaded))):
            patterns += [(name, variable, each) for each in _inside(vars(loaded)[variable])]
    methods = {module: dict(_methods(parsed)) for module, parsed in trees.items()}
    imported = {module: dict(_imports(parsed)) for module, parsed in trees.items()}
    for module, variable, pattern in patterns:
        used = set(methods[module].get(variable, ()))
        for other, imports in imported.items():
            source = imports.get(variable, "")
            if source and module.endswith(source):
                used |= methods[other].get(variable, set())
        if not used:  # as a value of a dictionary or of a loop: with the methods that variables of the module have
            used = {each for each_name, of in methods[module].items() if each_name.islower() for each in of}
        for method in {"finditer" if each in _REPEATED else each for each in used or _METHODS}:
            key = (module, pattern.pattern, pattern.flags, method)
            found[key] = Used(f"{module}.{variable}", pattern, method)
    return sorted(found.values(), key=lambda each: (each.name, each.method, str(each.pattern)))


def inputs(pattern: re.Pattern[Any], seed: int) -> Iterator[tuple[str, str, str]]:
    """Endless: a beginning, a part to repeat, and an end, cut out of texts that match, so that nearly all matches."""
    random = Random(seed)
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = _parser.parse(source, pattern.flags & ~(0 if isinstance(pattern.pattern, str) else re.UNICODE))
    while True:
        text = _matching(tree, random) or "a"
        start = random.randrange(len(text))
        end = random.choice((start + 1, random.randrange(start + 1, len(text) + 1)))
        repeated = text[start:end]
        if random.random() < 0.2:
            repeated += random.choice(_matching(tree, random) or "a")
        yield text[:start], repeated, random.choice(("", text[end:], text[end:-1], "\x01", text[end:] + "\x01", "!"))


def _modules() -> Iterator[tuple[str, ast.Module, str]]:
    for package in (walltime, walltime_collector):
        root = Path(package.__path__[0])
        for file in sorted(root.rglob("*.py")):
            text = file.read_text("utf-8")
            if "re.compile" not in text and not any(f".{method}(" in text for method in _METHODS - {"split"}):
                continue
            parts = file.relative_to(root.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), ast.parse(text), text


def _inside(value: Any) -> Iterator[re.Pattern[Any]]:
    if type(value) is re.Pattern:
        yield value
    elif type(value) in (tuple, list, dict):
        for each in value.values() if type(value) is dict else value:
            yield from _inside(each)


def _methods(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Variable → the methods of patterns that are called on it, or on an item of it."""
    called: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _METHODS:
            of = node.value.value if isinstance(node.value, ast.Subscript) else node.value
            if isinstance(of, ast.Name):
                called.setdefault(of.id, set()).add(node.attr)
    yield from called.items()


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((each.name, node.module or "") for each in node.names)


def _matching(tree: Any, random: Random) -> str:
    """A text that the pattern matches, but for what it looks for behind and ahead."""
    parts = []
    for kind, value in tree:
        name = str(kind)
        if name == "LITERAL":
            parts.append(chr(value))
        elif name == "NOT_LITERAL":
            parts.append(_member([(_constants.NEGATE, None), (_constants.LITERAL, value)], random))
        elif name == "IN":
            parts.append(_member(value, random))
        elif name == "ANY":
            parts.append(random.choice(_CHARACTERS))
        elif name == "BRANCH":
            parts.append(_matching(random.choice(value[1]), random))
        elif name == "SUBPATTERN":
            parts.append(_matching(value[3], random))
        elif name == "ATOMIC_GROUP":
            parts.append(_matching(value, random))
        elif name.endswith("_REPEAT"):
            least, most, repeated = value
            times = min(least + random.choice((0, 1, 1, 2, 3)), most, _MOST_REPEATED)
            parts += [_matching(repeated, random) for _ in range(times)]
    return "".join(parts)


def _member(of: Any, random: Random) -> str:
    """A character of a class."""
    is_negated = of[0][0] is _constants.NEGATE
    pattern = re.compile(_class_of([each for each in of if each[0] is not _constants.NEGATE]), re.DOTALL)
    members = [each for each in _CHARACTERS if bool(pattern.fullmatch(each)) != is_negated]
    first = next((value for kind, value in of if str(kind) == "LITERAL"), ord("a"))
    return random.choice(members or [chr(first)])


def _class_of(members: Any) -> str:
    written = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w", "NOT_DIGIT": r"\D", "NOT_SPACE": r"\S", "NOT_WORD": r"\W"}
    parts = []
    for kind, value in members:
        if str(kind) == "CATEGORY":
            parts.append(written[str(value).removeprefix("CATEGORY_")])
        else:
            first, last = value if str(kind) == "RANGE" else (value, value)
            parts.append(f"{re.escape(chr(first))}-{re.escape(chr(last))}")
    return f"[{''.join(parts)}]"
