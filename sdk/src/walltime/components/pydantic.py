"""
Models of pydantic: one call for each that is dumped, with all that are nested in it.

The serializer is pydantic-core's, in Rust; these are the Python methods before it. What calls it without them
(`TypeAdapter`, other libraries) is not measured here.
"""

from __future__ import annotations

from typing import Final

from pydantic.main import BaseModel

from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch

REQUIRES: Final = "pydantic >= 2, < 3"


def patches() -> list[Patch]:
    measured = Outermost("serialize").call
    return [Patch(BaseModel, "model_dump", measured), Patch(BaseModel, "model_dump_json", measured)]
