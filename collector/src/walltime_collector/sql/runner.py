"""Runs the SQL of users: through the guard, within limits, a few statements at the same time."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from ..clickhouse.engine import Engine
from ..clickhouse.native_format import header
from ..errors import EngineEnded, EngineError, EngineHung, QueryFailed
from ..http.body import Receive
from ..http.disconnect import cancel_on_disconnect
from .answers import Answers, Result
from .guard import Guard
from .guard.messages import public
from .guard.settings import effective, within
from .limiter import QueryLimiter

log = logging.getLogger(__name__)
T = TypeVar("T")

RUN_AT_ONCE = 4
MAX_WAITING = 32
WAIT_S = 15.0
_THREADS = RUN_AT_ONCE + MAX_WAITING + 4
"""One for each statement that runs or waits, and some to refuse the others at once."""
MAX_EXECUTION_S = 30.0
_TRIES = 4
_LATE_S = 2.0

LIMITS = {
    "max_execution_time": str(MAX_EXECUTION_S),
    "timeout_overflow_mode": "throw",
    "max_memory_usage": str(512 * 1024 * 1024),
    "max_temporary_data_on_disk_size_for_query": str(1024 * 1024 * 1024),
    "max_rows_to_read": "1000000000",
    "read_overflow_mode": "throw",
    "max_result_rows": "1000000",
    "max_result_bytes": str(64 * 1024 * 1024),
    "result_overflow_mode": "throw",
    # the rest is for the loader and for our own queries
    "max_threads": str(max(1, (os.cpu_count() or 1) // 2)),
    "max_ast_elements": "20000",
    "max_expanded_ast_elements": "100000",
    "allow_introspection_functions": "0",
    "function_range_max_elements_in_block": "20000000",
}


class QueryRunner:
    """Runs statements from outside; safe to use from several threads."""

    def __init__(self, engine: Engine, database: str) -> None:
        self._engine, self._database = engine, database
        self._guard, self._answers = Guard(engine, database), Answers()
        self._limiter = QueryLimiter(RUN_AT_ONCE, MAX_WAITING, WAIT_S)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="sql")
        self._alone = threading.Lock()

    async def run_for_client(self, receive: Receive, work: Callable[[str], T]) -> T:
        """
        Do `work` in a thread, with a new name for its statement; the statement ends when the client disconnects.

        Args:
            receive: Of ASGI, after the body was read.
            work: It calls `run` with the name it gets.

        Raises:
            Disconnected: The client has left.
        """
        name = str(uuid.uuid4())
        return await cancel_on_disconnect(receive, self._threads, lambda: work(name), lambda: self.stop(name))

    def run(
        self,
        sql: str,
        *,
        name: str,
        parameters: Mapping[str, str],
        format_name: str = "TabSeparated",
        seconds: float = 0,
        settings: Mapping[str, str] | None = None,
        url: Mapping[str, str] | None = None,
        client: str = "",
    ) -> Result:
        """
        Check one statement and run it as soon as the limiter allows.

        Args:
            name: For `stop`; unique.
            parameters: Values of `{name:Type}`, as texts that are escaped like a field of TSV.
            format_name: Used when the statement names none.
            seconds: Longest time to run, when that is less than the limit; 0 for the limit.
            settings: More ClickHouse settings, ours, never from outside.
            url: Settings from the URL; the guard takes what it allows.
            client: For the log.

        Raises:
            StatementRefused: The guard does not allow it.
            TooManyQuestions: Too many run and wait, or it waited too long.
            QueryFailed: ClickHouse does not understand it, it is over a limit, or it was stopped.
            EngineUnavailable: No answer now.
        """
        url = effective(url or {})
        limits = within(LIMITS | dict(settings or {}), {"max_execution_time": str(seconds)})
        given = (format_name, *(tuple(each.items()) for each in (parameters, url, limits)))
        return self._answers.answer(
            sql, given, lambda: self._run(sql, name, parameters, format_name, limits, url, client)
        )

    def _run(
        self,
        sql: str,
        name: str,
        parameters: Mapping[str, str],
        format_name: str,
        limits: Mapping[str, str],
        url: Mapping[str, str],
        client: str,
    ) -> Result:
        with self._limiter.slot(name):
            try:
                admitted = self._guard.admit(sql, parameters, url)
                limits = within(limits, admitted.settings)
                chosen = admitted.format_name or format_name
                summary: dict[str, int] = {}
                content = self._read(admitted.sql, chosen, name, limits, summary)
                if not content and chosen == "Native" and not admitted.sql.startswith(("EXPLAIN", "DESCRIBE")):
                    content = self._columns(admitted.sql, name, limits)
                return Result(content, chosen, summary)
            except QueryFailed as error:
                raise QueryFailed(public(str(error), self._database)) from error
            except EngineHung as error:
                log.warning(
                    "the database was killed to end a statement that its time limit did not end: sha256 %s, %d bytes,"
                    " asked by %s%s; it is started again, and what ran beside it is asked again",
                    *(hashlib.sha256(sql.encode()).hexdigest()[:16], len(sql.encode()), client or "an unknown client"),
                    ", which had left" if self._limiter.has_left(name) else "",
                )
                raise QueryFailed(
                    "Code: 159. DB::Exception: Timeout exceeded: one step of it, a function call or the writing of its"
                    " result, takes longer than the whole statement may, and the database was restarted to end it;"
                    " give functions shorter values, or reduce the result. (TIMEOUT_EXCEEDED)"
                ) from error

    def _read(self, sql: str, format_name: str, name: str, limits: Mapping[str, str], summary: dict[str, int]) -> bytes:
        """Read; once more when the engine ended meanwhile, which most likely was not because of this statement."""
        for _ in range(_TRIES):
            if self._limiter.has_left(name):
                raise QueryFailed("Code: 394. DB::Exception: its client left before it ran. (QUERY_WAS_CANCELLED)")
            began_s = time.monotonic()
            try:
                return self._engine.read(sql, format_name, name=name, settings=limits, summarize=summary.update)
            except EngineEnded as ended:
                if not ended.was_killed:
                    break
                if time.monotonic() - began_s > float(limits["max_execution_time"]) + _LATE_S:
                    raise EngineHung(str(ended)) from ended  # it ran too long too, as the one that was ended
        # this statement may have ended the engine: then it must not interrupt others again
        with self._alone:
            return self._engine.read(sql, format_name, name=name, settings=limits, summarize=summary.update)

    def calls(self, sql: str) -> list[str]:
        """See Guard.calls."""
        return self._guard.calls(sql)

    def timezone(self) -> str:
        """The engine's time zone, for dates without one; empty while the engine does not answer."""
        try:
            return str(self._engine.query("SELECT timezone() AS timezone")[0]["timezone"])
        except EngineError:
            return ""

    def stop(self, name: str) -> None:
        """End that statement, or give up its place in the queue; its `run` soon raises an error."""
        if self._limiter.leave(name):
            with suppress(EngineError):  # its time limit ends it later
                self._engine.stop(name)

    def close(self) -> None:
        """End the running statements, so that the process can end."""
        for name in self._limiter.running():
            self.stop(name)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _columns(self, sql: str, name: str, settings: Mapping[str, str]) -> bytes:
        """A block without rows, which ClickHouse does not write: without it Grafana shows a table without headings."""
        sql = f"DESCRIBE TABLE ({sql})"
        described = self._engine.read(sql, "JSONCompact", name=f"{name} columns", settings=settings)
        rows = json.loads(described.decode("utf-8", "replace"))["data"]
        return header([(row[0], row[1]) for row in rows])
