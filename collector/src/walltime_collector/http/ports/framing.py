"""What a request's head must be, so that every server on the way sees the same request; else it is refused."""

from __future__ import annotations

from collections.abc import Sequence

from .refusals import Refused

MAX_HEADER_BYTES = 32 * 1024
MAX_URL_BYTES = 16 * 1024
MAX_HEADERS = 100
URL_TOO_LARGE = (414, "url", f"the URL is longer than {MAX_URL_BYTES} bytes; send less of it in the URL")
TOO_LARGE = (
    431,
    "headers",
    f"the headers are more than {MAX_HEADER_BYTES} bytes or more than {MAX_HEADERS}; send fewer",
)


def check_head(version: str, headers: Sequence[tuple[bytes, bytes]], max_bytes: int) -> None:
    """
    Raise Refused for a head that others could read in another way, or whose body would be refused.

    Args:
        version: Of HTTP, as `1.1`.
        headers: Names in lower case; the parser has checked Content-Length.
        max_bytes: Of the body.
    """
    if version not in ("1.0", "1.1"):
        raise Refused(505, "version", "this port speaks HTTP/1.1")
    named: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        named.setdefault(name, []).append(value.strip())
    hosts = named.get(b"host", [])
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        raise Refused(400, "host", f"the request has {len(hosts)} Host headers; send one")
    if codings := named.get(b"transfer-encoding"):
        if version == "1.0":
            raise Refused(400, "transfer_encoding", "HTTP/1.0 has no Transfer-Encoding; send a Content-Length")
        if [each.lower() for each in codings] != [b"chunked"]:
            raise Refused(501, "transfer_encoding", "the Transfer-Encoding must be chunked alone; compress the content")
    if expected := named.get(b"expect"):
        if [each.lower() for each in expected] != [b"100-continue"]:
            raise Refused(417, "expect", "only 100-continue can be expected here")
        if int(named.get(b"content-length", [b"0"])[0]) > max_bytes:
            raise Refused(413, "too_large", f"the body is more than {max_bytes} bytes; send smaller batches")


def without_offer(line: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The head of a request, from its first line and headers, without the offer of another protocol."""
    fields = [each for each in headers if each[0] not in (b"connection", b"upgrade")]
    options = [option.strip() for name, value in headers if name == b"connection" for option in value.split(b",")]
    fields += [(b"connection", option) for option in options if option.lower() in (b"close", b"keep-alive")]
    return b"\r\n".join([line, *(b"%s: %s" % each for each in fields), b"", b""])
