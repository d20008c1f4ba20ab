"""
The body of a response of http.client: of http.client itself, and of urllib3, whose responses read from one of its.

Measured where a request has left what it was (`_walltime`); any other response is read as ever.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Final

from walltime.clients.http.requests import about_body, body, read_on
from walltime.instrumentation.patching import Patch
from walltime.instrumentation.template import Inline, wrapper

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRES: Final = "Python 3.10–3.14"


def patches() -> list[Patch]:
    return [
        Patch(HTTPResponse, "read", partial(_wrapped, _READ)),
        *[Patch(HTTPResponse, name, partial(_wrapped, _READ_OTHERWISE)) for name in ("read1", "readinto", "readline")],
    ]


_READ: Final = Inline(  # without arguments to pack: it is in each request of urllib3
    "read(self, amt=None)", setup="step = getattr(self, '_walltime', None)", look_if="step is not None",
    aside="step is None or self.fp is None",
)  # fmt: skip
_READ_OTHERWISE: Final = replace(
    _READ, signature="read(self, *args, **kwargs)",
    call="original(self, *args, **kwargs) if kwargs else original(self, *args)",
)  # fmt: skip
# With a size, http.client returns a body that has ended before its length as if it were whole.
_ENDED: Final = """\
ended_ns = clock()
try:
    cut = "IncompleteRead" if self.fp is None and self.length else None
    read_on(execution, step, cut, started_ns, ended_ns, outer_ns)
except Exception as ours:
    contain(library, ours)"""
_end: Final = body("http_client", about_body).end


def _wrapped(inline: Inline, original: Callable[..., Any]) -> Callable[..., Any]:
    names = {"original": original, "library": "http_client", "end": _end, "read_on": read_on}
    return wrapper(inline, __file__, _ENDED, of="step", names=names)
