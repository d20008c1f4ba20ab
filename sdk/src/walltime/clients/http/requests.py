"""What the wrappers of HTTP clients share: lines, targets, reading on in a body, our headers in a request of HTTP/1."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from walltime.core.call import Piece, lines
from walltime.errors import contain
from walltime.propagation.propagation import outgoing_headers
from walltime.propagation.recipients import host_of, is_limited, is_recipient

if TYPE_CHECKING:
    from walltime.core.call import Line, Target
    from walltime.core.execution import ExecutionContext

REQUEST: Final = lines("http.request")
CONNECT: Final = lines("http.connect")

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def failed(status: int) -> str | None:
    """Return what the bill calls an answer that says no."""
    return str(status) if status >= 400 else None


def proxied(url: str) -> Target:
    """Return the server that an absolute URL names: what is behind the proxy it is sent to."""
    parts = urlsplit(url)
    return (parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0))


def read_on(
    execution: ExecutionContext,
    line: Line,
    subject: tuple[str, str, str],
    started_ns: int,
    ended_ns: int,
    outer_ns: int,
    failure: str | None = None,
) -> None:
    """
    Add a read of a response's body to its request: on the same line of the bill, and no call of its own.

    The call itself grows as long as it is the last one, so that a body read in a thousand blocks is one record; where
    others came between, or branches run, the read is a piece of it (`pieces.py`).

    Args:
        subject: the object that was recorded with the request.
        outer_ns: as in `Transaction.record`.
    """
    transaction = execution.transaction
    calls = transaction.calls
    if (
        transaction is execution
        and calls
        # What is in the bill already no longer changes, and what branches do is measured by its ends.
        and not (transaction.has_branches or transaction.duration_ns or transaction.bill is not None)
    ):
        place = len(calls) - 1  # a pause of the garbage collector may put itself behind it meanwhile
        of, last, first_ns, _, own_ns, failed, asked, found = calls[place]
        if of == line and (last is subject or (type(last) is Piece and last.of is subject)):
            more_ns = ended_ns - started_ns + outer_ns - execution.nested_ns
            calls[place] = (of, last, first_ns, ended_ns, own_ns + more_ns, failed or failure, asked, found)
            execution.nested_ns += more_ns
            return
    record_piece(execution, line, subject, started_ns, ended_ns, outer_ns, failure)


def record_piece(
    execution: ExecutionContext,
    line: Line,
    subject: tuple[str, str, str],
    started_ns: int,
    ended_ns: int,
    outer_ns: int,
    failure: str | None = None,
) -> None:
    """Record a piece of the request that has this subject, before or after the request itself."""
    execution.transaction.has_pieces = True
    execution.record(line, Piece(subject), started_ns, ended_ns, outer_ns, failure)


def add_headers(connection: Any, execution: ExecutionContext) -> None:
    """
    Add the headers that tell the next service where it is in the trace to a request that is about to be sent.

    Args:
        connection: an `http.client.HTTPConnection` before its `endheaders`. The lines go where its own go: `putheader`
            would check and join what is made of our own digits, for half the price of the whole wrapper.
    """
    try:
        transaction = execution.transaction
        if is_limited(transaction) and not is_recipient(transaction, host_of(connection)):
            return
        buffer = connection._buffer
        sent = b"\r\n".join(buffer).lower()
        for name, value in outgoing_headers(transaction):
            # The application's own is what goes; and nothing below here looks for line breaks.
            if _begins(name) not in sent and value.isascii() and value.isprintable():
                buffer.append(f"{name}: {value}".encode())
    except Exception as ours:
        contain("http headers", ours)


@lru_cache(maxsize=32)
def _begins(name: str) -> bytes:
    return f"\r\n{name}:".lower().encode()
