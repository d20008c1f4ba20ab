"""
The one wrapper: every measured call runs in a function that is generated from this template, as attrs makes methods.

What differs between wrappers is text. A hot method describes its common case by expressions that are compiled into its
wrapper (`Inline`); an ordinary function describes the others (`measure.py`). Tracebacks show the generated source.
"""

from __future__ import annotations

import linecache
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from walltime.core.execution import elsewhere, get_ident, inherited, task_execution  # noqa: F401  # for the template
from walltime.core.transaction import clock, outside  # noqa: F401
from walltime.errors import contain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType

# Nothing that can fail stands before the host's call, and one guard around all that is ours behind it
# (docs/decisions/011-containment.md). A slot alone in its line is a block of lines; an empty one leaves none.
_TEMPLATE: Final = """\
{define} {name}({parameters}):
    {setup}
    execution = {look}
    {look_again}
    if execution is None{or_aside}:
        {outside}
        return {call}
    {before}
    {begin}
    outer_ns = execution.nested_ns
    started_ns = clock()
    try:
        result = {call}
    except BaseException as error:
        {after}
        {failed}
        raise
    {after}
    {ended}
    return result
"""
_LOOK_AGAIN: Final = """\
if execution is not None and {look_if}execution.thread != get_ident():
    execution = elsewhere(execution)"""
_BEGIN: Final = """\
of = begun(begin, library, self, {given})
if of is None:
    return {call}"""
_USUAL: Final = """\
ended_ns = clock()
try:
    try:
        known = {known}
    except (AttributeError, KeyError):
        known = None
    if known is not None and {usual}:
        {also}
        {record}
    else:
        end(execution, started_ns, ended_ns, outer_ns, {of}, {given}, result, None)
except Exception as ours:
    contain(library, ours)"""
DESCRIBED: Final = """\
ended_ns = clock()
try:
    described = describe({of}, {given}, result, None)
    if described is not None:
        line, subject, failure, requested, matched = described
        execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, requested, matched)
except Exception as ours:
    contain(library, ours)"""
ENDED: Final = "end(execution, started_ns, clock(), outer_ns, {of}, {given}, result, None)"
FAILED: Final = "end(execution, started_ns, clock(), outer_ns, {of}, {given}, None, error)"


@dataclass(frozen=True)
class Inline:
    """
    How a hot method is wrapped: with its own signature, its common case described by expressions in the wrapper.

    The expressions may use the parameters, `result`, `execution` and `names`. They run after the call, where a failure
    is contained. The measure's `describe` gets the calls that fail or are not the common case.
    """

    signature: str
    """The method's name and parameters, as in `query(self, sql, unbuffered=False)`."""
    given: str = "()"
    """The arguments as `describe` takes them."""
    known: str = "self"
    """What was found out about the object before, as `self._walltime`. While it is None, an AttributeError or a
    KeyError, `describe` gets the call, and finds it out."""
    usual: str = "True"
    """Whether this call is the common case."""
    record: str = ""
    """The call of `execution.record`: `recorded`. Empty: there is no common case."""
    also: str = ""
    """A statement before it."""
    call: str = ""
    """The host's call, where it is not by all parameters in their order."""
    look_if: str = ""
    """When another thread may have come here with the context; empty: always."""
    aside: str = ""
    """When a call is not measured, nor counted as one outside of any transaction."""
    setup: str = ""
    before: str = ""
    after: str = ""
    """Statements before all others, before the call and behind it. They cannot fail."""
    names: Mapping[str, Any] = field(default_factory=dict)
    native: int | None = None
    """The kind of the core in C that has the same common case (walltime/native.py)."""
    most: int = 0
    """Characters of a plain statement, for the core."""


def recorded(line: str, subject: str, requested: str, matched: str) -> str:
    """Return the expression that records a call that did not fail; the arguments are expressions too."""
    return f"execution.record({line}, {subject}, started_ns, ended_ns, outer_ns, None, {requested}, {matched})"


def wrapper(
    inline: Inline, file: str, ended: str = ENDED, failed: str = FAILED, *, is_async: bool = False, of: str = "self",
    has_begin: bool = False, counts_outside: bool = False, names: Mapping[str, Any],
) -> Callable[..., Any]:  # fmt: skip
    """
    Return a wrapper.

    Args:
        file: of ours, in which the wrapper seems to be: for tracebacks and the sampler.
        ended: statements after a call that returned; a common case has precedence.
        failed: the statement after one that raised `error`.
        of: what `describe` takes as the object, if `begin` returns none.
        names: the names in all these texts: `original`, `library`, …
    """
    name, _, parameters = inline.signature.removesuffix(")").partition("(")
    call = inline.call or f"original({_passed(parameters)})"
    count = "outside(library)" if counts_outside else ""
    source = _filled(
        define="async def" if is_async else "def", name=name, parameters=parameters, setup=inline.setup,
        look="task_execution()" if is_async else "inherited()", look_again="" if is_async else _LOOK_AGAIN,
        look_if=f"{inline.look_if} and " if inline.look_if else "",
        or_aside=f" or ({inline.aside})" if inline.aside else "",
        outside=f"if execution is None:\n    {count}" if inline.aside and count else count,
        call=f"await ({call})" if is_async else call, before=inline.before, begin=_BEGIN if has_begin else "",
        after=inline.after, failed=failed, ended=_USUAL if inline.record else ended,
        of="of" if has_begin else of, given=inline.given,
        known=inline.known, usual=inline.usual, also=inline.also, record=inline.record,
    )  # fmt: skip
    namespace = {**globals(), **names, **inline.names}
    exec(_compiled(source, f"{file} <{name}>"), namespace)  # noqa: S102  # the texts are ours
    made: Callable[..., Any] = namespace[name]
    return made


def _passed(parameters: str) -> str:
    """Return parameters as they are passed on: without their defaults."""
    return re.sub(r"\s*=[^,]*", "", parameters)


def _filled(**slots: str) -> str:
    text = _TEMPLATE
    while "{" in text:  # blocks may have slots
        lines: list[str] = []
        for line in text.splitlines():
            block = re.fullmatch(r"( *)\{(\w+)\}", line)
            lines += [line.format(**slots)] if block is None else [block[1] + x for x in slots[block[2]].splitlines()]
        text = "\n".join(lines) + "\n"
    return text


_shown: Final[Counter[str]] = Counter()


@lru_cache(maxsize=256)
def _compiled(source: str, file: str) -> CodeType:
    """Compile a text, once in a process, so that tracebacks show it."""
    _shown[file] += 1
    if _shown[file] > 1:  # other wrappers have the name
        file = f"{file[:-1]} {_shown[file]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return compile(source, file, "exec")


def begun(begin: Callable[[Any, Any], Any], library: str, of: Any, args: Any) -> Any:
    """Return what `begin` does; None when it fails."""
    try:
        return begin(of, args)
    except Exception as ours:
        contain(library, ours)
        return None
