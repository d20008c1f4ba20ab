"""Serializers of Django REST framework: one call for each that makes its data, with all that are nested in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rest_framework.serializers import BaseSerializer, ListSerializer, Serializer

from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from typing import Any

REQUIRES: Final = "djangorestframework >= 3.14, < 4"


def patches() -> list[Patch]:
    measured = Outermost("serialize", _is_to_make)
    return [Patch(kind, "data", measured.call) for kind in (BaseSerializer, Serializer, ListSerializer)]


def _is_to_make(serializer: Any) -> bool:
    return not hasattr(serializer, "_data")
