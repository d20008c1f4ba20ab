"""The tools over stdin and stdout; also a line that is no message gets a response."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

if TYPE_CHECKING:
    from typing import BinaryIO

MAX_LINE_CHARS: Final = 16 * 1024 * 1024
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_ID: Final = re.compile(r'\s*:\s*(?:(-?\d{1,18})(?![\d.eE])|"([^"\\]{0,1000})")?')


def serve_stdio(server: MCPServer) -> None:
    """Serve until stdin ends, or until nobody reads stdout."""
    try:
        anyio.run(_serve, server, sys.stdin.buffer)
    except Exception as error:
        if not _is_unread(error):
            raise
        os._exit(0)  # a thread still reads stdin, and Python would wait for it


async def _serve(server: MCPServer, stdin: BinaryIO) -> None:
    lines = _Lines(stdin)
    async with stdio_server(stdin=lines) as (read, lines.write):  # type: ignore[arg-type]  # of a file, only its lines
        # MCPServer.run takes no streams
        lowlevel = server._lowlevel_server
        await lowlevel.run(read, lines.write, lowlevel.create_initialization_options())


class _Lines:
    """The lines that are messages. The library drops the others, and their senders would wait for ever."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._file = TextIOWrapper(stdin, encoding="utf-8", errors="replace")
        self.write: Any = None
        """Where responses go."""

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._read():
            if not line.endswith("\n") and len(line) == MAX_LINE_CHARS:
                while (rest := await self._read()) and not rest.endswith("\n"):
                    pass
                await self._refuse(line, INVALID_REQUEST, f"the message has more than {MAX_LINE_CHARS} characters")
            elif line.strip():
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except (ValidationError, RecursionError) as error:
                    is_json = isinstance(error, ValidationError) and error.errors()[0]["type"] != "json_invalid"
                    what = "this is no JSON-RPC message of MCP" if is_json else f"this is no JSON: {_reason(error)}"
                    await self._refuse(line, INVALID_REQUEST if is_json else PARSE_ERROR, what)
                else:
                    if isinstance(message, JSONRPCNotification) and request_id(line)[0]:
                        await self._refuse(line, INVALID_REQUEST, "an id is a text or a whole number")
                    else:
                        yield line

    async def _read(self) -> str:
        return await to_thread.run_sync(self._file.readline, MAX_LINE_CHARS, abandon_on_cancel=True)

    async def _refuse(self, line: str, code: int, what: str) -> None:
        error = ErrorData(code=code, message=what)
        await self.write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id(line)[1], error=error)))


def request_id(line: str) -> tuple[bool, int | str | None]:
    """Whether a message, which may be no JSON, has an id; and the id, None when no response can carry it."""
    depth = 0
    for token in _TOKEN.finditer(line):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        elif depth == 1 and token[0] == '"id"' and (found := _ID.match(line, token.end())):
            return True, int(found[1]) if found[1] else found[2]
    return False, None


def _is_unread(error: BaseException) -> bool:
    """Whether stdout was closed, also in groups of errors, which Python 3.10 does not know."""
    return isinstance(error, BrokenPipeError) or any(map(_is_unread, getattr(error, "exceptions", ())))


def _reason(error: Exception) -> str:
    return str(error.errors()[0]["ctx"]["error"]) if isinstance(error, ValidationError) else "it is nested too deeply"
