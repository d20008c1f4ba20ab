"""
SQLAlchemy: compiling statements to SQL, cached or not (`orm.compile`), and making objects from rows (`orm.load`).

A result is one load, without a cost per row: its preparation and the chunks in which its rows are loaded, by default
one. Relations that are loaded with it are a part of it.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.orm import loading
from sqlalchemy.sql.elements import ClauseElement

from walltime.core.components import BITS
from walltime.core.execution import current
from walltime.errors import contain
from walltime.instrumentation.outermost import Items, Outermost, measured
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "SQLAlchemy >= 2.0, < 3"
_NO_RESULT: Final = object()
_LOAD: Final = BITS["orm.load"]


def patches() -> list[Patch]:
    return [
        Patch(ClauseElement, "_compile_w_cache", Outermost("orm.compile").call),
        Patch(loading, "instances", _loaded),
    ]


def _loaded(original: Callable[..., Any]) -> Callable[..., Any]:
    def instances(*args: Any, **kwargs: Any) -> Any:
        execution = current()
        if execution is None or execution.open_components & _LOAD:
            return original(*args, **kwargs)
        prepared = measured(iter(partial(original, *args, **kwargs), _NO_RESULT), "orm.load", Items)
        result = next(prepared)
        try:
            _measure_chunks(result, prepared.subject)
        except Exception as ours:
            contain("orm.load", ours)
        return result

    return instances


def _measure_chunks(result: Any, subject: tuple[object, ...]) -> None:
    original = result.chunks

    def measured_chunks(size: int | None) -> Any:
        return measured(original(size), "orm.load", Items, subject)

    result.iterator = chain.from_iterable(measured_chunks(result._yield_per))
    result.chunks = measured_chunks
