"""What `opentelemetry-instrument` finds: Walltime among the other instrumentors, by its entry point `walltime`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from walltime.libraries import uninstrument
from walltime.run import instrument

if TYPE_CHECKING:
    from collections.abc import Collection


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
        uninstrument()
        WalltimeInstrumentor.is_instrumented_by_opentelemetry = False
