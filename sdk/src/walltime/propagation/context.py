"""OpenTelemetry's current context, read from the variable that holds it: its API does the same in two further calls."""

from __future__ import annotations

from contextvars import Context as Variables
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as api
from opentelemetry.context import Context

if TYPE_CHECKING:
    from collections.abc import Callable


def _held_in() -> ContextVar[Context] | None:
    """Return the variable, found by its value; None where OTEL_PYTHON_CONTEXT names something else."""
    made = Context()
    api.attach(made)
    variable: ContextVar[Any] | None = next((each for each, value in copy_context().items() if value is made), None)
    try:
        return variable if variable is not None and Variables().run(variable.get) is not None else None
    except LookupError:  # no default
        return None


_variable: Final = Variables().run(_held_in)
get_current: Final[Callable[[], Context]] = api.get_current if _variable is None else _variable.get
attach: Final[Callable[[Context], Any]] = api.attach if _variable is None else _variable.set
detach: Final[Callable[[Any], object]] = api.detach if _variable is None else _variable.reset
