"""
OpenTelemetry's context: the transaction is its current span for whoever asks, and for nobody else.

To attach it to every request and to detach it again costs 2 to 3 µs, for it is code and memory that nothing else of the
request touches; most requests never ask. Who attaches a context of their own makes it from the one they asked for.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as otel_context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext

from walltime.core.execution import current
from walltime.errors import contain
from walltime.instrumentation.patching import Hook, Patch
from walltime.propagation import propagation

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context

REQUIRES: Final = "opentelemetry-api >= 1.45, < 2"


def patches() -> list[Patch | Hook]:
    runtime = getattr(otel_context, "_RUNTIME_CONTEXT", None)
    variable = getattr(runtime, "_current_context", None)
    if type(runtime) is not ContextVarsRuntimeContext or type(variable) is not ContextVar:
        return []  # OTEL_PYTHON_CONTEXT says another, or it is not as we know it: transactions are attached
    return [
        Patch(ContextVarsRuntimeContext, "get_current", _get_current),
        Hook(partial(propagation.wait_for_who_asks, variable.get), partial(propagation.wait_for_who_asks, None)),
    ]


def _get_current(original: Callable[[Any], Context]) -> Callable[[Any], Context]:
    def get_current(self: Any) -> Context:
        context = original(self)
        try:
            execution = current()
            return context if execution is None else propagation.asked(context, execution.transaction)
        except Exception as ours:  # they see what is attached
            contain("context", ours)
            return context

    return get_current
