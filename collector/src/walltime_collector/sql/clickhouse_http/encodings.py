"""HTTP's own compression of a body: Content-Encoding of requests, Accept-Encoding of responses."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Mapping

import lz4.frame

from ...errors import RequestRefused
from ...http.decompress import decompress
from ...zstd import zstd
from .errors import CANNOT_DECOMPRESS, NOT_IMPLEMENTED, refused

_LEVEL = 1
# the cheapest first
_ENCODE: Mapping[str, Callable[[bytes], bytes]] = {
    "lz4": lambda content: bytes(lz4.frame.compress(content)),
    "zstd": lambda content: bytes(zstd.compress(content, _LEVEL)),
    "gzip": lambda content: gzip.compress(content, _LEVEL),
    "deflate": lambda content: zlib.compress(content, _LEVEL),
}
_ACCEPTED = re.compile(r"\s*([\w-]+)\s*(?:;\s*q\s*=\s*([\d.]+)\s*)?")


def chosen(accept_encoding: str) -> str:
    """The encoding of a response to that Accept-Encoding header; empty when it has none that we support."""
    matches = (_ACCEPTED.fullmatch(each) for each in accept_encoding.lower().split(","))
    accepted = {each[1] for each in matches if each and (each[2] or "1").strip("0.")}
    return next((name for name in _ENCODE if name in accepted), "")


def encode(content: bytes, encoding: str) -> bytes:
    """The content in an encoding that `chosen` returned."""
    return _ENCODE[encoding](content)


def decode(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """
    The content of a request's body.

    Raises:
        Refused: The encoding is not supported, the body is not in it, or has more than `max_bytes`.
    """
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", *_ENCODE):
        names = ", ".join(_ENCODE)
        raise refused(NOT_IMPLEMENTED, f"the Content-Encoding of the body is not one of {names}", 415)
    try:
        return decompress(body, encoding.encode(), max_bytes)
    except RequestRefused as error:
        raise refused(CANNOT_DECOMPRESS, str(error), error.status) from error
