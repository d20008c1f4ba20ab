"""
Instrumenting a program from outside: by `walltime-run`, whose `sitecustomize` calls `instrument`, and by
`opentelemetry-instrument`, which finds the class here by its entry point `walltime`.
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
    """Do what the program would do itself, unless the environment switches us off. Never raises."""
    try:
        values, unusable = read(Settings, os.environ, {})
        settings = Settings(**values)
        if settings.enabled:  # the first transaction, or `configure`, says what is wrong with the variables
            libraries.instrument()
        else:
            report(settings, [each for each in unusable if each.setting == "enabled"])
    except Exception as ours:
        contain("walltime-run", ours)


class WalltimeInstrumentor:
    """
    Instruments all libraries that Walltime knows, with the settings of the environment.

    Has the methods of OpenTelemetry's BaseInstrumentor and does not derive from it, so that nobody has to install
    opentelemetry-instrumentation. OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=walltime leaves it out.
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
