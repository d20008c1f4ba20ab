"""Scripts and style sheets of the pages: in memory, compressed once, with a hash of the content in their address."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .content import Content

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_UNCHANGED = "private, max-age=31536000, immutable"


class StaticFiles:
    """The files of static/. Only they can be requested: a path is looked up, never opened."""

    def __init__(self) -> None:
        folder = Path(__file__).parent / "static"
        self._files = {
            each.relative_to(folder).as_posix(): Content.of(each.read_bytes(), _TYPES[each.suffix])
            for each in folder.rglob("*.*")
        }

    def address(self, name: str) -> str:
        """The address of a file; it changes with the content."""
        return f"/static/{name}?v={self._files[name].etag[1:-1]}"

    def route(self) -> Route:
        """/static/…"""

        def static(request: Request) -> Response:
            content = self._files.get(request.path_params["name"])
            if content is None:
                raise HTTPException(404)
            is_current = f'"{request.query_params.get("v", "")}"' == content.etag
            return content.response(request, cache_control=_UNCHANGED if is_current else "private, no-cache")

        return Route("/static/{name:path}", static)
