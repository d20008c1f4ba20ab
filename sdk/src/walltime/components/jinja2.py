"""Jinja2's templates, and with them Flask's and Starlette's: a render with all that it includes and extends."""

from __future__ import annotations

from typing import Final

from jinja2 import Template

from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch

REQUIRES: Final = "Jinja2 >= 3.0, < 4"


def patches() -> list[Patch]:
    render = Outermost("template.render")
    return [
        Patch(Template, "render", render.call),
        Patch(Template, "render_async", render.awaited),
        Patch(Template, "generate", render.iterated),  # `stream` takes it from here
        Patch(Template, "generate_async", render.iterated_async),
    ]
