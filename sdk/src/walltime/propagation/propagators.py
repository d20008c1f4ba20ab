"""OpenTelemetry's global propagator; an empty one when OTEL_PROPAGATORS is invalid."""

from __future__ import annotations

import os

from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator

from walltime.errors import warn

try:
    from opentelemetry.propagate import get_global_textmap
except Exception as error:  # the import raises for an unknown name
    _NONE = CompositePropagator([])
    _named = os.environ.get("OTEL_PROPAGATORS", "")
    warn("OTEL_PROPAGATORS", "walltime: OTEL_PROPAGATORS=%r: %s. No trace headers are read or sent", _named, error)

    def get_global_textmap() -> TextMapPropagator:
        return _NONE


__all__ = ["get_global_textmap"]
