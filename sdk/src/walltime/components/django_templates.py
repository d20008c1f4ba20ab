"""Django's templates: a render with all that it includes and extends."""

from __future__ import annotations

from typing import Final

from django.template.base import Template

from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    return [Patch(Template, "render", Outermost("template.render").call)]
