"""
Fault points in every function of Walltime, put in as its modules are loaded: any one of them can be made to raise.

Where a point stands says who has to contain it (docs/decisions/011-containment.md): at the beginning of a
function, so that its caller has to; in a function that guards what it does, behind each of its own guards.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

CANNOT_FAIL: Final = {
    "walltime.api:CurrentTransaction._running": "asks the transaction for a flag",
    "walltime.api:CurrentTransaction.annotate": "hands on to the transaction",
    "walltime.api:CurrentTransaction.fail": "hands on to the transaction",
    "walltime.api:CurrentTransaction.keep": "hands on to the transaction",
    "walltime.api:CurrentTransaction.name": "hands on to the transaction",
    "walltime.api:CurrentTransaction.request_id": "hands on to the transaction",
    "walltime.api:CurrentTransaction.set_name": "hands on to the transaction",
    "walltime.api:CurrentTransaction.set_session": "hands on to the transaction",
    "walltime.api:CurrentTransaction.set_user": "hands on to the transaction",
    "walltime.api:_Measured._text": "asks for a type",
    "walltime.api:component._part": "keeps plain text",
    "walltime.api:transaction._part": "keeps plain text",
    "walltime.api:component.__init__": "assigns plain text",
    "walltime.api:current": "looks into a context variable",
    "walltime.api:transaction.__init__": "assigns plain text",
    "walltime.configuration:_known_settings_only.call": "compares the names of parameters",
    "walltime.configuration:configure": "hands its parameters to `runtime.configure`, which contains its failures",
    "walltime.core.transaction:Transaction.annotate": "puts plain values under plain text",
    "walltime.core.transaction:Transaction.fail": "assigns plain text",
    "walltime.core.transaction:Transaction.request_id": "a number of ours as text",
    "walltime.core.transaction:Transaction.set_name": "assigns plain text",
    "walltime.core.transaction:Transaction.set_user": "assigns plain text",
    "walltime.core.execution:inside.__enter__": "sets a context variable",
    "walltime.core.execution:inside.__exit__": "sets it back, or leaves another context as it is",
    "walltime.core.transaction:outside": "adds one in a dict of numbers by our own names",
    "walltime.redaction.sanitize:value_of": "asks for types",
    "walltime.redaction.sanitize:text": "asks for types and cuts",
    "walltime.runtime:Open.finish": "its two halves contain their failures",
    "walltime.servers.gateways.wsgi:_Body.__del__": "ends the transaction, which contains its failures",
}
"""Functions that run where nothing contains them, and why that is no danger."""

IN_THE_HOSTS_PLACE: Final = {
    "walltime.core.steps:steps",
    "walltime.handoff:on_a_branch",
    "walltime.instrumentation.measure:_Items.__getattr__",
    "walltime.instrumentation.outermost:Items.__getattr__",
    "walltime.instrumentation.patching:_Finder.find_spec",
    "walltime.instrumentation.patching:_Loader.exec_module",
    "walltime.servers.gateways.asgi:ASGIMiddleware.__call__",
    "walltime.servers.gateways.wsgi:WSGIMiddleware.__call__",
    "walltime.servers.gateways.wsgi:_Body.__iter__",
    "walltime.servers.gateways.wsgi:_Body.close",
    "walltime.servers.gateways.wsgi:_SizedBody.__len__",
    "walltime.servers.gateways.wsgi:_closing.closed",
}
"""Functions that somebody else calls and that call somebody else, like the wrappers around an `original`."""


class Injected(Exception):
    """The failure that is tried."""


reached: Counter[str] = Counter()
_raising: set[str] = set()


def raise_at(point: str) -> None:
    """From now on the point raises, every time."""
    _raising.add(point)


def _reach(point: str) -> None:
    reached[point] += 1
    if point in _raising:
        raise Injected(point)


def install() -> None:
    """Load Walltime with fault points; before its first import."""
    assert not any(name.partition(".")[0] == "walltime" for name in sys.modules)
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "walltime":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        # A pause of the garbage collector in it is one in the function it stands in, as handoff/gc.py sees it.
        _reach.__code__ = _reach.__code__.replace(co_filename=self.path)
        module.__dict__["__reach__"] = _reach
        if module.__name__ == "walltime.instrumentation.template":
            module.__dict__["compile"] = self._compile_wrapper
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType:
        """Always from the source: what is compiled here must not end in a cache."""
        return _with_points(self.get_data(self.path).decode(), self.path, fullname)

    def _compile_wrapper(self, source: str, file: str, _mode: str) -> CodeType:
        """Replace `compile` in the module that generates wrappers: they have points as if they stood in the file."""
        package = Path(self.path).parents[2]
        within = Path(file.partition(".py <")[0]).relative_to(package)
        return _with_points(source, file, ".".join(within.parts))


def _with_points(source: str, file: str, module: str) -> CodeType:
    tree = ast.parse(source, file)
    _Points(module).visit(tree)
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class _Points(ast.NodeTransformer):
    """Puts a call of `__reach__` where a function can fail."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._path: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._within(node.name, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        point = f"{self._module}:{'.'.join([*self._path, f'<lambda {node.lineno}>'])}"
        both = ast.Tuple([_call(point), node.body], ast.Load())
        node.body = ast.Subscript(both, ast.Constant(1), ast.Load())
        return node

    def _within(self, name: str, node: ast.AST) -> ast.AST:
        self._path.append(name)
        self.generic_visit(node)
        self._path.pop()
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        can_fail = _can_fail(node)
        self._within(node.name, node)
        point = f"{self._module}:{'.'.join([*self._path, node.name])}"
        if not can_fail or point in CANNOT_FAIL:
            return node
        stands_for_another = point in IN_THE_HOSTS_PLACE or _calls_original(node)
        guards = [part for part in _own(node) if isinstance(part, ast.Try) and _is_guard(part)]
        for guard in guards:
            # The line of the guard tells them apart, and where to look.
            guard.body.insert(0, ast.Expr(_call(f"{point}, guarded at {guard.lineno}")))
        if not guards and not stands_for_another:
            has_docstring = ast.get_docstring(node) is not None
            node.body.insert(int(has_docstring), ast.Expr(_call(point)))
        return node


def _call(point: str) -> ast.Call:
    return ast.Call(ast.Name("__reach__", ast.Load()), [ast.Constant(point)], [])


def _own(function: ast.AST) -> list[ast.AST]:
    """What is in the function itself, not in those defined inside it."""
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(function):
        found.append(child)
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            found += _own(child)
    return found


def _is_guard(node: ast.Try) -> bool:
    """Whether a handler of its own calls `contain`, or counts like it."""
    handlers = [statement for handler in node.handlers for statement in handler.body]
    parts = [part for statement in handlers for part in (statement, *_own(statement))]
    within = {inner for part in parts if isinstance(part, ast.Try) for inner in _own(part)}
    names = {part.id for part in parts if isinstance(part, ast.Name) and part not in within}
    return not names.isdisjoint({"contain", "contained"})


def _calls_original(function: ast.AST) -> bool:
    """Whether it is a wrapper around somebody else's function."""
    calls = [part.func for part in _own(function) if isinstance(part, ast.Call)]
    return any(isinstance(called, ast.Name) and called.id == "original" for called in calls)


def _can_fail(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it does more than to move values between names and attributes."""
    harmless = (ast.Constant, ast.Name, ast.Attribute, ast.Expr, ast.Return, ast.Pass, ast.Assign, ast.AnnAssign)
    harmless += (ast.Load, ast.Store, ast.List, ast.Dict, ast.Tuple, ast.If, ast.Compare, ast.Is, ast.IsNot)  # type: ignore[assignment]
    body = [part for statement in function.body for part in ast.walk(statement)]
    return not all(isinstance(part, harmless) or _is_annotation(part, function) for part in body)


def _is_annotation(part: ast.AST, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    annotations = [node.annotation for node in ast.walk(function) if isinstance(node, ast.AnnAssign)]
    return any(part is inner for annotation in annotations for inner in ast.walk(annotation))
