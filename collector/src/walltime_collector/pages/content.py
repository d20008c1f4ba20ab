"""A response body that many requests share: compressed once, with an ETag."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Vary": "Accept-Encoding, Authorization, Cookie",
}


@dataclass(frozen=True)
class Content:
    """Bytes, the same bytes compressed, and their ETag, which is quoted as in the header."""

    body: bytes
    compressed: bytes
    content_type: str
    etag: str

    @classmethod
    def of(cls, body: bytes, content_type: str) -> Content:
        """Compress and hash the bytes."""
        etag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        return cls(body, gzip.compress(body, 6, mtime=0), content_type, etag)

    def response(self, request: Request, status: int = 200, cache_control: str = "private, no-cache") -> Response:
        """The response: 304 without a body when the client has these bytes."""
        headers = {**HEADERS, "Cache-Control": cache_control, "ETag": self.etag}
        known = request.headers.get("if-none-match", "").replace("W/", "").split(",")
        if status == 200 and self.etag in [each.strip() for each in known]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(
                self.compressed, status, {**headers, "Content-Encoding": "gzip"}, media_type=self.content_type
            )
        return Response(self.body, status, headers, media_type=self.content_type)
