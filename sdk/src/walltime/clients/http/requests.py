"""What the wrappers of HTTP clients share: servers, steps of a request, reading a body, our headers in HTTP/1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from walltime.core.call import Piece, lines
from walltime.core.transaction import Transaction
from walltime.errors import contain
from walltime.instrumentation.measure import Measure
from walltime.propagation.context import get_current
from walltime.propagation.propagation import outgoing_headers
from walltime.propagation.recipients import host_of, is_limited, is_recipient

if TYPE_CHECKING:
    from collections.abc import Callable

    from walltime.core.call import Line, Target
    from walltime.core.execution import ExecutionContext

REQUEST: Final = lines("http.request")
CONNECT: Final = lines("http.connect")

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def failed(status: int) -> str | None:
    return str(status) if status >= 400 else None


def server_of(url: Any) -> tuple[str, int]:
    """Return the server that a URL of httpx or yarl names."""
    return url.host or "", url.port or DEFAULT_PORTS.get(url.scheme, 0)


def proxied(url: str) -> Target:
    """Return the server that an absolute URL names: the one behind the proxy it is sent to."""
    parts = urlsplit(url)
    return (parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0))


Step: TypeAlias = "tuple[Line, tuple[str, str, str]]"
"""(line, subject): what a step of a request is described as. The subject is the same object in all of them."""


def read_on(
    execution: ExecutionContext, step: Step, failure: str | None, started_ns: int, ended_ns: int, outer_ns: int
) -> None:
    """
    Add a read of a response's body to its request: on the same line of the bill, and no call of its own.

    The call itself grows as long as it is the last one, so that a body read in a thousand blocks is one record; where
    others came between, or branches run, the read is a piece of it (`pieces.py`).

    Args:
        outer_ns: as in `Transaction.record`.
    """
    line, subject = step
    if (
        type(execution) is Transaction
        and (calls := execution.calls)
        # What is in the bill already no longer changes, and what branches do is measured by its ends.
        and not (execution.has_branches or execution.duration_ns or execution.bill is not None)
    ):
        place = len(calls) - 1  # a pause of the garbage collector may put itself behind it meanwhile
        of, last, first_ns, _, own_ns, failed, resends, status = calls[place]
        if of == line and (last is subject or (type(last) is Piece and last.of is subject)):
            more_ns = ended_ns - started_ns + outer_ns - execution.nested_ns
            calls[place] = (of, last, first_ns, ended_ns, own_ns + more_ns, failed or failure, resends, status)
            execution.nested_ns += more_ns
            return
    execution.transaction.has_pieces = True
    execution.record(line, Piece(subject), started_ns, ended_ns, outer_ns, failure)


def record_sent(
    execution: ExecutionContext, step: Step, failure: str | None, started_ns: int, ended_ns: int, outer_ns: int
) -> None:
    """Record a step before the response as a piece of its request; when it fails, that was the request."""
    line, subject = step
    if failure is None:
        transaction = execution if type(execution) is Transaction else execution.transaction
        transaction.has_pieces = True
        execution.record(line, Piece(subject), started_ns, ended_ns, outer_ns)
    else:
        execution.record(line, subject, started_ns, ended_ns, outer_ns, failure)


def body(library: str, begin: Callable[[Any, Any], Any]) -> Measure:
    """
    Return the measure of a method that reads a response's body; `.iterated` of one that returns its blocks.

    Args:
        begin: takes the method's object; returns the line and the subject of its request, or None.
    """

    return Measure(library, _described, begin, read_on, counts_outside=False)


def about_body(response: Any, _args: Any) -> Step | None:
    """Return what the request of a response was described as: the `begin` of a body that is read."""
    return getattr(response, "_walltime", None)


def _described(step: Step, _args: Any, _data: Any, _error: BaseException | None) -> Step:
    return step


def add_headers(connection: Any, execution: ExecutionContext) -> None:
    """
    Add the headers that pass the trace to the next service to a request that is about to be sent.

    Args:
        connection: an `http.client.HTTPConnection` before its `endheaders`. The lines go where its own go: `putheader`
            would check and join what is made of our own digits, for half the price of the whole wrapper.
    """
    try:
        transaction = execution if type(execution) is Transaction else execution.transaction
        lines = transaction.outgoing_lines
        if lines is None or transaction.outgoing_context is not get_current():
            lines = _lines(connection, transaction)
        buffer = connection._buffer
        sent = b"\r\n".join(buffer).lower()
        for begin, line in lines:
            if begin not in sent:  # the application's own is sent
                buffer.append(line)
    except Exception as ours:
        contain("http headers", ours)


def _lines(connection: Any, transaction: Transaction) -> list[tuple[bytes, bytes]]:
    """Return for each header how it begins in a request in lower case, and its line; none to other hosts."""
    limited = is_limited(transaction)
    if limited and not is_recipient(transaction, host_of(connection)):
        return []
    lines = [
        (f"\r\n{name}:".lower().encode(), f"{name}: {value}".encode())
        for name, value in outgoing_headers(transaction)
        if value.isascii() and value.isprintable()  # nothing later looks for line breaks
    ]
    transaction.outgoing_lines = None if limited else lines
    return lines
