"""
httpx, Client and AsyncClient: every request that is sent, redirects and authentication included, and its body.

Timed between the client and its transport, so that mounts and transports of the application's own count too; what a
connection costs is seen one floor below (httpcore.py). Waiting for a connection of the pool is part of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from httpx import AsyncClient, Client
from httpx._client import BoundAsyncStream, BoundSyncStream

from walltime.clients.http.requests import DEFAULT_PORTS, REQUEST, read_on
from walltime.core.execution import current, task_execution
from walltime.core.transaction import clock, outside
from walltime.errors import contain
from walltime.instrumentation.patching import Patch
from walltime.propagation.propagation import outgoing_headers
from walltime.propagation.recipients import is_limited, is_recipient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from httpx import Request

    from walltime.core.call import Line
    from walltime.core.execution import ExecutionContext

REQUIRES: Final = "httpx >= 0.27, < 1"


def patches() -> list[Patch]:
    return [
        Patch(Client, "_send_single_request", _send),
        Patch(AsyncClient, "_send_single_request", _send_async),
        Patch(BoundSyncStream, "__iter__", _blocks),
        Patch(BoundAsyncStream, "__aiter__", _blocks_async),
    ]


def _send(original: Callable[..., Any]) -> Callable[..., Any]:
    def _send_single_request(self: Client, request: Request) -> Any:
        execution = current()
        if execution is None:
            outside("httpx")
            return original(self, request)
        added = _add_headers(request, execution)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            response = original(self, request)
        except BaseException as error:
            _record(execution, request, None, started_ns, clock(), outer_ns, type(error).__name__)
            _remove_headers(request, added)
            raise
        _record(execution, request, response, started_ns, clock(), outer_ns)
        _remove_headers(request, added)
        return response

    return _send_single_request


def _send_async(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def _send_single_request(self: AsyncClient, request: Request) -> Any:
        execution = task_execution()
        if execution is None:
            outside("httpx")
            return await original(self, request)
        added = _add_headers(request, execution)
        outer_ns = execution.nested_ns
        started_ns = clock()
        try:
            response = await original(self, request)
        except BaseException as error:
            _record(execution, request, None, started_ns, clock(), outer_ns, type(error).__name__)
            _remove_headers(request, added)
            raise
        _record(execution, request, response, started_ns, clock(), outer_ns)
        _remove_headers(request, added)
        return response

    return _send_single_request


def _record(
    execution: ExecutionContext,
    request: Request,
    response: Any,
    started_ns: int,
    ended_ns: int,
    outer_ns: int,
    failure: str | None = None,
) -> None:
    try:
        url = request.url
        line = REQUEST[url.host, url.port or DEFAULT_PORTS.get(url.scheme, 0)]
        subject, status = (request.method, "", str(url)), 0
        if response is not None:
            status = response.status_code
            failure = None if status < 400 else str(status)
        execution.record(line, subject, started_ns, ended_ns, outer_ns, failure, 0, status)
        if response is not None:
            response.stream._walltime = (line, subject)  # its body is read later
    except Exception as ours:
        contain("httpx", ours)


def _add_headers(request: Request, execution: ExecutionContext) -> list[str]:
    """Return the names of those added. The request is the application's, which may send it again for somebody else."""
    added: list[str] = []
    try:
        transaction = execution.transaction
        if is_limited(transaction) and not is_recipient(transaction, request.url.host):
            return added
        for name, value in outgoing_headers(transaction):
            if name not in request.headers:
                request.headers[name] = value
                added.append(name)
    except Exception as ours:
        contain("httpx", ours)
    return added


def _remove_headers(request: Request, added: list[str]) -> None:
    try:
        for name in added:
            request.headers.pop(name, None)
    except Exception as ours:
        contain("httpx", ours)


# ---- the body ----


def _blocks(original: Callable[..., Iterator[bytes]]) -> Callable[..., Iterator[bytes]]:
    def __iter__(self: Any) -> Iterator[bytes]:  # noqa: N807  # it replaces one
        blocks = original(self)
        of = None if current() is None else getattr(self, "_walltime", None)
        try:
            return blocks if of is None else _Blocks(blocks, *of)
        except Exception as ours:
            contain("httpx", ours)
            return blocks

    return __iter__


def _blocks_async(original: Callable[..., AsyncIterator[bytes]]) -> Callable[..., AsyncIterator[bytes]]:
    def __aiter__(self: Any) -> AsyncIterator[bytes]:  # noqa: N807  # it replaces one
        blocks = original(self)
        of = None if current() is None else getattr(self, "_walltime", None)
        try:
            return blocks if of is None else _AsyncBlocks(blocks, *of)
        except Exception as ours:
            contain("httpx", ours)
            return blocks

    return __aiter__


class _Blocks:
    """A body's blocks, each timed. No generator: closing the one it asks is not changed by one more around it."""

    def __init__(self, blocks: Iterator[bytes], line: Line, subject: tuple[str, str, str]) -> None:
        self._blocks = blocks
        self._line = line
        self._subject = subject

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        execution = current()
        if execution is None:  # it outlived its transaction
            return next(self._blocks)
        outer_ns = execution.nested_ns
        started_ns = clock()
        failure = None
        try:
            return next(self._blocks)
        except StopIteration:
            raise
        except BaseException as error:
            failure = type(error).__name__
            raise
        finally:
            _read_on(execution, self._line, self._subject, started_ns, clock(), outer_ns, failure)


class _AsyncBlocks:
    """`_Blocks` of an AsyncClient."""

    def __init__(self, blocks: AsyncIterator[bytes], line: Line, subject: tuple[str, str, str]) -> None:
        self._blocks = blocks
        self._line = line
        self._subject = subject

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        execution = task_execution()
        if execution is None:
            return await anext(self._blocks)
        outer_ns = execution.nested_ns
        started_ns = clock()
        failure = None
        try:
            return await anext(self._blocks)
        except StopAsyncIteration:
            raise
        except BaseException as error:
            failure = type(error).__name__
            raise
        finally:
            _read_on(execution, self._line, self._subject, started_ns, clock(), outer_ns, failure)


def _read_on(
    execution: ExecutionContext,
    line: Line,
    subject: tuple[str, str, str],
    started_ns: int,
    ended_ns: int,
    outer_ns: int,
    failure: str | None,
) -> None:
    try:
        read_on(execution, line, subject, started_ns, ended_ns, outer_ns, failure)
    except Exception as ours:
        contain("httpx", ours)
