"""Django REST framework: authentication of a request, and rendering of its response."""

from __future__ import annotations

from typing import Final

from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import APIView

from walltime.instrumentation.expected import expect
from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch

REQUIRES: Final = "djangorestframework >= 3.14, < 4"


expect(APIException)


def patches() -> list[Patch]:
    return [
        Patch(APIView, "perform_authentication", Outermost("auth").call),
        Patch(Response, "rendered_content", Outermost("serialize").call),
    ]
