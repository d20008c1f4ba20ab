"""
Instrument a program from outside: `walltime-run` calls `instrument` in its `sitecustomize`, and
`opentelemetry-instrument` finds the class here by its entry point `walltime`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from walltime.errors import contain
from walltime.instrumentation import libraries
from walltime.settings.environment import report
from walltime.settings.fields import read
from walltime.settings.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Collection


def instrument() -> None:
    """Instrument all libraries, unless the environment switches Walltime off. Never raises."""
    try:
        values, unusable = read(Settings, os.environ, {})
        settings = Settings(**values)
        if settings.enabled:  # the first transaction or `configure` reports invalid variables
            libraries.instrument()
        else:
            report(settings, [each for each in unusable if each.setting == "enabled"])
    except Exception as ours:
        contain("walltime-run", ours)


class WalltimeInstrumentor:
    """
    Instruments all libraries that Walltime knows, with the settings of the environment.

    It has the methods of OpenTelemetry's BaseInstrumentor without deriving from it, so opentelemetry-instrumentation
    need not be installed. OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=walltime leaves it out.
    """

    is_instrumented_by_opentelemetry = False

    def instrumentation_dependencies(self) -> Collection[str]:
        return ()

    def instrument(self, **_: Any) -> None:
        instrument()
        WalltimeInstrumentor.is_instrumented_by_opentelemetry = True

    def uninstrument(self, **_: Any) -> None:
        libraries.uninstrument()
        WalltimeInstrumentor.is_instrumented_by_opentelemetry = False
